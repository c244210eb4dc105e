//! Malformed JSON and invalid fields of a new job.

use tenure_e2e::on_both_stores_with_config;

use super::{CONFIG, Row, lines, malformed, prepare, refuse_all};

/// Bodies that are not JSON, or not a job.
const NO_JOBS: &str = include_str!("bodies.txt");

/// Fields that a job does not have, or with invalid values.
const NO_MEMBERS: &str = include_str!("fields.txt");

/// All malformed bodies of a creation.
fn json_rows() -> Vec<Row> {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let job = |members: &str| format!(r#"{{"type":"plain",{members}}}"#);
    let mut bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        b"{\"type\":\"pl\nain\"}".to_vec(),
        b"{\"type\":\"\xff\xfe\"}".to_vec(),
        b"\xef\xbb\xbf{\"type\":\"plain\"}".to_vec(),
        job(&format!(r#""payload":{}"#, deep(64))).into(),
        job(&format!(r#""payload":{}"#, deep(50_000))).into(),
        deep(100_000).into(),
        "[".repeat(100_000).into(),
        "x".repeat(100_000).into(),
        format!(r#"{{"type":"{}"}}"#, "x".repeat(256)).into(),
    ];
    bodies.extend(lines(NO_JOBS).map(Vec::from));
    bodies.extend(lines(NO_MEMBERS).map(|members| job(members).into()));
    for field in ["user_id", "queue", "correlation_id", "lifecycle"] {
        bodies.push(job(&format!(r#""{field}":"{}""#, "é".repeat(128))).into());
    }
    bodies.into_iter().map(|body| malformed("/api/jobs", body)).collect()
}

#[test]
fn malformed_json_is_refused() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        refuse_all(&server, &jobs, json_rows()).await;
        let keyed = |key: &str| malformed("/api/jobs", r#"{"type":"plain"}"#).with("idempotency-key", key);
        let mut rows: Vec<Row> = ["", &"k".repeat(256), "kéy", "a\tb"].into_iter().map(keyed).collect();
        rows.push(keyed("a").with("idempotency-key", "b"));
        refuse_all(&server, &jobs, rows).await;
    });
}
