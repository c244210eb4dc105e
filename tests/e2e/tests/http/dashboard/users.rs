//! The pages of users: jobs, limits and credits.

use serde_json::json;
use tenure_e2e::{id, on_both_stores_with_config};

use super::{assert_contains, assert_lacks, inside, shown};
use crate::roles::create_keys;

const CONFIG: &str = r#"
[limits]
creations_per_second = 70
[resources.relay]
key = "user_id"
running = 5
waiting = 100
[types.mail]
lifecycle = "distributed"
uses = ["relay"]
"#;

#[test]
fn a_user_is_shown_with_jobs_limits_and_credits() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        for _ in 0..3 {
            server.create(json!({ "type": "mail", "user_id": "ada", "max_attempts": 1 })).await;
        }
        let claimed = server.claim_next().await;
        let error = json!({ "code": "SMTP_TIMEOUT", "message": "no answer" });
        server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        let running = server.claim_next().await;
        server.create(json!({ "type": "mail", "user_id": "b<b>" })).await;
        server.create(json!({ "type": "mail" })).await;
        server.grant("carl", 7).await;

        let page = shown(&server, "/ui/accounts").await;
        let users = inside(&page, "id=\"users\"", "</table>");
        assert_contains(
            users,
            &["href=\"/ui/accounts/ada\"", "Unfinished\">2<", "Failed\">1<", "b&lt;b&gt;"],
        );
        assert!(users.find("ada") < users.find("b&lt;b&gt;"), "most jobs first");
        assert_contains(inside(&page, "id=\"accounts\"", "</table>"), &["carl", "Available\">7<"]);

        let page = shown(&server, "/ui/accounts/ada").await;
        assert_contains(
            &page,
            &["<h1>User ada</h1>", "SMTP_TIMEOUT", id(&running), "user_id=ada&amp;outcome=dead"],
        );
        let limits = inside(&page, "id=\"limits\"", "</section>");
        assert_contains(
            limits,
            &["at most 70 per second", "relay", "5 running", "Running\">1<", "Unfinished\">2<"],
        );
        assert_contains(&page, &["id=\"ledger\"", ">Grant<", "Erase user"]);
        assert_contains(&shown(&server, "/ui/accounts/unknown").await, &["This user has no jobs."]);

        // A producer sees its own page, without the limits of the system.
        let [producer, ..] = create_keys(&mut server).await;
        let own =
            server.request("GET", "/ui/accounts").key(&producer).header("accept", "text/html").send().await;
        assert_contains(&own.text, &["<h1>User u1</h1>"]);
        assert_lacks(&own.text, &["id=\"limits\""]);
        assert_eq!(server.get_as(&producer, "/ui/accounts/ada").await.status, 403);
    });
}
