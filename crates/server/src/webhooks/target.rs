//! Where webhooks may be sent: the URL is checked when a webhook is created, and each address again when connecting, since
//! a name can resolve differently by then.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};
use tenure_config::WebhooksConfig;
use tenure_service::reloadable::Reloadable;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::address::is_public;

use crate::prelude::*;

const URL_BYTES_MAX: usize = 2048;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// From connecting to the end of the response.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(15);

/// The allowed targets: the public internet by HTTPS, and what the operator allows.
#[derive(Clone)]
pub(crate) struct TargetPolicy {
    pub(crate) settings: Arc<Reloadable<WebhooksConfig>>,
    /// Whether the server has no keys. It then serves this machine only, and loopback is allowed.
    pub(crate) is_open: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl TargetPolicy {
    /// Explicitly allowed addresses also accept plain HTTP.
    fn is_allowed(&self, address: IpAddr) -> bool {
        self.settings.get().allow.iter().any(|block| block.contains(address))
            || (address.to_canonical().is_loopback() && (self.is_open)())
    }

    fn admits(&self, address: IpAddr, is_https: bool) -> bool {
        self.is_allowed(address) || (is_https && is_public(address))
    }

    /// Refuses a URL that is never allowed. An unresolvable name is accepted: it may resolve later.
    pub(crate) async fn check(&self, text: &str) -> Result<Url> {
        let refused = |detail: &str| Problem::invalid("#/url", detail);
        if text.len() > URL_BYTES_MAX {
            return Err(refused("is longer than 2048 bytes"));
        }
        let url = Url::parse(text).map_err(|error| refused(&format!("is not a URL: {error}")))?;
        let is_https = url.scheme() == "https";
        if !is_https && url.scheme() != "http" {
            return Err(refused("must start with https://"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refused("must not contain a user or a fragment"));
        }
        let addresses = match literal_address(&url) {
            Some(address) => vec![address],
            None => resolve(url.host_str().unwrap_or_default()).await.unwrap_or_default(),
        };
        if !addresses.iter().all(|address| self.admits(*address, is_https)) {
            let detail = if is_https {
                "resolves to an address that is not public; permit it with webhooks.allow"
            } else {
                "must start with https://; only addresses in webhooks.allow accept plain HTTP"
            };
            return Err(refused(detail));
        }
        if addresses.is_empty() && !is_https {
            return Err(refused("must start with https://: its host name does not resolve"));
        }
        Ok(url)
    }

    /// Checks a stored URL without resolving its name: the client does that when it connects.
    pub(super) fn still_admits(&self, url: &Url) -> bool {
        literal_address(url).is_none_or(|address| self.admits(address, url.scheme() == "https"))
    }
}

/// The address in a URL without a host name.
fn literal_address(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

async fn resolve(host: &str) -> Option<Vec<IpAddr>> {
    let found = timeout(LOOKUP_TIMEOUT, lookup_host((host, 0))).await.ok()?.ok()?;
    Some(found.map(|address| address.ip()).collect())
}

/// One client per scheme.
pub(super) struct Clients {
    https: Client,
    http: Client,
}

impl Clients {
    pub(super) fn new(policy: &TargetPolicy) -> Result<Self, String> {
        // Reqwest needs a default provider; an installed one stays.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = |is_https| {
            let resolver = CheckedResolver { policy: policy.clone(), is_https };
            let client =
                Client::builder().timeout(SEND_TIMEOUT).redirect(redirect::Policy::none()).no_proxy();
            let client = client.pool_max_idle_per_host(1).user_agent("tenure").https_only(is_https);
            client.dns_resolver(resolver).build().map_err(|error| format!("webhooks: {error}"))
        };
        Ok(Self { https: client(true)?, http: client(false)? })
    }

    pub(super) fn for_url(&self, url: &Url) -> &Client {
        if url.scheme() == "https" { &self.https } else { &self.http }
    }
}

/// Resolves names, and fails if any address is not allowed. The client connects to the addresses that were checked.
struct CheckedResolver {
    policy: TargetPolicy,
    is_https: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, is_https) = (self.policy.clone(), self.is_https);
        Box::pin(async move {
            let found = resolve(name.as_str()).await.ok_or("its host name does not resolve")?;
            if found.is_empty() || !found.iter().all(|address| policy.admits(*address, is_https)) {
                return Err("its host name resolves to an address that is not allowed".into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use tenure_config::AddressBlock;
    use tenure_service::problem::ProblemCode;

    use super::*;

    fn policy(allow: &[&str], is_open: bool) -> TargetPolicy {
        let allow = allow.iter().map(|text| AddressBlock::parse(text).unwrap()).collect();
        let settings = WebhooksConfig { allow, ..WebhooksConfig::default() };
        TargetPolicy { settings: Arc::new(settings.into()), is_open: Arc::new(move || is_open) }
    }

    #[tokio::test]
    async fn a_url_must_be_public_and_https() {
        let closed = policy(&[], false);
        for good in
            ["https://1.1.1.1/hook", "https://[2606:4700::1111]:8443/", "https://nowhere.invalid/x?a=b"]
        {
            assert!(closed.check(good).await.is_ok(), "{good}");
        }
        // Addresses in every numeric notation.
        let bad = "http://1.1.1.1/ https://127.0.0.1/ https://2130706433/ https://0177.0.0.1/ https://0x7f.1/ \
            https://127.0.0.1./ https://[::1]/ https://[::ffff:127.0.0.1]/ https://169.254.169.254/latest \
            https://localhost/ http://localhost/ https://10.0.0.1/ https://0.0.0.0/ ftp://1.1.1.1/ \
            https://user@1.1.1.1/ https://user:secret@1.1.1.1/ https://1.1.1.1/#x file:///etc/passwd https:// x \
            http://nowhere.invalid/";
        for bad in bad.split_whitespace() {
            let problem = closed.check(bad).await.unwrap_err();
            assert_eq!(problem.code(), ProblemCode::ValidationFailed.code(), "{bad}");
            assert!(problem.detail().starts_with("#/url: "), "{bad}");
        }
    }

    #[tokio::test]
    async fn allowed_addresses_accept_plain_http() {
        let open = policy(&[], true);
        for good in ["http://127.0.0.1:9/", "http://[::1]:9/", "http://localhost:9/", "https://127.0.0.1/"] {
            assert!(open.check(good).await.is_ok(), "{good}");
        }
        for bad in ["http://10.0.0.1/", "http://1.1.1.1/", "https://10.0.0.1/"] {
            assert!(open.check(bad).await.is_err(), "{bad}");
        }
        let inside = policy(&["10.0.0.0/8"], false);
        assert!(inside.check("http://10.1.2.3/").await.is_ok());
        assert!(inside.check("http://127.0.0.1/").await.is_err());
    }

    #[tokio::test]
    async fn no_connection_is_made_to_an_address_that_is_not_allowed() {
        let clients = Clients::new(&policy(&[], false)).unwrap();
        let url = Url::parse("https://localhost:9/").unwrap();
        let error = clients.for_url(&url).get(url).send().await.unwrap_err();
        assert!(format!("{error:?}").contains("not allowed"), "{error:?}");
    }
}
