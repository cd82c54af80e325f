//! Logging to standard error, as text or JSON, filtered by `RUST_LOG`.
//!
//! Text that a pod controls passes through [`shindan_core::message::text::line`] before it is logged, as
//! `cluster::call` does with the messages of the API server.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::util::TryInitError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("RUST_LOG is invalid: {0}. Example: RUST_LOG=info,shindan=debug")]
    Filter(#[from] tracing_subscriber::filter::FromEnvError),
    #[error("logging is already set up: {0}")]
    Twice(#[from] TryInitError),
}

/// Target of a log line at each step from the change of a pod to its written diagnosis, in this order: `read`, `decoded`, `applied`,
/// `decide`, `decided`, `sent`, `answered`. `RUST_LOG=info,shindan::steps=trace` shows where the time goes.
pub const STEPS: &str = "shindan::steps";

/// Filter if `RUST_LOG` is not set. kube's own logs are off: they repeat on every retry what `cluster` logs once, and
/// they print response bodies that cannot be parsed, which may contain text of a pod.
const DEFAULT: &str = "info,kube_runtime=off,kube_client=off";

/// Sets up logging for the whole process.
pub fn init(format: LogFormat) -> Result<(), TelemetryError> {
    let filter = if std::env::var_os("RUST_LOG").is_some_and(|v| !v.is_empty()) {
        EnvFilter::try_from_default_env()?
    } else {
        EnvFilter::new(DEFAULT)
    };
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => logs.finish().try_init()?,
        LogFormat::Json => logs.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}
