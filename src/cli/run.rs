//! `shindan run`: the operator.

use anyhow::Context;

use super::Ending;
use crate::app::{self, Pace, Settings};
use crate::cluster::client::Target;
use crate::config::{LogForm, RunArgs};
use crate::telemetry::{self, LogFormat};

pub(super) fn run(args: RunArgs) -> anyhow::Result<Ending> {
    telemetry::init(match args.log_format {
        LogForm::Text => LogFormat::Text,
        LogForm::Json => LogFormat::Json,
    })?;
    let settings = Settings {
        listen: args.listen,
        thresholds: args.thresholds.thresholds(),
        policy: args.policy(),
        caps: args.caps(),
        pace: Pace { writes: usize::from(args.write_concurrency), ..Pace::default() },
        target: Target { kubeconfig: args.kubeconfig, context: args.context },
        namespaces: args.namespaces,
        previous_logs: args.previous_logs,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime's threads")?;
    runtime.block_on(app::run(settings))?;
    Ok(Ending::Good)
}
