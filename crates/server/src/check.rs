//! Checks a configuration without a store: what would prevent a start or a reload.

use tenure_config::{Config, StoreLocation};
use tenure_service::auth::jwt::Jwt;

use crate::lifecycle_api::LifecycleApis;
use crate::listen::ListenerSettings;

/// Why a server would not start with a loaded configuration. Keys behind a URL are not fetched.
pub fn check(config: &Config) -> Vec<String> {
    let url = match &config.store {
        StoreLocation::Database(url) => tenure_store::check_url(url.reveal(), &config.database_schema).err(),
        StoreLocation::Data(_) => None,
    };
    let checks = [
        config.definitions.check().err(),
        LifecycleApis::new(&config.definitions.lifecycles).err(),
        ListenerSettings::new(config).err(),
        config.jwt.clone().and_then(|jwt| Jwt::open(jwt).err()),
        url.map(|error| error.to_string()),
    ];
    checks.into_iter().flatten().collect()
}
