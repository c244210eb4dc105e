//! Recorded histories under another version of their lifecycle.

use tenure_core::lifecycle::{Outcome, diff};
use tenure_core::what_if::{Obstacle, ReplayEnd, Replayed, Versions};

use crate::make::{OneJob, review};
use crate::prelude::*;

/// The second version of `review`, with one piece of its text replaced.
fn second(old: &str, new: &str) -> Lifecycle {
    let source = include_str!("../review.toml");
    assert!(source.contains(old), "{old} is in the file");
    let source = source.replacen("version = 1", "version = 2", 1).replacen(old, new, 1);
    Lifecycle::parse(&source).expect("the second version is valid")
}

/// The job's history under another version.
fn replay(run: &OneJob, new: &Lifecycle) -> Replayed {
    let catalog = &run.world.catalog;
    let versions = Versions { catalog, old: &run.lifecycle, new };
    versions.replay(&run.job().spec, &run.world.tables.events[&run.id])
}

fn finished(state: &str, outcome: Outcome) -> ReplayEnd {
    ReplayEnd::Finished { state: state.into(), outcome }
}

impl OneJob {
    fn report(&mut self, trigger: &Trigger) {
        let command = self.command(trigger, Class::Transient).expect("it can be reported");
        self.submit(command).expect("the report is allowed");
    }

    /// Claims, drafts for this long with a heartbeat each second, and succeeds.
    fn draft(&mut self, seconds: u64) {
        assert!(self.claim());
        for _ in 0..seconds {
            self.world.wait(Millis::seconds(1));
            self.submit(Command::Heartbeat(self.hold())).expect("the lease is live");
        }
        self.report(&Trigger::Succeed);
    }
}

fn approved() -> OneJob {
    let mut run = OneJob::create(&review(), 2);
    run.draft(30);
    run.report(&Trigger::Signal("approve".into()));
    run
}

#[test]
fn a_shorter_timeout_ends_a_history_earlier() {
    let run = approved();
    let replayed = replay(&run, &second("timeout = \"10m\"", "timeout = \"20s\""));
    assert_eq!(replayed.end, finished("failed", Outcome::Failed));
    assert!(replayed.is_early, "it did not get to the approval");
    assert_eq!(replayed.job.output.error.expect("it failed").code, "RUN_TIMEOUT");
    let replayed = replay(&run, &second("timeout = \"10m\"", "timeout = \"31s\""));
    assert_eq!((replayed.end, replayed.is_early), (finished("published", Outcome::Succeeded), false));
}

#[test]
fn an_outage_counts_against_no_timeout_of_a_replay() {
    let mut run = OneJob::create(&review(), 2);
    run.world.outage(Millis::seconds(7200));
    run.draft(30);
    run.world.outage(Millis::seconds(7200));
    run.report(&Trigger::Signal("approve".into()));
    let replayed = replay(&run, &second("timeout = \"10m\"", "timeout = \"5m\""));
    assert_eq!((replayed.end, replayed.is_early), (finished("published", Outcome::Succeeded), false));
}

#[test]
fn a_longer_timeout_leaves_a_history_unfinished() {
    let mut run = OneJob::create(&review(), 2);
    run.time_out();
    assert_eq!(run.job().state, "failed");
    let replayed = replay(&run, &second("timeout = \"1h\"", "timeout = \"2h\""));
    assert_eq!(replayed.end, ReplayEnd::Unfinished { state: "queued".into() });
}

#[test]
fn a_replay_stops_at_the_first_event_without_a_rule() {
    let run = approved();
    let new = second("on    = \"signal:approve\"", "on    = \"signal:accept\"");
    let replayed = replay(&run, &new);
    assert_eq!(replayed.seq, 4);
    let obstacle = Obstacle {
        trigger: Trigger::Signal("approve".into()),
        state: "in_review".into(),
        recorded: "in_review".into(),
        by: Vec::new(),
    };
    assert_eq!(obstacle.to_string(), "no rule for `signal:approve` from `in_review`");
    assert_eq!(replayed.end, ReplayEnd::Stopped(obstacle));
}

#[test]
fn a_signal_that_only_others_may_send_stops_a_replay() {
    let run = approved();
    let new = second("on    = \"signal:approve\"", "on    = \"signal:approve\"\nby    = [\"producer\"]");
    let ReplayEnd::Stopped(obstacle) = replay(&run, &new).end else { panic!("an operator has approved") };
    assert_eq!(obstacle.to_string(), "`signal:approve` from `in_review` may be sent by producer only");
}

#[test]
fn the_attempts_of_the_new_file_apply_unless_the_caller_chose_a_number() {
    let old = review();
    let attempts = old.policy.max_attempts;
    let new = second("max_attempts = 5", "max_attempts = 1");
    for (chosen, end) in [(attempts, "failed"), (attempts + 1, "published")] {
        let mut run = OneJob::create(&old, chosen);
        assert!(run.claim());
        run.report(&Trigger::Fail);
        run.draft(1);
        run.report(&Trigger::Signal("approve".into()));
        let catalog = &mut run.world.catalog;
        // The number of the caller, not of the type.
        catalog.add_type(crate::make::a_type("work", &old)).expect("its lifecycle is known");
        assert_eq!(replay(&run, &new).job.state, end, "with {chosen} attempts");
    }
}

#[test]
fn a_difference_blocks_the_jobs_of_the_states_that_it_names() {
    let old = review();
    let blocked = |new: &Lifecycle, state: &str| {
        let changes = diff(&old, new).changes;
        changes.iter().filter(|change| change.blocks_job_in(state).is_some()).count()
    };
    let renamed = Lifecycle::parse(&include_str!("../review.toml").replace("in_review", "waiting").replacen(
        "version = 1",
        "version = 2",
        1,
    ));
    let renamed = renamed.expect("the renamed file is valid");
    assert!(blocked(&renamed, "in_review") > 0);
    assert_eq!([blocked(&renamed, "queued"), blocked(&renamed, "drafting")], [0, 0]);
    let other = Lifecycle::built_in().remove(0);
    assert!(["queued", "drafting"].iter().all(|state| blocked(&other, state) > 0), "another name blocks all");
}
