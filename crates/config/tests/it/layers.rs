//! File, environment and flags: precedence, origins, relative paths, hidden passwords.

use std::path::Path;
use std::time::Duration;

use tenure_config::{ConfigError, Flags, Limits, Loaded, LogFormat, StoreLocation};

use crate::fixture::{Fixture, check};

#[test]
fn without_input_every_value_is_the_default() {
    let fixture = Fixture::empty();
    let Loaded { config, file } = fixture.loaded();
    assert_eq!(file, None);
    assert_eq!(config.store, StoreLocation::Data(fixture.path("tenure-data")));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.limits.header_timeout, Duration::from_secs(10));
    assert_eq!(config.definitions.types[0].name, "*");
    assert!(config.jwt.is_none() && config.tls.is_none() && config.otel.is_none());
    fixture.check_settings("defaults");
}

#[test]
fn load_looks_in_the_current_folder() {
    let missing = Flags { config: Some("no/such/tenure.toml".into()), ..Flags::default() };
    let error = tenure_config::load(&missing, |_| None).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the configuration file no/such/tenure.toml: no such file");
}

#[test]
fn later_layers_override_earlier_ones() {
    let file = "listen = \"127.0.0.1:1\"\n[log]\nformat = \"text\"\n";
    let named = |fixture: &Fixture, line| format!("{}:{line}", fixture.path("tenure.toml").display());
    let fixture = Fixture::new(file);
    assert_eq!(fixture.setting("listen"), ("127.0.0.1:1".to_owned(), named(&fixture, 1)));
    assert_eq!(fixture.setting("log.format"), ("text".to_owned(), named(&fixture, 3)));
    assert_eq!(fixture.setting("log.filter"), ("info".to_owned(), "default".to_owned()));
    let fixture = fixture
        .variable("TENURE_LISTEN", "127.0.0.1:2")
        .variable("TENURE_LOG_FORMAT", "json")
        .variable("TENURE_LOG_FILTER", "")
        .variable("TENURE_LIMITS_PAYLOAD", "2048")
        .variable("TENURE_LIMITS_CONNECTIONS", "7");
    assert_eq!(fixture.setting("listen"), ("127.0.0.1:2".to_owned(), "TENURE_LISTEN".to_owned()));
    assert_eq!(fixture.setting("log.filter").1, "default", "an empty variable is not set");
    let config = fixture.loaded().config;
    assert_eq!((config.limits.payload, config.limits.connections), (2048, 7));
    assert_eq!(config.log.format, LogFormat::Json);
    let flags = Flags { listen: Some("127.0.0.1:3".to_owned()), ..Flags::default() };
    let fixture = fixture.flags(flags);
    assert_eq!(fixture.setting("listen"), ("127.0.0.1:3".to_owned(), "--listen".to_owned()));
}

#[test]
fn every_layer_is_checked() {
    let flags = Flags { listen: Some("nowhere".to_owned()), ..Flags::default() };
    let fixture = Fixture::new("listen = 1\n")
        .variable("TENURE_LISTEN", ":80")
        .variable("TENURE_LIMITS_CONNECTIONS", "many")
        .variable("TENURE_LOG", "debug")
        .variable("TENURE_TYPES", "x")
        .variable("TENURE_TLS_KEY", "key.pem")
        .variable("TENURE_DATABASE_URL", "mysql://ada:s3cret@db/x")
        .flags(flags);
    fixture.check_error("every_layer");
}

#[test]
fn a_later_layer_can_choose_another_store() {
    let url = "postgres://ada:s3cret@db/tenure";
    let fixture = Fixture::new("data = \"here\"\n").variable("TENURE_DATABASE_URL", url);
    let StoreLocation::Database(database) = fixture.loaded().config.store else { panic!("a database") };
    assert_eq!(database.reveal(), url);
    assert_eq!(fixture.setting("database_url").1, "TENURE_DATABASE_URL");
    assert!(fixture.loaded().config.settings.iter().all(|setting| setting.name != "data"));
    let fixture = fixture.flags(Flags { data: Some("there".into()), ..Flags::default() });
    assert_eq!(fixture.loaded().config.store, StoreLocation::Data(fixture.path("there")));
}

#[test]
fn one_layer_cannot_choose_two_stores() {
    check("two_stores");
    let both = Flags {
        data: Some("here".into()),
        database_url: Some("postgres://db/tenure".to_owned()),
        ..Flags::default()
    };
    Fixture::empty().flags(both).check_error("two_stores_by_flags");
}

#[test]
fn passwords_are_hidden_everywhere() {
    let text = |loaded: &Loaded| format!("{:?}", loaded.config);
    let fixture = Fixture::new("database_url = \"postgres://ada:s3cret@db/tenure?password=s3cret\"\n");
    assert!(!text(&fixture.loaded()).contains("s3cret"), "{}", text(&fixture.loaded()));
    assert_eq!(fixture.setting("database_url").0, "postgres://ada:***@db/tenure?password=***");
    for wrong in [
        "database_url = \"mysql://ada:s3cret@db/tenure\"",
        "database_url = \"postgres://ada:s3\\qcret s3cret@db/tenure\"",
        "database_url = postgres://ada:s3cret@db/tenure",
        "database_url = [\"postgres://ada:s3cret@db/tenure\"]",
        "database_ulr = 5\n[types.x]\nlifecycle = \"postgres://ada:s3cret@db/tenure\"",
        "listen = \"postgres://ada:s3cret@db/tenure\"",
    ] {
        let error = Fixture::new(wrong).error();
        assert!(!error.contains("s3cret"), "{error}");
    }
    check("hidden_password");
}

#[test]
fn relative_paths_start_where_they_were_written() {
    let file = "data = \"store\"\n[assets]\nstore = \"file:./assets\"\n[auth.jwt]\nissuer = \"i\"\naudience = \"a\"\n\
                jwks = \"keys.json\"\n[tls]\ncertificate = \"/etc/c.pem\"\nkey = \"k.pem\"\n";
    let flags = Flags { config: Some("conf/node.toml".into()), ..Flags::default() };
    let fixture = Fixture::empty().with("conf/node.toml", file).flags(flags);
    let config = fixture.loaded().config;
    assert_eq!(fixture.loaded().file, Some(fixture.path("conf/node.toml")));
    assert_eq!(config.store, StoreLocation::Data(fixture.path("conf/store")));
    assert_eq!(config.assets, Some(format!("file:{}", fixture.path("conf/./assets").display())));
    assert_eq!(config.jwt.unwrap().jwks, fixture.path("conf/keys.json").display().to_string());
    let tls = config.tls.unwrap();
    assert_eq!((tls.certificate.as_path(), tls.key), (Path::new("/etc/c.pem"), fixture.path("conf/k.pem")));
    let fixture = fixture.variable("TENURE_DATA", "store");
    assert_eq!(fixture.loaded().config.store, StoreLocation::Data(fixture.path("store")));
}

#[test]
fn a_variable_can_name_the_file_which_must_exist() {
    let fixture = Fixture::new("listen = \"127.0.0.1:1\"").variable("TENURE_CONFIG", "other.toml");
    fixture.check_error("missing_file_of_variable");
    let fixture = fixture.with("other.toml", "listen = \"127.0.0.1:2\"");
    assert_eq!(fixture.setting("listen").0, "127.0.0.1:2");
    let flags = Flags { config: Some(".".into()), ..Flags::default() };
    assert!(matches!(fixture.flags(flags).load(), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn databases_of_applications_are_listed_without_their_passwords() {
    let fixture = Fixture::new(
        "[[intake]]\ndatabase_url = 'postgres://u:s3cret@db/shop'\n[[intake]]\ndatabase_url = 'postgres://db/crm'\nschema = 'jobs'",
    );
    let intake = fixture.loaded().config.intake;
    let found: Vec<_> = intake.iter().map(|one| (one.database_url.reveal(), one.schema.as_str())).collect();
    assert_eq!(found, [("postgres://u:s3cret@db/shop", "tenure"), ("postgres://db/crm", "jobs")]);
    assert_eq!(fixture.setting("intake.1.database_url").0, "postgres://u:***@db/shop");
    for (text, flaw) in [
        ("[[intake]]\nschema = 'jobs'", "`database_url` is missing in [[intake]]"),
        ("[intake]\ndatabase_url = 'postgres://db/x'", "`intake` must be a list of tables"),
        ("[[intake]]\ndatabase_url = 'mysql://db/x'", "must be a URL that starts with"),
        (
            "[[intake]]\ndatabase_url = 'postgres://db/x'\nshema = 'a'",
            "unknown setting `shema` in [[intake]]",
        ),
    ] {
        let error = Fixture::new(text).load().unwrap_err().to_string();
        assert!(error.contains(flaw), "{error}");
    }
}
