//! `tenure resource …`: shows, limits, pauses and resumes the resources of flow control.

use anyhow::Result;
use serde_json::{Map, Value, json};
use tenure_api::{Bucket, CallId, Resource};

use crate::args::{OutputFormat, ResourceCommand, SetResourceArgs};
use crate::client::{Answer, Server};
use crate::output::{self, Exit};
use crate::show::{self, List, text, yes_or_no};

/// More cannot be declared.
const RESOURCES_MAX: usize = 1000;

const RESOURCES: List<Resource> = List {
    name: |resource| text(&resource.name),
    columns: &[
        ("RESOURCE", |resource| text(&resource.name)),
        ("RUNNING", |resource| text(&resource.limits.running)),
        ("RATE", rate),
        ("WAITING", |resource| text(&resource.limits.waiting)),
        ("ORIGIN", |resource| text(&resource.origin)),
        ("PAUSED", |resource| yes_or_no(resource.paused)),
        ("BUCKETS", |resource| text(&(resource.buckets.len() as u64))),
    ],
    wide_columns: &[("KEY", |resource| text(&resource.key))],
    pairs: |_| Vec::new(),
};

fn rate(resource: &Resource) -> String {
    let rate = resource.limits.rate.as_ref();
    rate.map_or_else(|| text(&None::<String>), |rate| show::plain(&format!("{}/{}", rate.count, rate.per)))
}

pub(crate) async fn run(command: ResourceCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let resource: Answer<Resource> = match command {
        ResourceCommand::List => {
            let query = json!({});
            let page = server.list(CallId::ListResources, &[], query, RESOURCES_MAX).await?;
            return RESOURCES.print(format, &page);
        }
        ResourceCommand::Get(args) => server.get(CallId::GetResource, &[&args.resource]).await?,
        ResourceCommand::Set(args) => {
            server.post(CallId::SetResource, &[&args.resource], &limits(&args)).await?
        }
        ResourceCommand::Reset(args) => server.get(CallId::ResetResource, &[&args.resource]).await?,
        ResourceCommand::Pause(args) => {
            let mut body = Map::new();
            body.extend(args.key.map(|key| ("key".to_owned(), json!(key))));
            body.extend(args.span.map(|span| ("for".to_owned(), json!(span))));
            server.post(CallId::PauseResource, &[&args.resource], &Value::Object(body)).await?
        }
        ResourceCommand::Resume(args) => {
            let body = args.key.map_or_else(|| json!({}), |key| json!({ "key": key }));
            server.post(CallId::ResumeResource, &[&args.resource], &body).await?
        }
    };
    shown(&resource, format)
}

/// The limits that are given; the others stay as in the file.
fn limits(args: &SetResourceArgs) -> Value {
    let mut body = Map::new();
    if let Some(running) = args.running {
        body.insert("running".to_owned(), json!(running));
    }
    if let Some((count, per)) = &args.rate {
        let mut rate = json!({ "count": count, "per": per });
        if let Some(burst) = args.burst {
            rate["burst"] = json!(burst);
        }
        body.insert("rate".to_owned(), rate);
    }
    if let Some(waiting) = args.waiting {
        body.insert("waiting".to_owned(), json!(waiting));
    }
    Value::Object(body)
}

fn shown(resource: &Answer<Resource>, format: OutputFormat) -> Result<Exit> {
    let limits = &resource.limits;
    show::one(format, resource, &text(&resource.name), || {
        vec![
            ("resource", text(&resource.name)),
            ("key", text(&resource.key)),
            ("running", text(&limits.running)),
            ("rate", rate(resource)),
            ("burst", text(&limits.rate.as_ref().map(|rate| rate.burst))),
            ("waiting", text(&limits.waiting)),
            ("origin", text(&resource.origin)),
            ("paused", yes_or_no(resource.paused)),
            ("until", text(&resource.paused_until)),
        ]
    })?;
    if matches!(format, OutputFormat::Table | OutputFormat::Wide) && !resource.buckets.is_empty() {
        let row = |bucket: &Bucket| {
            let paused = if bucket.paused {
                bucket.paused_until.clone().unwrap_or_else(|| "yes".to_owned())
            } else {
                "no".to_owned()
            };
            vec![
                text(&bucket.key),
                text(&bucket.running),
                text(&bucket.tokens),
                text(&bucket.waiting),
                show::plain(&paused),
            ]
        };
        let rows: Vec<_> = resource.buckets.iter().map(row).collect();
        output::data("\n")?;
        output::table(&["KEY", "RUNNING", "TOKENS", "WAITING", "PAUSED"], &rows)?;
    }
    Ok(Exit::Done)
}
