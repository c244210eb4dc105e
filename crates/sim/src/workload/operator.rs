//! An operator: creates schedules and webhooks, pauses and resumes schedules, and enables webhooks. After the faults, all
//! schedules are paused, so that the run can end.

use std::rc::Rc;
use std::time::Duration;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::schedule::{Misfire, NewSchedule, Overlap, Plan, ScheduleChange, Template};
use tenure_core::webhook::{EventFilter, NewWebhook, Secret, Webhook, WebhookChange};
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::fixtures::WEBHOOKS;
use crate::network::Request;
use crate::prelude::*;
use crate::ready;
use crate::rng::Rng;
use crate::workload::submit;

const BY: &str = "operator:root";
const SCHEDULES_MAX: usize = 3;
const MINUTE_MS: i64 = 60_000;

pub(super) async fn run(cluster: Rc<Cluster>, mut rng: Rng) {
    let count = rng.between(1, WEBHOOKS.len() as u64) as usize;
    for id in &WEBHOOKS[..count] {
        until_answered(&cluster, &mut rng, add_webhook(id)).await;
    }
    let mut schedules: Vec<Name> = Vec::new();
    while !cluster.faults_ended() {
        let pause = rng.between(2000, 20_000);
        sleep(Duration::from_millis(pause)).await;
        let request = match rng.between(0, 9) {
            0..=4 if schedules.len() < SCHEDULES_MAX => {
                let id = Name::from(format!("s{}", schedules.len() + 1));
                schedules.push(id.clone());
                add_schedule(&cluster, &mut rng, id)
            }
            _ if schedules.is_empty() => continue,
            0..=6 => change(rng.pick(&schedules), ScheduleChange::Pause),
            _ => Request::ResumeSchedule(rng.pick(&schedules)),
        };
        cluster.send(&mut rng, request).await;
        enable_webhooks(&cluster, &mut rng).await;
    }
    loop {
        for id in active_schedules(&cluster) {
            cluster.send(&mut rng, change(id, ScheduleChange::Pause)).await;
        }
        enable_webhooks(&cluster, &mut rng).await;
        sleep(Duration::from_millis(500)).await;
    }
}

async fn until_answered(cluster: &Rc<Cluster>, rng: &mut Rng, request: Request) {
    while !matches!(cluster.send(rng, request.clone()).await, Some(Ok(_))) && !cluster.faults_ended() {
        sleep(Duration::from_millis(500)).await;
    }
}

fn change(id: Name, change: ScheduleChange) -> Request {
    submit(BY, None, Command::ChangeSchedule { id, change })
}

/// Adds a schedule; half of them have times that passed, as after a time in which no node ran.
fn add_schedule(cluster: &Cluster, rng: &mut Rng, id: Name) -> Request {
    let (cron, step) = rng.pick(&[("* * * * *", MINUTE_MS), ("*/2 * * * *", 2 * MINUTE_MS)]);
    let misfire = rng.pick(&[Misfire::Skip, Misfire::Once, Misfire::All]);
    let overlap = rng.pick(&[Overlap::Allow, Overlap::Allow, Overlap::Skip]);
    let job = Template {
        job_type: rng.pick(&["parcel", "fleet"]).into(),
        payload: Json::of(&"on time"),
        lifecycle: None,
        user_id: Some("ann".into()),
        queue: None,
        priority: None,
        max_attempts: None,
    };
    let plan = Plan { cron: cron.to_owned(), timezone: "UTC".into(), job, misfire, overlap };
    if rng.percent(50) {
        return Request::AddSchedule(id, Box::new(plan));
    }
    let passed = step * rng.between(0, 4) as i64;
    let next_at = Timestamp(cluster.now().0 / step * step - passed);
    submit(BY, None, Command::AddSchedule(Box::new(NewSchedule { id, plan, next_at })))
}

fn active_schedules(cluster: &Cluster) -> Vec<Name> {
    let rows = ready(cluster.store.handle().automations(AutomationKind::Schedule)).unwrap_or_default();
    rows.iter().filter(|row| row.due_at().is_some()).map(|row| row.id().1).collect()
}

/// A webhook for all events of one type, or for one event of all types.
fn add_webhook(id: &str) -> Request {
    let filter = if id == WEBHOOKS[0] {
        EventFilter { job_type: Some("parcel".into()), ..EventFilter::default() }
    } else {
        EventFilter { event: Some("job_succeeded".into()), ..EventFilter::default() }
    };
    let (id, url) = (id.into(), "https://receiver.example/".to_owned());
    let new = NewWebhook { id, url, secret: Secret(String::new()), filter, position: Position(0) };
    submit(BY, None, Command::AddWebhook(Box::new(new)))
}

async fn enable_webhooks(cluster: &Rc<Cluster>, rng: &mut Rng) {
    let rows = ready(cluster.store.handle().automations(AutomationKind::Webhook)).unwrap_or_default();
    for row in rows {
        if let Automation::Webhook(Webhook { id, disabled_at: Some(_), .. }) = row {
            let command = Command::ChangeWebhook { id, change: WebhookChange::Enable };
            cluster.send(rng, submit(BY, None, command)).await;
        }
    }
}
