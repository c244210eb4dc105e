//! What a server is started with: a store, files, environment variables and an HTTP client.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use tempfile::TempDir;
use tenure_launcher::ServerProcess;

use crate::{Server, http_client, in_time, new_database, tenure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

/// Runs a test on each store.
pub fn on_both_stores(test: impl AsyncFn(Server)) {
    on_both_stores_with_setup(|setup| setup, test);
}

/// Runs a test on each store, with a `tenure.toml`.
pub fn on_both_stores_with_config(config: &str, test: impl AsyncFn(Server)) {
    on_both_stores_with_setup(|setup| setup.config(config), test);
}

/// Runs a test on each store, with these files in the server's folder.
pub fn on_both_stores_with_files(files: &[(&str, &str)], test: impl AsyncFn(Server)) {
    let add = |setup: Setup| files.iter().fold(setup, |setup, (name, text)| setup.file(name, text));
    on_both_stores_with_setup(add, test);
}

/// Runs a test on each store, with a setup that `prepare` completes, and verifies the store afterwards.
pub fn on_both_stores_with_setup(prepare: impl Fn(Setup) -> Setup, test: impl AsyncFn(Server)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for store in Store::ALL {
            let setup = prepare(Setup::new(store).await);
            test(setup.clone().start().await).await;
            setup.verify();
        }
    });
}

/// What a server is started with. A clone has the same store and the same folder: another node, or the next start.
#[derive(Clone)]
pub struct Setup {
    store: Store,
    database: Option<String>,
    folder: Arc<TempDir>,
    client: Client,
    env: Vec<(&'static str, String)>,
    /// The control group of the server.
    group: Option<PathBuf>,
}

impl Setup {
    /// An empty store and an empty folder.
    pub async fn new(store: Store) -> Self {
        let database = if store == Store::Postgres { Some(new_database().await) } else { None };
        Self::on(store, database)
    }

    /// A server on an existing PostgreSQL database.
    pub fn on_database(url: &str) -> Self {
        Self::on(Store::Postgres, Some(url.to_owned()))
    }

    fn on(store: Store, database: Option<String>) -> Self {
        let folder = tempfile::Builder::new().prefix("tenure-e2e-").tempdir().unwrap();
        let client = http_client().build().unwrap();
        Self { store, database, folder: Arc::new(folder), client, env: Vec::new(), group: None }
    }

    pub fn store(&self) -> Store {
        self.store
    }

    pub(crate) fn http_client(&self) -> &Client {
        &self.client
    }

    /// The file of the embedded store.
    pub fn database_file(&self) -> PathBuf {
        self.path("data/tenure.db")
    }

    /// The URL of the PostgreSQL database.
    pub fn database_url(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn store_flags(&self) -> [String; 2] {
        match &self.database {
            Some(url) => ["--database-url".to_owned(), url.clone()],
            None => ["--data".to_owned(), self.path("data").display().to_string()],
        }
    }

    /// Runs `tenure verify` on the store.
    pub fn verify_output(&self) -> Output {
        let mut command = Command::new(tenure());
        command.env_clear().current_dir(self.folder.path()).arg("verify").args(self.store_flags());
        command.output().expect("the binary starts")
    }

    /// Runs `tenure verify`, which must find nothing wrong.
    #[track_caller]
    pub fn verify(&self) {
        let output = self.verify_output();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "tenure verify:\n{}{}", text(&output.stdout), text(&output.stderr));
    }

    /// The configuration file.
    #[must_use]
    pub fn config(self, toml: &str) -> Self {
        self.file("tenure.toml", toml)
    }

    /// A file beside the configuration file.
    #[must_use]
    pub fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// Environment variables of the server.
    #[must_use]
    pub fn env(mut self, env: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.env.extend(env);
        self
    }

    /// Starts the server in this control group.
    #[must_use]
    pub fn group(mut self, folder: &Path) -> Self {
        self.group = Some(folder.to_owned());
        self
    }

    /// Sends requests with this client.
    #[must_use]
    pub fn client(mut self, client: Client) -> Self {
        self.client = client;
        self
    }

    /// The command that starts the server.
    pub fn command(&self, listen: &str) -> Command {
        let mut command = Command::new(tenure());
        if let Some(group) = &self.group {
            command = Command::new("/bin/sh");
            command.args(["-c", "echo $$ >\"$0/cgroup.procs\" && exec \"$@\""]).arg(group).arg(tenure());
        }
        command.env_clear().env("NO_COLOR", "1").current_dir(self.folder.path());
        command.envs(self.env.iter().cloned());
        command.args(["serve", "--listen", listen]).args(self.store_flags());
        command
    }

    /// A path beside the configuration file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the server and waits until it listens.
    pub async fn start(self) -> Server {
        let process = launch(self.command("127.0.0.1:0")).await.unwrap_or_else(|error| panic!("{error}"));
        Server::new(self, process)
    }

    /// Starts the server at the address of an earlier one, as soon as the port is free.
    pub async fn start_at(self, address: &str) -> Server {
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        let process = in_time("the address is free again", async {
            loop {
                ticks.tick().await;
                if let Ok(process) = launch(self.command(address)).await {
                    return process;
                }
            }
        })
        .await;
        Server::new(self, process)
    }
}

/// Starts a server without blocking the tasks of the test.
async fn launch(command: Command) -> std::io::Result<ServerProcess> {
    tokio::task::spawn_blocking(|| ServerProcess::start(command)).await.expect("the launcher does not panic")
}
