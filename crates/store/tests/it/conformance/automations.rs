//! Automations: schedules, each of whose times creates one job, and webhooks, which one node at a time delivers.

use tenure_core::schedule::{Fire, Misfire, NewSchedule, Overlap, Plan, Schedule, Template};
use tenure_core::webhook::{EventFilter, NewWebhook, Secret, Webhook, WebhookChange};

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) fn add_schedule(id: &str, job_type: &str, next_at: Timestamp) -> CommandEnvelope {
    let job = Template {
        job_type: job_type.into(),
        payload: Json::of(&"the same"),
        lifecycle: None,
        user_id: Some("ann".into()),
        queue: Some("q1".into()),
        priority: Some(-3),
        max_attempts: None,
    };
    let (misfire, overlap) = (Misfire::All, Overlap::Allow);
    let plan = Plan { cron: "* * * * *".to_owned(), timezone: "UTC".into(), job, misfire, overlap };
    by("operator:ann", Command::AddSchedule(Box::new(NewSchedule { id: id.into(), plan, next_at })))
}

pub(crate) fn a_job_with(id: JobId, job_type: &str) -> Create {
    Create { id, user_id: Some("ann".into()), ..a_job(job_type) }
}

pub(crate) fn fire(id: &str, due_at: Timestamp, next_at: Timestamp, job: Create) -> CommandEnvelope {
    let occurrence = Some((due_at, Ok(Box::new(job))));
    let fire = Fire { schedule: id.into(), due_at, last_job: None, next_at, occurrence };
    by(&format!("schedule:{id}"), Command::Fire(Box::new(fire)))
}

pub(crate) fn change_schedule(id: &str, change: ScheduleChange) -> CommandEnvelope {
    by("operator:ann", Command::ChangeSchedule { id: id.into(), change })
}

fn schedule_of(result: CommandResult) -> (Schedule, bool) {
    match result.expect("the command is valid") {
        CommandOutput::Automation { automation, replayed } => match *automation {
            Automation::Schedule(schedule) => (schedule, replayed),
            Automation::Webhook(_) | Automation::Erasure(_) => panic!("a schedule was expected"),
        },
        other => panic!("a schedule was expected, not {other:?}"),
    }
}

async fn names(store: &Store) -> Vec<Name> {
    let found = store.automations(AutomationKind::Schedule).await.unwrap();
    found.into_iter().map(|automation| automation.id().1).collect()
}

async fn due(store: &Store) -> Vec<Name> {
    let found = store.due_automations(AutomationKind::Schedule, 9).await.unwrap();
    found.into_iter().map(|automation| automation.id().1).collect()
}

pub(crate) async fn automations_are_stored_changed_and_deleted(stores: TestStores) {
    let far = Timestamp(stores.store.now().await.unwrap().at.0 + 86_400_000);
    let (first, _) = schedule_of(one(&stores.store, add_schedule("b", "so1", Timestamp(2))).await);
    one(&stores.other, add_schedule("c", "so1", far)).await.unwrap();
    one(&stores.store, add_schedule("a", "so1", Timestamp(3))).await.unwrap();
    assert_eq!(
        stores.other.automations(AutomationKind::Schedule).await.unwrap()[1],
        Automation::Schedule(first.clone())
    );
    assert_eq!(names(&stores.store).await, ["a", "b", "c"]);
    assert_eq!(due(&stores.other).await, ["b", "a"], "oldest first, without future ones");
    assert_eq!(stores.store.automations(AutomationKind::Webhook).await.unwrap(), []);

    let again = schedule_of(one(&stores.other, add_schedule("b", "so1", far)).await);
    assert_eq!(again, (first, true), "the same plan again changes nothing");
    let other = one(&stores.store, add_schedule("b", "image", far)).await;
    assert!(matches!(other, Err(Refusal::ValidationFailed(_))), "{other:?}");

    let (paused, _) = schedule_of(one(&stores.store, change_schedule("b", ScheduleChange::Pause)).await);
    assert_eq!(paused.next_at, None);
    assert!(
        schedule_of(one(&stores.other, change_schedule("b", ScheduleChange::Pause)).await).1,
        "it was paused"
    );
    assert_eq!(due(&stores.store).await, ["a"]);
    let resumed = one(&stores.other, change_schedule("b", ScheduleChange::Resume(Timestamp(9)))).await;
    assert_eq!(schedule_of(resumed).0.next_at, Some(Timestamp(9)));
    assert_eq!(due(&stores.store).await, ["a", "b"]);

    one(&stores.other, change_schedule("a", ScheduleChange::Remove)).await.unwrap();
    let gone = one(&stores.store, change_schedule("a", ScheduleChange::Remove)).await;
    assert!(matches!(gone, Err(Refusal::NotFound { what: "schedule", .. })), "{gone:?}");
    // Created, changed and removed in one batch; and removed and created again.
    let batch = vec![
        add_schedule("d", "so1", far),
        change_schedule("d", ScheduleChange::Pause),
        change_schedule("d", ScheduleChange::Remove),
        change_schedule("c", ScheduleChange::Remove),
        add_schedule("c", "image", far),
    ];
    assert!(submit(&stores.store, batch).await.iter().all(Result::is_ok));
    assert_eq!(names(&stores.other).await, ["b", "c"]);
    let actions: Vec<_> =
        stores.store.audit(0, 50).await.unwrap().into_iter().map(|(_, it)| it.action).collect();
    let count = |action: &str| actions.iter().filter(|it| **it == action).count();
    let kinds = ["schedule_create", "schedule_pause", "schedule_resume", "schedule_remove"];
    assert_eq!(kinds.map(count), [5, 2, 1, 3]);
}

pub(crate) async fn a_time_of_a_schedule_creates_one_job_under_concurrency(stores: TestStores) {
    let times = |round: i64| (Timestamp(1000 + round), Timestamp(1001 + round));
    one(&stores.store, add_schedule("s", "so1", times(0).0)).await.unwrap();
    let first = stores.in_parallel(6, move |_, store| async move {
        let mut first = 0;
        for round in 0..10 {
            // A late node reads the state that the first one left.
            let found = store.automations(AutomationKind::Schedule).await.unwrap();
            let Automation::Schedule(read) = &found[0] else { panic!("it is a schedule") };
            let (due_at, next_at) = times(round);
            let occurrence = Some((due_at, Ok(Box::new(a_job_with(an_id(), "so1")))));
            let fire = Fire { schedule: "s".into(), due_at, last_job: read.last_job, next_at, occurrence };
            let envelope = by("schedule:s", Command::Fire(Box::new(fire)));
            let result = submit_until_done(&store, &[envelope]).await.remove(0);
            first += u32::from(!schedule_of(result).1);
        }
        first
    });
    let first: u32 = first.await.iter().sum();
    let found = stores.other.automations(AutomationKind::Schedule).await.unwrap();
    let Automation::Schedule(schedule) = &found[0] else { panic!("it is a schedule") };
    let fired = schedule.next_at.unwrap().0 - 1000;
    let jobs = all_jobs(&stores.store).await;
    assert_eq!((i64::from(first), jobs.len() as i64), (fired, fired), "one job for each time that was fired");
    assert!(fired > 0 && jobs.iter().any(|job| Some(job.id()) == schedule.last_job));
    let history = stores.store.whole_history(jobs[0].id()).await.unwrap();
    assert_eq!(history[0].actor.to_string(), "schedule:s");
    assert_lawful(&stores.store).await;
}

fn webhook_of(result: CommandResult) -> Webhook {
    match result.expect("the command is valid") {
        CommandOutput::Automation { automation, .. } => match *automation {
            Automation::Webhook(webhook) => webhook,
            Automation::Schedule(_) | Automation::Erasure(_) => panic!("a webhook was expected"),
        },
        other => panic!("a webhook was expected, not {other:?}"),
    }
}

pub(crate) async fn one_node_at_a_time_delivers_a_webhook(stores: TestStores) {
    const HOUR: Millis = Millis(3_600_000);
    let new = NewWebhook {
        id: "h".into(),
        url: "https://example.com/".to_owned(),
        secret: Secret("whsec_x".to_owned()),
        filter: EventFilter { event: Some("job_succeeded".into()), ..EventFilter::default() },
        position: Position(7),
    };
    let made = webhook_of(one(&stores.store, by("operator:ann", Command::AddWebhook(Box::new(new)))).await);
    assert_eq!(
        stores.other.automations(AutomationKind::Webhook).await.unwrap(),
        [Automation::Webhook(made.clone())]
    );
    let change = |change| by("node", Command::ChangeWebhook { id: "h".into(), change });
    let take = |holder: &str, span| change(WebhookChange::Take { holder: holder.into(), span });
    let sent = |holder: &str, at| {
        let (holder, position, status) = (holder.into(), Position(at), Some(204));
        change(WebhookChange::Sent { holder, span: HOUR, position, status })
    };
    let failed = |holder: &str, retry_in| {
        let (holder, error) = (holder.into(), "no".to_owned());
        change(WebhookChange::Failed { holder, position: Position(8), status: Some(500), error, retry_in })
    };
    one(&stores.store, take("n1", HOUR)).await.unwrap();
    for late in [take("n2", HOUR), sent("n2", 9), failed("n2", None)] {
        assert!(one(&stores.other, late).await.is_err(), "n1 delivers");
    }
    assert_eq!(webhook_of(one(&stores.store, sent("n1", 8)).await).position, Position(8));
    let waits = webhook_of(one(&stores.store, failed("n1", Some(Millis(0)))).await);
    assert_eq!((waits.failures, waits.last_status, waits.holder.clone()), (1, Some(500), None));
    assert_eq!(
        stores.other.due_automations(AutomationKind::Webhook, 9).await.unwrap(),
        [Automation::Webhook(waits)]
    );
    one(&stores.other, take("n2", HOUR)).await.unwrap();
    assert!(one(&stores.store, sent("n1", 10)).await.is_err(), "n2 delivers");
    let over = webhook_of(one(&stores.other, failed("n2", None)).await);
    assert_eq!((over.due_at, over.failures, over.position), (None, 2, Position(8)));
    assert!(over.disabled_at.is_some() && one(&stores.store, take("n1", HOUR)).await.is_err());
    assert_eq!(stores.store.due_automations(AutomationKind::Webhook, 9).await.unwrap(), []);
    one(&stores.store, change(WebhookChange::Remove)).await.unwrap();
    assert_eq!(stores.other.automations(AutomationKind::Webhook).await.unwrap(), []);
}
