//! Records of the engine in the form of the API.

use serde_json::json;
use tenure_core::api_key::{ApiKey, Role};
use tenure_core::time::Timestamp;

#[test]
fn a_key_is_shown_without_its_digest() {
    let key = ApiKey {
        id: "k1".into(),
        role: Role::Producer,
        user_id: Some("u1".into()),
        digest: [7; 32],
        created_at: Timestamp(0),
        created_by: "admin:ann".into(),
        revoked_at: None,
    };
    let shown = json!({
        "id": "k1", "role": "producer", "user_id": "u1", "created_at": "1970-01-01T00:00:00.000Z",
        "created_by": "admin:ann", "revoked_at": null,
    });
    assert_eq!(json!(super::api_key(&key)), shown);
}
