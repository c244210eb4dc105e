//! Failover without Patroni and without root: a primary and a synchronous standby. The primary is killed, and the standby is
//! promoted.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_launcher::Process;
use xtask::scratch::{self, ServerUser};

use super::failover::{execute, longest};
use super::load::Load;
use super::resume::Resumptions;
use crate::{Server, eventually};

/// Fails if no standby has this state.
const HAS_STANDBY: &str = "do $$ begin if not exists (select from pg_stat_replication where sync_state = 'STATE') \
                           then raise 'no standby'; end if; end $$";

/// Fails while a standby follows a primary.
const IS_ALONE: &str =
    "do $$ begin if exists (select from pg_stat_wal_receiver) then raise 'connected'; end if; end $$";
/// Operations that a standby misses.
const OPERATIONS_MISSED: usize = 300;

/// Two servers. They are killed when dropped.
pub(super) struct StandbyPair {
    servers: [Option<Process>; 2],
    primary: usize,
    place: Place,
    /// The standby misses what was acknowledged last.
    is_behind: bool,
    /// How long there was no primary.
    outages: Vec<Duration>,
    pub(super) resumed: Resumptions,
}

/// Where the servers are, and what runs them.
#[derive(Clone)]
struct Place {
    folder: std::sync::Arc<TempDir>,
    ports: [u16; 2],
    user: ServerUser,
    programs: PathBuf,
}

impl StandbyPair {
    /// With `is_behind`, commits do not wait for the standby, and a failover must lose jobs.
    pub(super) async fn start(is_behind: bool) -> Self {
        let user = ServerUser::find().expect("a user for PostgreSQL exists");
        let folder = tempfile::Builder::new().prefix("tenure-pair-").tempdir_in("/tmp").unwrap();
        user.owns(folder.path()).unwrap();
        let ports = [(); 2].map(|()| scratch::free_port().unwrap());
        let programs = scratch::programs().expect("PostgreSQL is installed");
        let place = Place { folder: folder.into(), ports, user, programs };
        place.run("initdb", &["--username=postgres", "--auth=trust", "--no-sync", "-D", &place.data(0)]);
        let servers = [Some(place.start(0)), None];
        let mut pair = Self {
            servers,
            primary: 0,
            place,
            is_behind,
            outages: Vec::new(),
            resumed: Resumptions::default(),
        };
        for statement in ["create database tenure", "create table probe (n int)"] {
            pair.wait_for_primary(statement).await;
        }
        pair.add_standby().await;
        pair
    }

    /// Both servers, of which a client chooses the primary.
    pub(super) fn url(&self) -> String {
        let [a, b] = self.place.ports;
        format!("postgres://postgres@127.0.0.1:{a},127.0.0.1:{b}/tenure?target_session_attrs=read-write")
    }

    /// Kills the primary, promotes the standby, waits until jobs are created again, and adds a new standby.
    pub(super) async fn fail_over(&mut self, nodes: &mut [Server], load: &Load) {
        if self.is_behind {
            self.disconnect_standby().await;
            load.more(OPERATIONS_MISSED).await;
        }
        let since = Instant::now();
        drop(self.servers[self.primary].take());
        self.primary = 1 - self.primary;
        self.place.run("pg_ctl", &["promote", "-W", "-D", &self.place.data(self.primary)]);
        self.wait_for_primary("insert into probe values (1)").await;
        self.outages.push(since.elapsed());
        self.resumed.measure(load, nodes).await;
        self.add_standby().await;
    }

    pub(super) fn measured(&self) -> Vec<String> {
        let outage = format!("no primary for {:.1} s at most", longest(&self.outages));
        std::iter::once(outage).chain(self.resumed.measured("the new primary's first write")).collect()
    }

    async fn wait_for_primary(&self, statement: &str) {
        let port = self.place.ports[self.primary];
        let accepts = async || execute(port, statement).await.is_some();
        eventually(&format!("the primary accepts: {statement}"), accepts).await;
    }

    /// Copies the primary. Commits wait for the copy from the moment in which it follows; the copy has no such setting, so
    /// that it accepts writes when it is promoted.
    async fn add_standby(&mut self) {
        let (place, standby, from) = (self.place.clone(), 1 - self.primary, self.place.ports[self.primary]);
        let server = tokio::task::spawn_blocking(move || place.start_copy(standby, from));
        self.servers[standby] = Some(server.await.expect("the copy does not panic"));
        self.wait_for_primary(&HAS_STANDBY.replace("STATE", "async")).await;
        if self.is_behind {
            return;
        }
        self.wait_for_primary("alter system set synchronous_standby_names = '*'").await;
        self.wait_for_primary("select pg_reload_conf()").await;
        self.wait_for_primary(&HAS_STANDBY.replace("STATE", "sync")).await;
    }
}

impl StandbyPair {
    async fn disconnect_standby(&self) {
        let port = self.place.ports[1 - self.primary];
        for statement in ["alter system set primary_conninfo = ''", "select pg_reload_conf()", IS_ALONE] {
            let accepts = async || execute(port, statement).await.is_some();
            eventually("the standby is disconnected", accepts).await;
        }
    }
}

impl Place {
    fn data(&self, server: usize) -> String {
        self.folder.path().join(["a", "b"][server]).display().to_string()
    }

    fn start_copy(&self, server: usize, from: u16) -> Process {
        let data = self.data(server);
        if std::fs::exists(&data).unwrap() {
            std::fs::remove_dir_all(&data).unwrap();
        }
        let from = format!("host=127.0.0.1 port={from} user=postgres");
        self.run("pg_basebackup", &["--write-recovery-conf", "-c", "fast", "-d", &from, "-D", &data]);
        // The setting of a primary that was promoted before.
        let settings = format!("{data}/postgresql.auto.conf");
        let text = std::fs::read_to_string(&settings).unwrap();
        let lines = text.split_inclusive('\n');
        let kept: String = lines.filter(|line| !line.starts_with("synchronous_standby_names")).collect();
        std::fs::write(&settings, kept).unwrap();
        self.start(server)
    }

    fn start(&self, server: usize) -> Process {
        let folder = self.folder.path().display();
        let mut postgres = self.user.runs(Command::new(self.programs.join("postgres")));
        postgres.args(["-D", &self.data(server), "-p", &self.ports[server].to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]);
        postgres.args(["-c", &format!("unix_socket_directories={folder}")]).current_dir("/");
        Process::start(postgres).expect("PostgreSQL is installed")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = self.user.runs(Command::new(self.programs.join(program)));
        command.args(arguments).current_dir("/").stdin(Stdio::null());
        let output = command.output().expect("PostgreSQL is installed");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
