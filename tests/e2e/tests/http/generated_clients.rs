//! Clients that are generated from the served description: they are generated without a warning, pass the type checker of
//! their language, and run a job.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tenure_e2e::*;

const INSTALLED: &str = "the generators are installed: `cargo xtask install` installs them";
const CONFIG: &str = "[types.greet]\nlifecycle = \"distributed\"\n";

/// A server that requires a key, the key, and a folder with its description and these files.
async fn start(files: &[(&str, &str)]) -> (Server, String, TempDir) {
    let mut server = Server::with(CONFIG, Store::Sqlite).await;
    let key = server.use_admin_key().await;
    let folder = tempfile::Builder::new().prefix("tenure-generated-").tempdir().unwrap();
    fs::write(folder.path().join("openapi.json"), server.get("/openapi.json").await.text).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    (server, key, folder)
}

/// Runs a program in a folder; its whole output is the message of a failure.
#[track_caller]
fn run(folder: &Path, program: impl AsRef<Path>, arguments: &[&str]) {
    let output =
        Command::new(program.as_ref()).args(arguments).current_dir(folder).output().expect(INSTALLED);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {arguments:?}:\n{stdout}{stderr}", program.as_ref().display());
}

#[tokio::test]
async fn a_generated_python_client_runs_a_job() {
    let files = [
        ("generator.yml", include_str!("fixtures/generated/generator.yml")),
        ("mypy.ini", include_str!("fixtures/generated/mypy.ini")),
        ("run_job.py", include_str!("fixtures/generated/run_job.py")),
    ];
    let (server, key, folder) = start(&files).await;
    let python = xtask::generators::python().expect(INSTALLED);
    let generate = "generate --path openapi.json --config generator.yml --meta none --output-path tenure_api --fail-on-warning";
    let arguments: Vec<&str> = generate.split(' ').collect();
    run(folder.path(), python.with_file_name("openapi-python-client"), &arguments);
    run(folder.path(), python.with_file_name("mypy"), &["run_job.py", "tenure_api"]);
    run(folder.path(), &python, &["run_job.py", server.url(), &key]);
}

#[tokio::test]
async fn a_generated_typescript_client_runs_a_job() {
    let files = [
        ("package.json", r#"{"type":"module"}"#),
        ("tsconfig.json", include_str!("fixtures/generated/tsconfig.json")),
        ("run_job.ts", include_str!("fixtures/generated/run_job.ts")),
    ];
    let (server, key, folder) = start(&files).await;
    let modules = xtask::generators::typescript().expect(INSTALLED).join("node_modules");
    symlink(&modules, folder.path().join("node_modules")).unwrap();
    let program = |name: &str| modules.join(".bin").join(name);
    run(folder.path(), program("openapi-typescript"), &["openapi.json", "--output", "schema.ts"]);
    run(folder.path(), program("tsc"), &["--project", "tsconfig.json"]);
    run(folder.path(), "node", &["run_job.js", server.url(), &key]);
}
