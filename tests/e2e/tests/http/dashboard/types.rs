//! The page of a type: its declaration, and the form that runs one job.

use reqwest::redirect::Policy;
use serde_json::json;
use tenure_e2e::{http_client, on_both_stores_with_setup};

use super::{assert_contains, assert_lacks, said, send, shown};
use crate::roles::create_keys;

const CONFIG: &str = r#"
[resources.relay]
running = 5
[types.mail]
lifecycle = "distributed"
schema = "mail.json"
uses = ["relay"]
[types."*"]
lifecycle = "distributed"
"#;

const SCHEMA: &str = r#"{ "type": "object", "required": ["to"], "additionalProperties": false, "properties": {
    "to": { "type": "string" }, "copies": { "type": "integer" }, "urgent": { "type": "boolean" },
    "size": { "enum": ["a4", "a<5>"] }, "lines": { "type": "array" } } }"#;

#[test]
fn one_job_is_run_from_the_page_of_its_type() {
    let client = http_client().redirect(Policy::none()).build().unwrap();
    let prepare = |setup: tenure_e2e::Setup| {
        setup.file("tenure.toml", CONFIG).file("mail.json", SCHEMA).client(client.clone())
    };
    on_both_stores_with_setup(prepare, async |mut server| {
        let page = shown(&server, "/ui/types/mail").await;
        assert_contains(&page, &["Schema of payloads", "&quot;additionalProperties&quot;: false", "relay"]);
        assert_contains(&page, &["name=\"payload.to\"", "name=\"payload.copies\"", ">a&lt;5&gt;</option>"]);
        assert_lacks(&page, &["name=\"payload.lines\""]);
        let run = "/ui/types/mail/run";
        let fields = [
            ("payload.to", "ada"),
            ("payload.copies", "2"),
            ("payload.urgent", "true"),
            ("payload.size", "\"a<5>\""),
            ("payload", ""),
            ("user", "bob"),
        ];
        let made = send(&server, run, &fields).await;
        assert_eq!(said(&made), "This is the new job.");
        let job = server.list("type=mail").await.remove(0);
        let payload = json!({ "to": "ada", "copies": 2, "urgent": true, "size": "a<5>" });
        assert_eq!((&server.job(&job).await["payload"], &job["user_id"]), (&payload, &json!("bob")));
        let made = send(&server, run, &[("payload.to", ""), ("payload", r#"{"to":"x","lines":[1]}"#)]).await;
        assert_eq!(said(&made), "This is the new job.");
        for (wrong, status) in [
            (vec![("payload.copies", "2")], 422),
            (vec![("payload.to", "a"), ("payload.copies", "many")], 400),
            (vec![("payload.to", "a"), ("payload", "{}")], 400),
            (vec![("payload", "{")], 400),
            (vec![("colour", "red")], 400),
        ] {
            assert_eq!(send(&server, run, &wrong).await.status, status, "{wrong:?}");
        }
        assert_eq!(server.list("type=mail").await.len(), 2);
        // An undeclared type has the catch-all's settings and takes JSON.
        server.create(json!({ "type": "other" })).await;
        assert_lacks(&shown(&server, "/ui/types/other").await, &["name=\"payload.", "Schema of payloads"]);
        let made = send(&server, "/ui/types/other/run", &[("payload", "{}")]).await;
        assert_eq!(said(&made), "This is the new job.");

        let [_, _, _, viewer, _] = create_keys(&mut server).await;
        server.use_key(Some(&viewer));
        assert_contains(&shown(&server, "/ui/types/mail").await, &["the role viewer may not do this"]);
        assert_eq!(send(&server, run, &[("payload.to", "ada")]).await.status, 403);
    });
}
