//! TLS to PostgreSQL, with the settings that libpq has in a URL: `sslmode`, `sslrootcert`, `sslcert` and `sslkey`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// `sslmode` of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    Disable,
    /// Encrypted if the server offers it; also `allow`.
    Prefer,
    Require,
    /// A certificate of a known authority, for any name.
    VerifyCa,
    /// A certificate of a known authority for the host.
    VerifyFull,
}

/// The settings of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TlsOptions {
    pub(super) mode: Option<Encryption>,
    /// Certificates of authorities; `system` or none: those of the machine.
    pub(super) root: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl Encryption {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

impl TlsOptions {
    /// The mode of the URL; without one, other machines are only reached by encrypted connections.
    pub(super) fn mode(&self, config: &Config) -> Encryption {
        let is_remote = !config.get_hosts().iter().all(is_local);
        let default = if is_remote { Encryption::Require } else { Encryption::Prefer };
        match self.mode.unwrap_or(default) {
            // As libpq does: a given authority is checked.
            Encryption::Require if self.root.is_some() => Encryption::VerifyCa,
            mode => mode,
        }
    }

    /// Sets the mode of the driver, and returns what makes its connections.
    pub(super) fn connector(&self, config: &mut Config) -> Result<MakeRustlsConnect, String> {
        let mode = self.mode(config);
        config.ssl_mode(match mode {
            Encryption::Disable => SslMode::Disable,
            Encryption::Prefer => SslMode::Prefer,
            Encryption::Require | Encryption::VerifyCa | Encryption::VerifyFull => SslMode::Require,
        });
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match mode {
            Encryption::Disable | Encryption::Prefer | Encryption::Require => {
                Arc::new(AnyName { authorities: None, provider: Arc::clone(&provider) })
            }
            Encryption::VerifyCa => {
                let authorities = Some(self.authorities(&provider)?);
                Arc::new(AnyName { authorities, provider: Arc::clone(&provider) })
            }
            Encryption::VerifyFull => self.authorities(&provider)?,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let client = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| format!("sslcert and sslkey: {error}"))?,
            (None, None) => builder.with_no_client_auth(),
            _ => return Err("sslcert and sslkey belong together".to_owned()),
        };
        Ok(MakeRustlsConnect::new(client))
    }

    fn authorities(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
        let mut roots = RootCertStore::empty();
        match self.root.as_deref().filter(|path| *path != Path::new("system")) {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
                }
            }
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| format!("no certificate of an authority can be used: {error}"))
    }
}

/// Whether connections do not leave the machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |error: rustls::pki_types::pem::Error| format!("{}: {error}", path.display());
    let found = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unreadable)?;
    if found.is_empty() { Err(format!("{}: no certificate", path.display())) } else { Ok(found) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Accepts certificates for any name: those of known authorities, or without authorities every one. Then the connection is
/// encrypted, but the server is not authenticated.
#[derive(Debug)]
struct AnyName {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        // The name is checked last, after the chain.
        match authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_reached_by_encrypted_connections_unless_configured() {
        let mode = |url: &str, mode| {
            TlsOptions { mode, ..TlsOptions::default() }.mode(&url.parse::<Config>().unwrap())
        };
        for url in ["postgres://localhost/t", "postgres://127.0.0.1,[::1]/t", "postgres:///t?host=/tmp"] {
            assert_eq!(mode(url, None), Encryption::Prefer, "{url}");
        }
        for url in ["postgres://db.example/t", "postgres://localhost,10.0.0.7/t"] {
            assert_eq!(mode(url, None), Encryption::Require, "{url}");
            assert_eq!(mode(url, Some(Encryption::Disable)), Encryption::Disable, "{url}");
        }
    }

    #[test]
    fn a_given_authority_is_checked() {
        let options = TlsOptions { root: Some("ca.pem".into()), ..TlsOptions::default() };
        assert_eq!(options.mode(&"postgres://db.example/t".parse().unwrap()), Encryption::VerifyCa);
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let options = TlsOptions { certificate: Some("client.pem".into()), ..TlsOptions::default() };
        let refused = options.connector(&mut "postgres://localhost/t".parse().unwrap()).err();
        assert_eq!(refused.as_deref(), Some("sslcert and sslkey belong together"));
    }
}
