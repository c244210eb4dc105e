//! Where a webhook sends to: a URL that is looked at when it is given, and a client that looks at every address that it
//! connects to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};
use tenure_config::AddressBlock;
use tenure_core::refusal::Refusal;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::address::is_public;

const URL_BYTES_MAX: usize = 2048;
const LOOKUP_MAX: Duration = Duration::from_secs(5);
/// For a whole delivery, from the connection to the end of the reply.
pub(super) const SEND_MAX: Duration = Duration::from_secs(15);

/// Where webhooks may go besides the public internet.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) allow: Arc<[AddressBlock]>,
    /// Whether the server has no keys: then it is one person's, and its own machine is a fair target.
    pub(crate) is_open: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Policy {
    /// Allowed on purpose: these may be plain HTTP, too.
    fn is_local(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|block| block.contains(address))
            || (address.to_canonical().is_loopback() && (self.is_open)())
    }

    fn admits(&self, address: IpAddr, is_https: bool) -> bool {
        self.is_local(address) || (is_https && is_public(address))
    }

    /// Refuses a URL that could never be sent to. A name that leads nowhere today may lead somewhere tomorrow.
    pub(crate) async fn check(&self, text: &str) -> Result<Url, Refusal> {
        let refused = |detail: &str| Refusal::invalid("#/url", detail);
        if text.len() > URL_BYTES_MAX {
            return Err(refused("is longer than 2048 bytes"));
        }
        let url = Url::parse(text).map_err(|error| refused(&format!("is not a URL: {error}")))?;
        let is_https = url.scheme() == "https";
        if !is_https && url.scheme() != "http" {
            return Err(refused("must begin with https://"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refused("must have neither a user nor a fragment"));
        }
        let addresses = match address_in(&url) {
            Some(address) => vec![address],
            None => looked_up(url.host_str().unwrap_or_default()).await.unwrap_or_default(),
        };
        if !addresses.iter().all(|address| self.admits(*address, is_https)) {
            let detail = if is_https {
                "leads to an address that is not public; [webhooks] allow can permit it"
            } else {
                "must begin with https://; plain HTTP is for addresses that [webhooks] allow permits"
            };
            return Err(refused(detail));
        }
        if addresses.is_empty() && !is_https {
            return Err(refused("must begin with https://: its name leads nowhere"));
        }
        Ok(url)
    }

    /// The same for a URL that is kept, without asking for its name: the client does that when it connects.
    pub(super) fn still_admits(&self, url: &Url) -> bool {
        address_in(url).is_none_or(|address| self.admits(address, url.scheme() == "https"))
    }
}

/// The address in a URL that has no name.
fn address_in(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

async fn looked_up(host: &str) -> Option<Vec<IpAddr>> {
    let found = timeout(LOOKUP_MAX, lookup_host((host, 0))).await.ok()?.ok()?;
    Some(found.map(|address| address.ip()).collect())
}

/// Clients for both schemes.
pub(super) struct Clients {
    https: Client,
    http: Client,
}

impl Clients {
    pub(super) fn new(policy: &Policy) -> Result<Self, String> {
        // Reqwest has no provider of cryptography of its own. If there is one already, it stays.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = |is_https| {
            let guard = Guard { policy: policy.clone(), is_https };
            let client = Client::builder().timeout(SEND_MAX).redirect(redirect::Policy::none()).no_proxy();
            let client = client.pool_max_idle_per_host(1).user_agent("tenure").https_only(is_https);
            client.dns_resolver(guard).build().map_err(|error| format!("webhooks: {error}"))
        };
        Ok(Self { https: client(true)?, http: client(false)? })
    }

    pub(super) fn of(&self, url: &Url) -> &Client {
        if url.scheme() == "https" { &self.https } else { &self.http }
    }
}

/// Resolves names, and lets none through that leads to a forbidden address: the connection is made to what was checked.
struct Guard {
    policy: Policy,
    is_https: bool,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, is_https) = (self.policy.clone(), self.is_https);
        Box::pin(async move {
            let found = looked_up(name.as_str()).await.ok_or("its name leads nowhere")?;
            if found.is_empty() || !found.iter().all(|address| policy.admits(*address, is_https)) {
                return Err("its name leads to an address that webhooks may not go to".into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], is_open: bool) -> Policy {
        let allow = allow.iter().map(|text| AddressBlock::parse(text).unwrap()).collect();
        Policy { allow, is_open: Arc::new(move || is_open) }
    }

    #[tokio::test]
    async fn a_url_leads_to_the_public_internet_by_https() {
        let closed = policy(&[], false);
        for good in
            ["https://1.1.1.1/hook", "https://[2606:4700::1111]:8443/", "https://nowhere.invalid/x?a=b"]
        {
            assert!(closed.check(good).await.is_ok(), "{good}");
        }
        // Numbers in every notation are addresses, too.
        let bad = "http://1.1.1.1/ https://127.0.0.1/ https://2130706433/ https://0177.0.0.1/ https://0x7f.1/ \
            https://127.0.0.1./ https://[::1]/ https://[::ffff:127.0.0.1]/ https://169.254.169.254/latest \
            https://localhost/ http://localhost/ https://10.0.0.1/ https://0.0.0.0/ ftp://1.1.1.1/ \
            https://user@1.1.1.1/ https://user:secret@1.1.1.1/ https://1.1.1.1/#x file:///etc/passwd https:// x \
            http://nowhere.invalid/";
        for bad in bad.split_whitespace() {
            let Err(Refusal::ValidationFailed(flaws)) = closed.check(bad).await else { panic!("{bad}") };
            assert_eq!(flaws[0].pointer, "#/url", "{bad}");
        }
    }

    #[tokio::test]
    async fn what_is_allowed_on_purpose_may_be_plain() {
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
    async fn a_connection_is_made_to_no_forbidden_address() {
        let clients = Clients::new(&policy(&[], false)).unwrap();
        let url = Url::parse("https://localhost:9/").unwrap();
        let error = clients.of(&url).get(url).send().await.unwrap_err();
        assert!(format!("{error:?}").contains("may not go to"), "{error:?}");
    }
}
