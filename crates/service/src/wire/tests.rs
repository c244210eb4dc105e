//! Records of the engine in the form of the API.

use serde_json::json;
use tenure_core::api_key::{ApiKey, EarlierSecret, KeyDetails, Role, Scopes};
use tenure_core::json::Json;
use tenure_core::schedule::{Misfire, Overlap, Plan, Schedule, Template};
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
        details: Box::new(KeyDetails {
            more_roles: vec![Role::Worker],
            scopes: Scopes { types: Some(vec!["a".into()]), ..Scopes::default() },
            earlier_secrets: vec![EarlierSecret { digest: [8; 32], valid_until: Timestamp(2000) }],
            ..KeyDetails::default()
        }),
        last_used_at: Some(Timestamp(1000)),
    };
    let shown = json!({
        "id": "k1", "role": "producer", "roles": ["producer", "worker"], "name": null, "user_id": "u1",
        "created_at": "1970-01-01T00:00:00.000Z", "created_by": "admin:ann", "expires_at": null,
        "scopes": {
            "types": ["a"], "queues": null, "user_id": null, "worker": null, "priority_min": null,
            "priority_max": null,
        },
        "last_used_at": "1970-01-01T00:00:01.000Z", "rotated_at": null,
        "earlier_secrets_until": "1970-01-01T00:00:02.000Z", "revoked_at": null,
    });
    assert_eq!(json!(super::api_key(&key)), shown);
}

#[test]
fn a_schedule_without_a_next_time_is_paused() {
    let mut schedule = Schedule {
        id: "nightly".into(),
        plan: Plan {
            cron: "30 2 * * *".to_owned(),
            timezone: "UTC".into(),
            job: Template {
                job_type: "index".into(),
                payload: Json::null(),
                lifecycle: None,
                user_id: None,
                queue: None,
                priority: None,
                max_attempts: None,
            },
            misfire: Misfire::Once,
            overlap: Overlap::Allow,
        },
        created_at: Timestamp(0),
        created_by: "operator:ann".into(),
        next_at: Some(Timestamp(1000)),
        last_at: None,
        last_job: None,
        last_error: None,
    };
    let shown = super::schedule(&schedule);
    assert_eq!((shown.paused, &*shown.misfire, &*shown.overlap), (false, "once", "allow"));
    schedule.next_at = None;
    assert!(super::schedule(&schedule).paused);
}
