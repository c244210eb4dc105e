//! `tenure dev`.

use tenure_e2e::cli::CliServer;

#[test]
fn every_demo_type_runs_without_a_payload() {
    let mut dev = CliServer::dev();
    let others = ["hello", "scene", "workflow", "export", "picture"].map(|job_type| (job_type, 1));
    for (job_type, attempts) in [("flaky", 3), ("crash", 2)].into_iter().chain(others) {
        dev.run_ok(&["run", job_type]);
        let found = dev.json(&["job", "list", "--type", job_type]);
        assert_eq!(found["jobs"][0]["attempt"], attempts, "{job_type}");
    }
    let exported = dev.json(&["job", "list", "--type", "export"]);
    let assets = dev.json(&["job", "assets", exported["jobs"][0]["id"].as_str().unwrap()]);
    assert_eq!(assets["assets"][0]["url"], exported["jobs"][0]["result"]["url"]);
    assert_eq!(dev.stop(), Some(0));
}
