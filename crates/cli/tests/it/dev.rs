//! The newcomer's first command: jobs move from the first second.

use super::server::Server;

#[test]
fn every_demo_type_runs_without_a_payload() {
    let mut dev = Server::dev();
    for (job_type, attempts) in [
        ("hello", 1),
        ("flaky", 3),
        ("crash", 2),
        ("scene", 1),
        ("workflow", 1),
        ("export", 1),
        ("picture", 1),
    ] {
        dev.does(&["run", job_type]);
        let found = dev.json(&["job", "list", "--type", job_type]);
        assert_eq!(found["jobs"][0]["attempt"], attempts, "{job_type}");
    }
    assert_eq!(dev.stop(), Some(0));
}
