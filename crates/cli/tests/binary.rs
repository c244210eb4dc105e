//! The binary starts. The rest is tested in `tests/e2e`, which needs it: cargo builds it for this test.

use std::process::Command;

#[test]
fn the_binary_prints_its_version() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tenure")).arg("--version").output().expect("the binary starts");
    let version = concat!("tenure ", env!("CARGO_PKG_VERSION"));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(version), "{output:?}");
}
