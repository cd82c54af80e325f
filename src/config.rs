//! Settings of the operator from flags, environment variables and a file. Each has a default.
//!
//! The definitions of the flags are the only list of settings: [`mod@file`] derives its keys from them, and tests
//! compare docs/configuration.md and the chart with them.

pub mod file;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use shindan_core::case::Thresholds;
use shindan_core::facts::{CustomKind, LabelSelector, Overrides, parse_duration};
use shindan_core::language::Language;
use shindan_core::reconcile::Policy;
use shindan_core::rules;
use shindan_core::state::{Annotate, Caps, Selection};

/// A number of seconds, written as `90`, `90s`, `5m` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub i64);

impl Seconds {
    pub fn parse(text: &str) -> Result<Self, String> {
        const SHAPE: &str = "write seconds, or a duration such as 90s, 5m, 1h30m or 2d";
        parse_duration(text).map(Self).ok_or_else(|| SHAPE.to_owned())
    }
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            s if s % 86_400 == 0 => write!(f, "{}d", s / 86_400),
            s if s % 3600 == 0 => write!(f, "{}h", s / 3600),
            s if s % 60 == 0 => write!(f, "{}m", s / 60),
            s => write!(f, "{s}s"),
        }
    }
}

/// A parser of seconds within a range. Its error contains the range.
fn within(range: RangeInclusive<i64>) -> impl Fn(&str) -> Result<Seconds, String> + Clone + Send + Sync + 'static {
    move |text| {
        let seconds = Seconds::parse(text)?;
        if range.contains(&seconds.0) {
            Ok(seconds)
        } else {
            Err(format!("must be from {} to {}", Seconds(*range.start()), Seconds(*range.end())))
        }
    }
}

const DAY: i64 = 86_400;

/// How long is too long. Durations are written as `90`, `90s`, `5m` or `1h30m`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Thresholds")]
pub struct ThresholdArgs {
    /// A pod without a node is a failure after this long
    #[arg(long, env = "SHINDAN_UNSCHEDULABLE", value_name = "DURATION", default_value = "1m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub unschedulable: Seconds,
    /// A pod without a node is a failure after this long while the cluster autoscaler adds a node
    #[arg(long, env = "SHINDAN_UNSCHEDULABLE_SCALING_UP", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub unschedulable_scaling_up: Seconds,
    /// A container that runs and was never ready is a failure this long after the start-up budget of its probes
    #[arg(long, env = "SHINDAN_NEVER_READY", value_name = "DURATION", default_value = "5m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub never_ready: Seconds,
    /// A container that was ready and is no longer ready is a failure after this long
    #[arg(long, env = "SHINDAN_READINESS_LOST", value_name = "DURATION", default_value = "2m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub readiness_lost: Seconds,
    /// Creating containers may take this long
    #[arg(long, env = "SHINDAN_CREATING", value_name = "DURATION", default_value = "2m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub creating: Seconds,
    /// Creating containers may take this long while an image is being pulled
    #[arg(long, env = "SHINDAN_CREATING_PULLING", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub creating_pulling: Seconds,
    /// Init containers may take this long
    #[arg(long, env = "SHINDAN_INIT", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub init: Seconds,
    /// A pod that never started has recovered once it is ready for this long
    #[arg(long, env = "SHINDAN_RECOVERED_NEVER_STARTED", value_name = "DURATION", default_value = "30s", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub recovered_never_started: Seconds,
    /// A pod that restarted has recovered once it is ready for this long since its last start
    #[arg(long, env = "SHINDAN_RECOVERED_RESTARTING", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub recovered_restarting: Seconds,
    /// How long an Event may arrive after the status that it explains; three times as long if a container terminated as after a failed
    /// liveness probe
    #[arg(long, env = "SHINDAN_EVENT_GRACE", value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = within(0..=300))]
    pub event_grace: Seconds,
    /// A node is flapping once its readiness changed this often within the window
    #[arg(long, env = "SHINDAN_FLAPPING_TRANSITIONS", value_name = "COUNT", default_value = "3", allow_hyphen_values = true, value_parser = clap::value_parser!(u8).range(2..=100))]
    pub flapping_transitions: u8,
    /// The window in which those changes are counted
    #[arg(long, env = "SHINDAN_FLAPPING_WINDOW", value_name = "DURATION", default_value = "1h", allow_hyphen_values = true, value_parser = within(60..=DAY))]
    pub flapping_window: Seconds,
    /// A flapping node is stable again once its readiness has not changed for this long
    #[arg(long, env = "SHINDAN_FLAPPING_STABLE", value_name = "DURATION", default_value = "30m", allow_hyphen_values = true, value_parser = within(60..=DAY))]
    pub flapping_stable: Seconds,
    /// Thresholds of single causes, also of those of rules, which override the general ones; may be repeated or separated by commas
    #[arg(long = "thresholds", visible_alias = "threshold", env = "SHINDAN_THRESHOLDS", value_name = "CAUSE=DURATION", value_delimiter = ',', value_parser = threshold)]
    pub of_causes: Vec<Threshold>,
}

/// The threshold of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    cause: &'static str,
    after: Seconds,
}

impl ThresholdArgs {
    /// The causes of rules that a threshold is set for.
    pub fn causes_of_rules(&self) -> impl Iterator<Item = &'static str> {
        self.of_causes.iter().map(|of| of.cause).filter(|cause| cause.contains('/'))
    }

    /// The thresholds. Call this once: the thresholds of single causes are leaked for the lifetime of the program.
    pub fn thresholds(&self) -> Thresholds {
        // The last value for a cause wins, as with repeated flags.
        let chosen: BTreeMap<_, _> = self.of_causes.iter().map(|of| (of.cause, of.after.0)).collect();
        Thresholds {
            unschedulable: self.unschedulable.0,
            unschedulable_scaling_up: self.unschedulable_scaling_up.0,
            never_ready: self.never_ready.0,
            readiness_lost: self.readiness_lost.0,
            creating: self.creating.0,
            creating_pulling: self.creating_pulling.0,
            init: self.init.0,
            recovered_never_started: self.recovered_never_started.0,
            recovered_restarting: self.recovered_restarting.0,
            patient: true,
            event_grace: self.event_grace.0,
            flapping_transitions: usize::from(self.flapping_transitions),
            flapping_window: self.flapping_window.0,
            flapping_stable: self.flapping_stable.0,
            language: Language::English,
            chosen: if chosen.is_empty() { &[] } else { chosen.into_iter().collect::<Vec<_>>().leak() },
            of_rules: &[],
        }
    }
}

/// How one of several replicas is elected to write. The names are those of Kubernetes' own components.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Leader election")]
pub struct ElectionArgs {
    /// Write only while this replica holds the Lease; required with several replicas
    #[arg(long, env = "SHINDAN_LEADER_ELECT")]
    pub leader_elect: bool,
    /// The namespace of the Lease [default: the pod's own, else that of the kubeconfig's context]
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RESOURCE_NAMESPACE", value_name = "NAMESPACE", value_parser = namespace)]
    pub leader_elect_resource_namespace: Option<String>,
    /// Another replica becomes the leader if the Lease was not renewed for this long
    #[arg(long, env = "SHINDAN_LEADER_ELECT_LEASE_DURATION", value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = within(3..=3600))]
    pub leader_elect_lease_duration: Seconds,
    /// The leader stops writing if it could not renew the Lease for this long; shorter than the lease duration
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION", default_value = "6s", allow_hyphen_values = true, value_parser = within(2..=3600))]
    pub leader_elect_renew_deadline: Seconds,
    /// Interval between renewals or reads of the Lease; shorter than the renew deadline
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION", default_value = "2s", allow_hyphen_values = true, value_parser = within(1..=3600))]
    pub leader_elect_retry_period: Seconds,
}

impl ElectionArgs {
    /// Checks that each duration is longer than the next shorter one. The error names the flags.
    pub fn check(&self) -> Result<(), String> {
        let order = [
            ("--leader-elect-lease-duration", self.leader_elect_lease_duration),
            ("--leader-elect-renew-deadline", self.leader_elect_renew_deadline),
            ("--leader-elect-retry-period", self.leader_elect_retry_period),
        ];
        match order.windows(2).find(|pair| pair[0].1 <= pair[1].1) {
            Some([(longer, long), (shorter, short)]) => {
                Err(format!("{longer} ({long}) must be longer than {shorter} ({short})"))
            }
            _ => Ok(()),
        }
    }
}

/// Language of summaries, remedies and Events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Lang {
    /// English
    En,
    /// Japanese
    Ja,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::English,
            Lang::Ja => Self::Japanese,
        }
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Objects that are annotated with their diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Annotated {
    Pods,
    /// Deployments, StatefulSets, DaemonSets, Jobs and CronJobs.
    Workloads,
}

/// Flags of `shindan run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// A YAML file with settings, each key named after its flag (neverReady: 10m). Flags and variables override it. It is read
    /// once, at the start
    #[arg(long, env = "SHINDAN_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The kubeconfig file [default: as kubectl finds it; in a pod, its service account]
    #[arg(long, env = "SHINDAN_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, env = "SHINDAN_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// Diagnose these namespaces only; may be repeated or separated by commas [default: all]
    #[arg(long, visible_alias = "namespace", short = 'n', env = "SHINDAN_NAMESPACES", value_name = "NAMESPACE", value_delimiter = ',', value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Skip these namespaces; may be repeated or separated by commas. Their pods still count toward node capacity
    #[arg(long, visible_alias = "exclude-namespace", env = "SHINDAN_EXCLUDE_NAMESPACES", value_name = "NAMESPACE", value_delimiter = ',', value_parser = namespace)]
    pub exclude_namespaces: Vec<String>,
    /// Diagnose only pods with these labels, and workloads with such pods, in the syntax of kubectl -l:
    /// app.kubernetes.io/part-of=shop,env!=dev. Other pods still count toward node capacity
    #[arg(long, short = 'l', env = "SHINDAN_SELECTOR", value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    pub selector: Option<LabelSelector>,
    /// Read Nodes and StorageClasses, and diagnose nodes, which needs cluster-wide permissions. With `false` the state of nodes
    /// is unknown
    #[arg(long, env = "SHINDAN_NODES", value_name = "true|false", default_value = "true", action = clap::ArgAction::Set)]
    pub nodes: bool,
    /// Also diagnose these custom resources, by plural and group: certificates.cert-manager.io; may be repeated or separated by
    /// commas. The operator needs the permission to read them: `shindan rules rbac KIND` prints the role
    #[arg(long, visible_alias = "kind", env = "SHINDAN_KINDS", value_name = "PLURAL.GROUP", value_delimiter = ',', value_parser = CustomKind::parse)]
    pub kinds: Vec<CustomKind>,
    /// Also diagnose the path of a request (Ingress, Gateway, HTTPRoute, GRPCRoute, Service), HorizontalPodAutoscalers,
    /// PodDisruptionBudgets and unused claims; needs the permission to read them (deploy/components/network)
    #[arg(long, env = "SHINDAN_NETWORK")]
    pub network: bool,
    /// How long a diagnosis is kept after the pod has recovered or was deleted
    #[arg(long, env = "SHINDAN_RETENTION", value_name = "DURATION", default_value = "24h", allow_hyphen_values = true, value_parser = within(60..=90 * DAY))]
    pub retention: Seconds,
    /// Address of /metrics, /healthz and /readyz
    #[arg(long, env = "SHINDAN_LISTEN", value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// Maximum number of concurrent writes to the API server
    #[arg(long, env = "SHINDAN_WRITE_CONCURRENCY", value_name = "COUNT", default_value = "16", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub write_concurrency: u16,
    /// Maximum number of write requests per second, including Events; 0 is no limit. (The API server can throttle them too:
    /// deploy/ gives them their own priority level)
    #[arg(long, env = "SHINDAN_WRITE_QPS", value_name = "COUNT", default_value = "0", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub write_qps: u32,
    /// Maximum number of PodDiagnosis objects in a namespace
    #[arg(long, env = "SHINDAN_MAX_PER_NAMESPACE", value_name = "COUNT", default_value = "500", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_per_namespace: u32,
    /// Maximum number of ended PodDiagnosis objects of the same workload, container and cause
    #[arg(long, env = "SHINDAN_MAX_ENDED_PER_FAILURE", value_name = "COUNT", default_value = "3", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_ended_per_failure: u32,
    /// Maximum number of Warning Events of pods of one workload and cause, or of one root in a namespace, within 10 minutes;
    /// further ones are aggregated into the Event of the workload. Bare pods of a namespace with one cause count as one workload,
    /// and so do its objects on paths of requests
    #[arg(long, env = "SHINDAN_EVENTS_PER_WORKLOAD", value_name = "COUNT", default_value = "5", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub events_per_workload: u16,
    /// Causes that are never reported; may be repeated or separated by commas. (For one workload: its annotation
    /// shindan.dev/ignore)
    #[arg(long, env = "SHINDAN_IGNORE_CAUSES", value_name = "CAUSE", value_delimiter = ',', value_parser = cause)]
    pub ignore_causes: Vec<String>,
    /// Read the last log lines of a terminated container if its status does not show the cause; needs the permission to read
    /// pods/log (deploy/components/previous-logs). One masked line is reported
    #[arg(long, env = "SHINDAN_PREVIOUS_LOGS")]
    pub previous_logs: bool,
    /// Set the annotation shindan.dev/diagnosis on failing objects, and remove it on recovery; needs the permission to patch
    /// (deploy/components/annotate). May be repeated or separated by commas
    #[arg(long, env = "SHINDAN_ANNOTATE", value_name = "WHAT", value_delimiter = ',')]
    pub annotate: Vec<Annotated>,
    /// A YAML file with the receivers of notifications about incidents (Slack, Teams, Discord, PagerDuty, Opsgenie, Alertmanager,
    /// webhook) and the routes to them (docs/notifications.md). It is read once, at the start [default: nothing is sent]
    #[arg(long, env = "SHINDAN_NOTIFY", value_name = "FILE")]
    pub notify: Option<PathBuf>,
    /// The language of summaries, remedies and Events
    #[arg(long, env = "SHINDAN_LANG", value_name = "LANG", default_value = "en")]
    pub lang: Lang,
    /// Format of log lines
    #[arg(long, env = "SHINDAN_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogForm,
    #[command(flatten)]
    pub election: ElectionArgs,
    #[command(flatten)]
    pub thresholds: ThresholdArgs,
    /// Settings that differ from their defaults, for the log.
    #[arg(skip)]
    pub settings: Vec<file::Setting>,
}

impl RunArgs {
    /// Checks that the settings fit together. The error names the flags.
    pub fn check(&self) -> Result<(), String> {
        let both = self.namespaces.iter().find(|name| self.exclude_namespaces.contains(name));
        match both {
            Some(name) => Err(format!("--namespaces and --exclude-namespaces both name {name}")),
            None => self.election.check(),
        }
    }

    /// Which pods and workloads are reported.
    pub fn selection(&self) -> Selection {
        Selection {
            excluded: self.exclude_namespaces.iter().map(|name| name.as_str().into()).collect(),
            labels: self.selector.clone().unwrap_or_default(),
        }
    }

    pub fn annotate(&self) -> Annotate {
        let has = |what| self.annotate.contains(&what);
        Annotate { pods: has(Annotated::Pods), workloads: has(Annotated::Workloads) }
    }

    pub fn policy(&self) -> Policy {
        Policy {
            retention: self.retention.0,
            events_per_workload: usize::from(self.events_per_workload),
            language: self.lang.into(),
            ..Policy::default()
        }
    }

    pub fn overrides(&self) -> Overrides {
        Overrides::ignoring(self.ignore_causes.iter().map(String::as_str))
    }

    pub fn caps(&self) -> Caps {
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Caps { per_namespace: count(self.max_per_namespace), ended_per_failure: count(self.max_ended_per_failure) }
    }
}

/// Parses the name of an existing cause. A misspelled one would otherwise have no effect and no error.
fn cause(text: &str) -> Result<String, String> {
    let found = rules::named(text.trim()).map(|known| known.cause.to_owned());
    found.ok_or_else(|| rules::unknown(text.trim()))
}

/// Parses a cause and its threshold. Causes that are reported at once have no threshold.
fn threshold(text: &str) -> Result<Threshold, String> {
    let (name, after) = text.split_once('=').ok_or("write CAUSE=DURATION, such as ReadinessProbeFailed=10m")?;
    let cause = timed_cause(name.trim())?;
    Ok(Threshold { cause, after: within(0..=DAY)(after.trim())? })
}

/// The name of a cause that can have a threshold. A name with a prefix is that of a rule, which is read later.
fn timed_cause(name: &str) -> Result<&'static str, String> {
    if let Some((prefix, own)) = name.split_once('/') {
        let is_of_rule = prefix.contains('.') && !own.is_empty() && !own.contains(char::is_whitespace);
        let form = || format!("{name:?} is not the name of a cause of a rule, such as acme.example/BadLicense");
        return if is_of_rule { Ok(String::leak(name.to_owned())) } else { Err(form()) };
    }
    let name = cause(name)?;
    rules::patient().find(|cause| *cause == name).ok_or_else(|| {
        let mut others: Vec<_> = rules::patient().collect();
        others.sort_unstable();
        others.dedup();
        format!(
            "{name} has no threshold: it counts at once, or the state of its workload decides. These have one: {}; and \
             causes of rules, such as acme.example/BadLicense",
            others.join(", ")
        )
    })
}

/// Parses a valid namespace name. An invalid one would otherwise match nothing without an error.
fn namespace(text: &str) -> Result<String, String> {
    let fits = !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-');
    if fits { Ok(text.to_owned()) } else { Err("not a valid name of a namespace".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        run: RunArgs,
    }

    fn parse(args: &[&str]) -> Result<RunArgs, String> {
        Only::try_parse_from([&["run"], args].concat()).map(|only| only.run).map_err(|e| e.to_string())
    }

    #[test]
    fn flag_defaults_equal_the_engine_defaults() {
        let run = parse(&[]).unwrap();
        assert_eq!(run.thresholds.thresholds(), Thresholds::default());
        assert_eq!(run.policy(), Policy::default());
        assert_eq!(run.caps(), Caps::default());
        assert_eq!(run.election.check(), Ok(()));
        assert!(run.namespaces.is_empty() && run.nodes);
        assert_eq!(run.annotate(), Annotate::default(), "no annotations by default");
    }

    #[test]
    fn annotate_selects_the_annotated_objects() {
        let all = Annotate { pods: true, workloads: true };
        assert_eq!(parse(&["--annotate=pods,workloads"]).unwrap().annotate(), all);
        assert_eq!(parse(&["--annotate=workloads"]).unwrap().annotate(), Annotate { pods: false, ..all });
        let error = parse(&["--annotate=nodes"]).unwrap_err();
        assert!(error.contains("--annotate") && error.contains("pods, workloads"), "{error}");
    }

    #[test]
    fn namespaces_and_nodes_limit_the_scope() {
        for flag in ["-n", "--namespaces", "--namespace"] {
            let run = parse(&[flag, "team-a,team-b", "--nodes=false"]).unwrap();
            assert_eq!((run.namespaces.join(" "), run.nodes), ("team-a team-b".to_owned(), false));
        }
        assert!(parse(&["-n", "team-a"]).unwrap().nodes, "--nodes does not depend on --namespaces");
    }

    #[test]
    fn durations_are_parsed() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), ("0", 0)] {
            assert_eq!(Seconds::parse(text), Ok(Seconds(seconds)), "{text}");
        }
        for text in ["", "m", "5x", "5m3", "1.5h"] {
            assert!(Seconds::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_invalid_value_names_the_field_and_the_range() {
        let error = parse(&["--retention", "1s"]).unwrap_err();
        assert!(error.contains("--retention") && error.contains("from 1m to 90d"), "{error}");
        let error = parse(&["--never-ready", "soon"]).unwrap_err();
        assert!(error.contains("--never-ready") && error.contains("5m"), "{error}");
        let error = parse(&["--write-concurrency", "0"]).unwrap_err();
        assert!(error.contains("--write-concurrency") && error.contains("1..=256"), "{error}");
        let election = parse(&["--leader-elect-renew-deadline", "10s"]).unwrap().election;
        let error = election.check().unwrap_err();
        assert!(error.contains("--leader-elect-lease-duration (10s) must be longer than"), "{error}");
        let error = parse(&["--ignore-causes", "AppError,OOMKiled"]).unwrap_err();
        assert!(error.contains("--ignore-causes") && error.contains("OOMKiled"), "{error}");
        assert!(parse(&["--ignore-causes", "apperror,OOMKilled"]).unwrap().overrides().ignores("AppError"));
        let error = parse(&["-n", "Not_One"]).unwrap_err();
        assert!(error.contains("--namespaces"), "{error}");
    }
}
