//! `shindan run`: the operator.

use std::time::Duration;

use anyhow::Context;

use super::{Ending, variables};
use crate::app::{self, Election, Pace, Settings};
use crate::cluster::Scope;
use crate::cluster::client::Target;
use crate::cluster::lease::Timing;
use crate::config::{ElectionArgs, LogForm, RunArgs, Seconds, file};
use crate::notify;
use crate::telemetry::{self, LogFormat};

pub(super) fn run(args: RunArgs) -> anyhow::Result<Ending> {
    telemetry::init(match args.log_format {
        LogForm::Text => LogFormat::Text,
        LogForm::Json => LogFormat::Json,
    })?;
    args.check().map_err(anyhow::Error::msg)?;
    for note in variables::misspelt() {
        tracing::warn!("{note}");
    }
    let notify = args.notify.as_deref().map(notify::Settings::read).transpose().map_err(anyhow::Error::msg)?;
    file::log_settings(&args);
    let annotate = args.annotate();
    let settings = Settings {
        listen: args.listen,
        thresholds: args.thresholds.thresholds().in_language(args.lang.into()),
        policy: args.policy(),
        overrides: args.overrides(),
        selection: args.selection(),
        caps: args.caps(),
        pace: Pace {
            writes: usize::from(args.write_concurrency),
            write_rate: Some(args.write_qps).filter(|rate| *rate > 0),
            ..Pace::default()
        },
        target: Target { kubeconfig: args.kubeconfig, context: args.context, ..Target::default() },
        scope: Scope { namespaces: args.namespaces, nodes: args.nodes },
        kinds: args.kinds,
        network: args.network,
        previous_logs: args.previous_logs,
        annotate,
        election: election(&args.election),
        notify,
    };
    // One thread is enough: only the engine decides, and further threads would mostly wake each other.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(app::run(settings))?;
    Ok(Ending::Good)
}

fn election(args: &ElectionArgs) -> Option<Election> {
    let duration = |Seconds(seconds)| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let election = Election {
        namespace: args.leader_elect_resource_namespace.clone(),
        timing: Timing {
            lease: duration(args.leader_elect_lease_duration),
            renew: duration(args.leader_elect_renew_deadline),
            retry: duration(args.leader_elect_retry_period),
        },
    };
    args.leader_elect.then_some(election)
}
