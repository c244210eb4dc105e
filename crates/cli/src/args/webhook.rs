//! `webhook`.

use clap::{Args as ClapArgs, Subcommand};

/// `tenure webhook …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure webhook create --id billing https://billing.example/hooks --event job_succeeded
  tenure webhook list")]
pub(crate) enum WebhookCommand {
    /// List webhooks and how their deliveries go
    #[command(before_help = "Examples:
  tenure webhook list
  tenure webhook list -o wide")]
    List,
    /// Create a webhook and print its secret, this once
    #[command(before_help = "Examples:
  tenure webhook create --id billing https://billing.example/hooks --event job_succeeded
  tenure webhook create https://billing.example/all --type resize --user ada")]
    Create(WebhookCreate),
    /// Send again, from where it stood, after it was disabled
    #[command(before_help = "Examples:
  tenure webhook enable billing")]
    Enable(WebhookId),
    /// Forget a webhook
    #[command(before_help = "Examples:
  tenure webhook delete billing")]
    Delete(WebhookId),
}

/// `tenure webhook create`.
#[derive(ClapArgs)]
pub(crate) struct WebhookCreate {
    /// Where events are sent
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Its name; one is made if this is left out
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only events of jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Option<String>,
    /// Only events of jobs that follow this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Only this event
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Only events of this user's jobs
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
}

/// A command on one webhook.
#[derive(ClapArgs)]
pub(crate) struct WebhookId {
    /// Its id, as `webhook list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
