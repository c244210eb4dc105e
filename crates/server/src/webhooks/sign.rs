//! Signatures by Standard Webhooks: HMAC-SHA256 over id, time and body with the webhook's secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tenure_core::webhook::Secret;

const PREFIX: &str = "whsec_";
const SECRET_BYTES: usize = 32;

pub(crate) fn new_secret() -> Secret {
    let mut bytes = [0; SECRET_BYTES];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random bytes");
    Secret(format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// The value of `webhook-signature`.
pub(super) fn signature(secret: &Secret, id: &str, seconds: i64, body: &str) -> String {
    let text = secret.0.strip_prefix(PREFIX).unwrap_or(&secret.0);
    // Secrets made here are base64; any other in the store is used as it is.
    let key = STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec());
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(signed.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vector_of_the_specification_is_signed_correctly() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let (id, seconds, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature(&secret, id, seconds, body), expected);
    }

    #[test]
    fn a_secret_is_random_and_not_printed() {
        let (one, two) = (new_secret(), new_secret());
        assert_ne!(one, two);
        assert_eq!(STANDARD.decode(one.0.strip_prefix(PREFIX).unwrap()).unwrap().len(), SECRET_BYTES);
        assert!(!format!("{one:?}").contains(&one.0));
    }
}
