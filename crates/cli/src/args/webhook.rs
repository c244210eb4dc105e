//! `tenure webhook …`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure webhook create --id billing https://billing.example/hooks --event job_succeeded
  tenure webhook list")]
pub(crate) enum WebhookCommand {
    /// List webhooks and the status of their deliveries
    #[command(before_help = "Examples:
  tenure webhook list
  tenure webhook list -o wide")]
    List,
    /// Create a webhook and print its secret, which is shown only once
    #[command(before_help = "Examples:
  tenure webhook create --id billing https://billing.example/hooks --event job_succeeded
  tenure webhook create https://billing.example/all --type resize --user ada")]
    Create(WebhookCreateArgs),
    /// Resume deliveries of a disabled webhook where they stopped
    #[command(before_help = "Examples:
  tenure webhook enable billing")]
    Enable(WebhookIdArgs),
    /// Delete a webhook
    #[command(before_help = "Examples:
  tenure webhook delete billing")]
    Delete(WebhookIdArgs),
}

#[derive(ClapArgs)]
pub(crate) struct WebhookCreateArgs {
    /// Address that events are sent to
    pub(crate) url: String,
    /// Id of the webhook [default: generated]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Only events of jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Option<String>,
    /// Only events of jobs with this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Only events of this type
    #[arg(long)]
    pub(crate) event: Option<String>,
    /// Only events of this user's jobs
    #[arg(long)]
    pub(crate) user: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct WebhookIdArgs {
    /// Id of the webhook, as shown by `tenure webhook list`
    pub(crate) id: String,
}
