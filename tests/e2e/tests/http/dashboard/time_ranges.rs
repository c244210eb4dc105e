//! Time ranges of the overview and of a type.

use tenure_e2e::{Store, server_with_past};

use super::{ask, assert_contains, assert_lacks, shown};

#[tokio::test]
async fn the_overview_shows_a_range_and_the_change_against_the_period_before() {
    for store in Store::ALL {
        let server = server_with_past(store).await;
        let hour = shown(&server, "/ui").await;
        assert_contains(
            &hour,
            &["Jobs per minute", "no change", "against the 1 h before", "created in the period before"],
        );
        assert_contains(&hour, &["<a href=\"/ui?range=1h\" aria-current=\"true\">1 h</a>"]);
        assert_lacks(&hour, &["paused queue bulk"]);
        let day = shown(&server, "/ui?range=24h").await;
        let change =
            ["Jobs per 15 minutes", "6.0/min", "against the 24 h before", "UTC: 90 created, 90 succeeded"];
        assert_contains(&day, &change);
        // Of the jobs at the limits of the range, some are in the period before.
        assert!(["+198 %", "+199 %", "+200 %"].iter().any(|change| day.contains(change)), "{day}");
        assert_contains(&day, &["paused queue bulk by operator:ann"]);
        assert_lacks(&day, &["10 for ann"]);
        let week = shown(&server, "/ui?range=7d").await;
        assert_contains(&week, &["Jobs per hour", "nothing to compare with", "UTC: 360 created"]);
        let six = shown(&server, "/ui?range=6h&zone=%2B05%3A30").await;
        assert_contains(
            &six,
            &[
                "Jobs per 5 minutes",
                "Times in UTC+05:30",
                "UTC+05:30: 30 created",
                "range=24h&amp;zone=%2B05%3A30",
            ],
        );
        let custom = shown(&server, "/ui?from=2026-01-01T00%3A00&until=&zone=utc&range=").await;
        assert_contains(&custom, &["value=\"2026-01-01T00:00\"", "<details open>", "Jobs per day"]);
        for bad in [
            "range=2h",
            "until=2026-01-01T00%3A00",
            "from=2026-01-02T00%3A00&until=2026-01-01T00%3A00",
            "zone=x",
            "day=1",
        ] {
            assert_eq!(ask(&server, &format!("/ui?{bad}")).await.status, 400, "{bad}");
        }
    }
}

#[tokio::test]
async fn the_page_of_a_type_shows_a_range() {
    let server = server_with_past(Store::Sqlite).await;
    let day = shown(&server, "/ui/types/mail?range=24h").await;
    assert_contains(
        &day,
        &[
            "Jobs per 15 minutes",
            "against the 24 h before",
            "Wait: claimable until claimed",
            "Run: started until finished",
        ],
    );
    assert_contains(
        &day,
        &["/ui/types/mail?range=7d", "action=\"/ui/types/mail\"", "paused queue bulk by operator:ann"],
    );
    let hour = shown(&server, "/ui/types/mail").await;
    assert_contains(&hour, &["Jobs per minute", "UTC: 30 created, 30 succeeded"]);
    // A type without jobs in the last hour that is not declared.
    let other = shown(&server, "/ui/types/nothing").await;
    assert_contains(&other, &["No job of type nothing exists"]);
}
