//! `cargo xtask fuzz`: runs schemathesis against a server, which must behave as its `/openapi.json` says.
//!
//! The server is the real program on an embedded store, with jobs of every lifecycle in many states. The configuration is in
//! `xtask/fuzz`. Schemathesis is installed once, under the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tenure_launcher::ServerProcess;

use crate::step::{self, Report};
use crate::{all, cargo, http, python};

/// Pinned: another version has other checks.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
/// Schemathesis ends before this unless it hangs.
const SECONDS_MAX: &str = "180";
const SERVER_CONFIG: &str = include_str!("../fuzz/tenure.toml");
const SETTINGS: &str = include_str!("../fuzz/schemathesis.toml");
/// Jobs; with `reports`, claimed, started and reported on; then a `call` on the job.
const JOBS: &str = include_str!("../fuzz/jobs.json");

/// Runs the step.
pub fn run() -> Result<Report> {
    let program = schemathesis()?;
    let folder = cargo::target().join("xtask/fuzz");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let server = Server::start(&all::tenure()?, &folder)?;
    let (key, jobs) = server.create_jobs().context("cannot create the jobs to fuzz")?;
    let settings = folder.join("schemathesis.toml");
    fs::write(&settings, settings_of(&key, &jobs)?)?;
    let mut fuzz = Command::new("timeout");
    fuzz.args(["--kill-after=5", SECONDS_MAX]).arg(program).arg("--config-file").arg(settings);
    fuzz.args(["run", &format!("{}/openapi.json", server.0.url()), "--no-color"]);
    let report = step::command("fuzz", fuzz.current_dir(&folder).env("TENURE_FUZZ_KEY", key.id))?;
    if server.call("GET", "/readyz", None, None).is_err() {
        bail!("the server is not ready after the run:\n{}", server.0.process().output());
    }
    Ok(report)
}

/// The installed schemathesis.
pub fn schemathesis() -> Result<PathBuf> {
    let python =
        python::with("schemathesis", &[SCHEMATHESIS]).context("schemathesis is needed for fuzzing")?;
    Ok(python.with_file_name("schemathesis"))
}

/// The committed settings, and those of this run.
fn settings_of(key: &Key, jobs: &[String]) -> Result<String> {
    let hooks = cargo::root().join("xtask/fuzz/hooks.py");
    let headers = format!("Bearer {}", key.text);
    // Strings and lists in JSON are valid TOML.
    let (hooks, headers) = (serde_json::to_string(&hooks)?, serde_json::to_string(&headers)?);
    let jobs = serde_json::to_string(jobs)?;
    Ok(format!(
        "hooks = {hooks}\n{SETTINGS}\n[dictionaries.jobs]\nvalues = {jobs}\n\n[headers]\nAuthorization = {headers}\n"
    ))
}

/// The API key of the run.
struct Key {
    id: String,
    text: String,
}

/// The server that schemathesis talks to.
struct Server(ServerProcess);

impl Server {
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        fs::write(folder.join("tenure.toml"), SERVER_CONFIG)?;
        let mut command = Command::new(program);
        command
            .args(["serve", "--config", "tenure.toml", "--data", "data", "--listen", "127.0.0.1:0"])
            .current_dir(folder)
            // No settings from the environment of this command.
            .env_clear();
        Ok(Self(ServerProcess::start(command)?))
    }

    /// Creates jobs of every lifecycle: ready, held, failed, dead, cancelled, delayed, finished. The first call creates a
    /// key, so that the server requires keys, and keys that schemathesis creates or revokes do not change its rights.
    fn create_jobs(&self) -> Result<(Key, Vec<String>)> {
        let issued = self.call("POST", "/api/keys", None, Some(&json!({ "role": "admin" })))?;
        let key = Key { id: text(&issued["id"])?, text: text(&issued["key"])? };
        let post = |path: &str, body: Value| self.call("POST", path, Some(&key), Some(&body));
        post("/api/accounts/u1/credits", json!({ "grant": 1000, "reason": "fuzz" }))?;
        let mut jobs = Vec::new();
        for sample in serde_json::from_str::<Vec<Value>>(JOBS)? {
            let job = post("/api/jobs", sample["job"].clone())?;
            jobs.push(text(&job["id"])?);
            if let Some(reports) = sample["reports"].as_array() {
                let asked = json!({ "worker": "w1", "types": [job["type"]], "start": true });
                let claimed = post("/api/claims", asked)?["jobs"][0].take();
                for report in reports {
                    let mut body = report[1].clone();
                    body["worker"] = "w1".into();
                    body["fence"] = claimed["lease"]["fence"].clone();
                    post(&format!("/api/jobs/{}/{}", text(&claimed["id"])?, text(&report[0])?), body)?;
                }
            }
            if let Some(call) = sample["call"].as_array() {
                post(&format!("/api/jobs/{}/{}", text(&job["id"])?, text(&call[0])?), call[1].clone())?;
            }
        }
        Ok((key, jobs))
    }

    fn call(&self, method: &str, path: &str, key: Option<&Key>, body: Option<&Value>) -> Result<Value> {
        let key = key.map(|key| format!("Authorization: Bearer {}\r\n", key.text)).unwrap_or_default();
        let headers = format!("{key}Content-Type: application/json\r\n");
        let body = body.map(Value::to_string).unwrap_or_default();
        Ok(serde_json::from_str(&http::request(self.0.address(), method, path, &headers, &body)?)?)
    }
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} should be a string"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_valid_toml() {
        let key = Key { id: "k1".into(), text: "secret".into() };
        let text = settings_of(&key, &["j1".into(), "j2".into()]).unwrap();
        let settings: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(settings["headers"]["Authorization"].as_str(), Some("Bearer secret"));
        assert_eq!(settings["dictionaries"]["jobs"]["values"].as_array().unwrap().len(), 2);
        assert!(Path::new(settings["hooks"].as_str().unwrap()).is_file());
    }
}
