//! `tenure dev`.

use tenure_e2e::cli::CliServer;

#[test]
fn every_demo_type_runs_without_a_payload() {
    let mut dev = CliServer::dev();
    for (job_type, attempts) in [
        ("hello", 1),
        ("flaky", 3),
        ("crash", 2),
        ("scene", 1),
        ("workflow", 1),
        ("export", 1),
        ("picture", 1),
    ] {
        dev.run_ok(&["run", job_type]);
        let found = dev.json(&["job", "list", "--type", job_type]);
        assert_eq!(found["jobs"][0]["attempt"], attempts, "{job_type}");
    }
    let exported = dev.json(&["job", "list", "--type", "export"]);
    let assets = dev.json(&["job", "assets", exported["jobs"][0]["id"].as_str().unwrap()]);
    assert_eq!(assets["assets"][0]["url"], exported["jobs"][0]["result"]["url"]);
    assert_eq!(dev.stop(), Some(0));
}
