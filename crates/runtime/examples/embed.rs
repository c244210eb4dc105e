//! Tenure as a library: a job from creation to its end in an embedded store, and its history.

use std::time::Duration;

use tenure_core::command::{Claim, ClaimFilter, Command, CommandEnvelope, Holder, Report, Verb};
use tenure_core::decide::CommandOutput;
use tenure_core::json::Json;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("tenure-embed-{}", std::process::id()));
    let tenure =
        Runtime::start(Store::open(&folder).await?, Definitions::default(), Options::default()).await?;
    tenure.create(NewJob::new("greet", Json::parse(r#"{"name":"world"}"#)?)).await??;

    let claim =
        Claim { worker: "w1".into(), filter: ClaimFilter::default(), max: 1, request_id: None, start: true };
    let CommandOutput::Claimed { jobs, .. } = tenure.claim(claim, Duration::from_secs(1)).await?? else {
        unreachable!()
    };
    let (job, holder) = (jobs[0].id(), Some(Holder { worker: "w1".into(), fence: jobs[0].fence }));
    let verb = Verb::Succeed { result: Some(Json::parse(r#""hello, world""#)?), error: None };
    let report = Command::Report(Box::new(Report { job, holder, verb }));
    tenure.submit(CommandEnvelope { by: "worker:w1".into(), key: None, command: report }).await??;

    for event in tenure.store().whole_history(job).await? {
        println!("{} {} {} by {}", event.ts, event.name, event.to, event.actor);
    }
    tenure.stop().await;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
