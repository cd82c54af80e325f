//! Logs: to standard error, as text or JSON, `RUST_LOG` respected.
//!
//! Whoever logs text that a pod controls passes it through [`crate::diagnosis::text::line`] first, as `cluster::call`
//! does with the API server's messages.

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
    #[error("RUST_LOG cannot be read: {0}. An example: RUST_LOG=info,shindan=debug")]
    Filter(#[from] tracing_subscriber::filter::FromEnvError),
    #[error("logging is set up already: {0}")]
    Twice(#[from] TryInitError),
}

/// What is logged where `RUST_LOG` is not set. kube is silent: it tells at every try what `cluster` says once and in
/// plain words, and prints a body that it cannot read, whatever a pod has put into it.
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
