//! Writes of rows that exist once for each key, and deletions.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::working_set::Upserted;

use super::Tables;
use crate::memory::expiry::stays;
use crate::prelude::*;

impl Tables {
    pub(super) fn upsert(&mut self, set: &WorkingSet, rows: Upserted) {
        self.accounts.extend(rows.accounts.into_iter().map(|user| (user.clone(), set.accounts[&user])));
        self.dead_letters.extend(rows.dead_letters.into_iter().map(|id| (id, set.dead_letters[&id].clone())));
        self.keys.extend(rows.keys.into_iter().map(|id| (id, set.keys[&id].clone())));
        self.lifecycles
            .extend(rows.lifecycles.into_iter().map(|key| (key.clone(), set.lifecycles[&key].clone())));
        for id in rows.api_keys {
            let mut key = set.api_keys[&id].clone();
            key.last_used_at = self.api_keys.get(&id).and_then(|known| known.last_used_at);
            self.api_keys.insert(id, key);
        }
        for (digest, session) in rows.sessions {
            match session {
                Some(session) => self.sessions.insert(digest, session),
                None => self.sessions.remove(&digest),
            };
        }
        for (id, at) in rows.keys_used {
            if let Some(key) = self.api_keys.get_mut(&id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        for (id, node) in rows.nodes {
            let (now, unseen) = (node.seen_at, Millis(limits::NODE_UNSEEN_MS_MAX));
            if !self.nodes.get(&id).is_some_and(|known| known.stopped) {
                self.nodes.insert(id, node);
            }
            self.nodes.retain(|_, node| now < node.seen_at + unseen);
        }
        for (name, mut worker) in rows.workers {
            let known = self.workers.get(&name);
            worker.connection = worker.connection.or(known.and_then(|known| known.connection));
            self.workers.insert(name, worker);
        }
        for id in rows.automations {
            match set.automations.get(&id) {
                Some(automation) => self.automations.insert(id, automation.clone()),
                None => self.automations.remove(&id),
            };
        }
        for (queue, paused) in rows.queues {
            if paused {
                self.paused.insert(queue)
            } else {
                self.paused.remove(&queue)
            };
        }
    }

    pub(super) fn erase_users(&mut self, erased: &BTreeMap<UserId, UserId>) {
        self.accounts.retain(|user, _| !erased.contains_key(user));
        for line in &mut self.ledger {
            if let Some(alias) = erased.get(&line.user_id) {
                (line.user_id, line.reason) = (alias.clone(), None);
            }
        }
    }

    pub(super) fn purge(&mut self, purged: &BTreeSet<JobId>) {
        self.assets.purge(purged);
        for id in purged {
            self.live.remove(*id);
            self.finished.remove(id);
            for position in self.histories.remove(id).unwrap_or_default() {
                self.journal.remove(&position);
            }
            self.logs.remove(id);
            self.dead_letters.remove(id);
        }
        self.telemetry.retain(|line| !purged.contains(&line.job_id));
    }

    pub(super) fn prune(&mut self, now: Timestamp) {
        self.telemetry.retain(stays(now));
        let (mut key_stays, mut worker_stays, mut session_stays) = (stays(now), stays(now), stays(now));
        self.sessions.retain(|_, session| session_stays(session));
        self.keys.retain(|_, record| key_stays(record));
        self.workers.retain(|_, worker| worker_stays(worker));
    }
}
