//! The certificate of the server: whether it can be read, is valid now, and for how long.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tenure_config::TlsConfig;
use tenure_core::time::Timestamp;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::Finding;

/// Certificates that are renewed automatically are renewed earlier.
const REMAINING_MIN: Duration = Duration::from_hours(14 * 24);

const RENEW: &str = "renew it, copy certificate and key, and send SIGHUP to the server";

pub(super) fn check(config: &TlsConfig) -> Finding {
    let shown = config.certificate.display();
    let wrong =
        |why: String| Finding::wrong("certificate", format!("{shown}: {why}"), "correct tls.certificate");
    // The first of a chain is the server's.
    let encoded = match CertificateDer::from_pem_file(&config.certificate) {
        Ok(encoded) => encoded,
        Err(error) => return wrong(error.to_string()),
    };
    let certificate = match Certificate::from_der(&encoded) {
        Ok(certificate) => certificate,
        Err(error) => return wrong(error.to_string()),
    };
    let validity = &certificate.tbs_certificate.validity;
    let (begins, ends) = (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    judge(&shown.to_string(), begins, ends, now)
}

fn judge(name: &str, begins: Duration, ends: Duration, now: Duration) -> Finding {
    let date = |time: Duration| Timestamp(time.as_millis() as i64).to_string();
    if now < begins {
        let found = format!("{name} is not valid before {}", date(begins));
        return Finding::wrong(
            "certificate",
            found,
            "correct the clock of this machine, or use another certificate",
        );
    }
    if ends <= now {
        return Finding::wrong("certificate", format!("{name} expired at {}", date(ends)), RENEW);
    }
    Finding::wrong_if(
        ends.saturating_sub(now) < REMAINING_MIN,
        "certificate",
        format!("{name} is valid until {}", date(ends)),
        RENEW,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_certificate_is_wrong_before_its_time_and_from_two_weeks_before_its_end() {
        let day = |days: u64| Duration::from_hours(24 * days);
        let status = |now| judge("c", day(100), day(190), day(now)).status;
        assert_eq!([99, 177, 190, 191].map(status), [Status::Wrong; 4]);
        assert_eq!([100, 176].map(status), [Status::Ok; 2]);
    }
}
