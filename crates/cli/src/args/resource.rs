//! `tenure resource …`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ResourceCommand {
    /// List resources, their limits and how many buckets are in use
    List,
    /// Show a resource and its busiest buckets
    Get(ResourceArgs),
    /// Override the limits of a resource at once, on all nodes
    Set(SetResourceArgs),
    /// Return to the limits of the configuration
    Reset(ResourceArgs),
    /// Grant no leases that use a resource; running jobs continue
    Pause(PauseResourceArgs),
    /// End the pauses of a resource, those by workers included
    Resume(BucketArgs),
}

#[derive(ClapArgs)]
pub(crate) struct ResourceArgs {
    /// Name of the resource
    pub(crate) resource: String,
}

#[derive(ClapArgs)]
#[group(multiple = true, required = true, args = ["running", "rate", "waiting"])]
pub(crate) struct SetResourceArgs {
    /// Name of the resource
    pub(crate) resource: String,
    /// Units of live leases at once
    #[arg(long, value_name = "N")]
    pub(crate) running: Option<u64>,
    /// Tokens in a span, such as 10/1s
    #[arg(long, value_name = "N/DURATION", value_parser = rate)]
    pub(crate) rate: Option<(u64, String)>,
    /// Tokens of a full bucket; default: those of one span
    #[arg(long, value_name = "N", requires = "rate")]
    pub(crate) burst: Option<u64>,
    /// Unfinished jobs; more are refused
    #[arg(long, value_name = "N")]
    pub(crate) waiting: Option<u64>,
}

#[derive(ClapArgs)]
pub(crate) struct PauseResourceArgs {
    /// Name of the resource
    pub(crate) resource: String,
    /// Only the bucket of this key
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// How long, such as 30s; default: until it is resumed
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) span: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct BucketArgs {
    /// Name of the resource
    pub(crate) resource: String,
    /// Only the bucket of this key
    #[arg(long)]
    pub(crate) key: Option<String>,
}

fn rate(text: &str) -> Result<(u64, String), String> {
    let parsed = text.split_once('/').and_then(|(count, per)| {
        tenure_api::span::parse(per)?;
        Some((count.parse().ok()?, per.to_owned()))
    });
    parsed.ok_or_else(|| "write tokens and a span, such as 10/1s".to_owned())
}
