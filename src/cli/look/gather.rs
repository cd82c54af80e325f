//! Collects the diagnoses: those that the operator wrote, or new ones made locally.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kube::Client;
use shindan_core::api::{DiagnosisKind, DiagnosisState};
use shindan_core::case::Thresholds;
use shindan_core::facts::{NamesOf, ObjectKey, Timestamp};
use shindan_core::offline::{self, Logs, PendingObject, UndiagnosedPod, View};
use shindan_core::rules;
use shindan_core::wire::Dump;

use super::below::Below;
use super::kind::Kind;
use super::ready::ReadyPods;
use super::standing;
use super::subject::{self, Asked, Subject};
use crate::cli::found::{Found, OfNodeOrWorkload, OfPod};
use crate::cli::tree::Detail;
use crate::cluster::client::Clients;
use crate::cluster::discovery::{self, ResourceType};
use crate::cluster::lease::holder::{self, Operator};
use crate::cluster::restore::{self, RestoreError, Restored};
use crate::cluster::snapshot::{self, CustomTypes, Failure, Item, Lacking, Lister, Place, Progress, Snapshot};

/// How the diagnoses were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum By {
    Operator,
    /// Locally, because the operator is installed but has no diagnosis.
    HereInstead,
    /// By the operator, although nothing is seen locally: it knows rules and reads objects that the user does not.
    OperatorInstead,
    Here,
}

#[derive(Debug)]
pub(in crate::cli) struct Gathered {
    pub(in crate::cli) found: Found,
    pub(in crate::cli) by: By,
    /// What could not be read, and the consequence.
    pub(in crate::cli) notes: Vec<String>,
    /// Number of pods that were checked locally, healthy ones included.
    pub(in crate::cli) pods: usize,
    /// The requested objects that are not failing but not ready, with their state and the time from which they count as
    /// failing.
    pub(in crate::cli) unready: Vec<String>,
    /// Whether a failure is seen in one of these that has not lasted long enough to be reported.
    pub(in crate::cli) fails_so_far: bool,
    /// Requested nodes that are healthy themselves but have failing pods.
    pub(in crate::cli) healthy_nodes: Vec<String>,
}

/// Result of a local diagnosis.
struct Seen {
    found: Found,
    pods: usize,
    unready: Vec<String>,
    fails_so_far: bool,
    knows_nodes: bool,
}

/// The installed types of custom resources that added rules name.
pub(in crate::cli) async fn types_of_rules(client: &Client, limit: Duration) -> Result<Vec<ResourceType>, Failure> {
    let catalog = rules::catalog::current();
    if catalog.fields().is_empty() {
        return Ok(Vec::new());
    }
    let types = discovery::types(client, limit).await?;
    let found = catalog.fields().kinds().filter_map(|kind| types.of_plural(kind.group(), kind.plural()));
    Ok(found.cloned().collect())
}

/// The request, and how to answer it.
pub(in crate::cli) struct Question<'a> {
    pub(in crate::cli) clients: &'a Clients,
    /// `None`: all namespaces.
    pub(in crate::cli) namespace: Option<String>,
    pub(in crate::cli) asked: Asked,
    /// Requested objects that do not exist. They may still have a diagnosis.
    pub(in crate::cli) gone: Vec<Subject>,
    pub(in crate::cli) thresholds: Thresholds,
    pub(in crate::cli) limit: Duration,
    /// Whether to ignore the diagnoses of the operator.
    pub(in crate::cli) here: bool,
    pub(in crate::cli) ended: bool,
    /// Whether to diagnose the paths of requests too, if no object is named.
    pub(in crate::cli) with_routes: bool,
    /// Types of custom resources to diagnose too, if no object is named.
    pub(in crate::cli) custom: Vec<ResourceType>,
    /// Whether the numbers of ready pods in diagnoses of the operator are replaced with the present ones.
    pub(in crate::cli) with_live_counts: bool,
    /// On standard error.
    pub(in crate::cli) shows_progress: bool,
}

impl<'a> Question<'a> {
    /// The question about these objects, without output on standard error. Diagnoses of the operator count.
    pub(in crate::cli) async fn new(
        clients: &'a Clients,
        namespace: Option<String>,
        asked: Asked,
        thresholds: Thresholds,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let gone = gone(&clients.write, namespace.as_deref(), asked.subjects(), limit).await?;
        Ok(Self {
            clients,
            namespace,
            asked,
            gone,
            thresholds,
            limit,
            here: false,
            ended: false,
            with_routes: false,
            custom: Vec::new(),
            with_live_counts: false,
            shows_progress: false,
        })
    }

    /// The question about one object, as `KIND/NAME`.
    pub(in crate::cli) async fn of_one(
        clients: &'a Clients,
        namespace: Option<String>,
        subject: &str,
        thresholds: Thresholds,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let (asked, _) = resolve(&[subject.to_owned()], clients, limit).await?;
        Self::new(clients, namespace, asked, thresholds, limit).await
    }
}

impl Question<'_> {
    pub(in crate::cli) async fn answer(&self, now: Timestamp) -> anyhow::Result<Gathered> {
        let mut gathered = self.gathered(now).await?;
        if self.with_live_counts && matches!(gathered.by, By::Operator | By::OperatorInstead) {
            let namespace = self.namespace.as_deref();
            let ready = ReadyPods::read(&gathered.found, &self.clients.write, namespace, self.limit).await;
            ready.apply(&mut gathered.found);
        }
        Ok(gathered)
    }

    async fn gathered(&self, now: Timestamp) -> anyhow::Result<Gathered> {
        let mut notes = Vec::new();
        // The operator need not read the objects that a custom resource controls, which have the lowest cause.
        let is_better_here = self.asked.includes_custom() && self.gone.is_empty() && !self.ended;
        let is_here = self.here || self.asked.is_of_routes() || is_better_here;
        let written = if is_here { None } else { self.written(&mut notes).await? };
        let mut more = Vec::new();
        let (written, ended) = match written {
            Some(found) if !found.is_empty() && self.is_left_over(now, &mut notes).await => {
                more = self.reported_types(&found).await;
                (None, found.ended())
            }
            written => (written, Found::default()),
        };
        notes.extend(self.deletion_notes(written.as_ref().unwrap_or(&ended))?);
        let Some(written) = written else {
            let seen = self.seen(&more, now, &mut notes).await?;
            let Seen { mut found, pods, unready, fails_so_far, knows_nodes } = seen;
            let healthy_nodes = self.healthy_nodes(&found, knows_nodes);
            if self.ended || found.is_empty() {
                // Ended diagnoses stay valid without a running operator.
                found.add(ended);
            }
            let mut by = By::Here;
            if is_here && !self.here {
                let more = self.written_of_others(&found, now, &mut notes).await;
                if more.fails() {
                    by = By::OperatorInstead;
                    found.add(more);
                }
            }
            return Ok(Gathered { found, by, notes, pods, unready, fails_so_far, healthy_nodes });
        };
        if written.fails() || !written.is_empty() && !self.is_about_one() {
            let written = self.with_names(written, now).await;
            let healthy_nodes = self.healthy_nodes(&written, notes.is_empty());
            return Ok(Gathered {
                found: written,
                by: By::Operator,
                notes,
                pods: 0,
                unready: Vec::new(),
                fails_so_far: false,
                healthy_nodes,
            });
        }
        // No diagnosis is no proof of health: the operator may be stopped or limited to other namespaces.
        let seen = self.seen(&[], now, &mut notes).await?;
        let Seen { found: seen, pods, unready, fails_so_far, knows_nodes } = seen;
        let (found, by) = match seen {
            seen if seen.fails() && self.is_going(&mut notes).await => (seen, By::Here),
            seen if subject::concerns_operator(&seen) => (seen, By::HereInstead),
            seen if seen.fails() => (seen, By::Here),
            // Informational findings are reported only if the object was requested.
            seen if written.is_empty() => (seen, By::Here),
            _ => (written, By::Operator),
        };
        let healthy_nodes = self.healthy_nodes(&found, knows_nodes);
        Ok(Gathered { found, by, notes, pods, unready, fails_so_far, healthy_nodes })
    }

    /// The diagnoses of the operator, which reads no ConfigMaps and Secrets. Where names of existing objects improve the
    /// remedies, these are computed locally.
    async fn with_names(&self, mut written: Found, now: Timestamp) -> Found {
        let reads_names = written.causes().any(rules::reads_names);
        if reads_names
            && self.namespace.is_some()
            && self.is_about_one()
            && let Ok(seen) = self.seen(&[], now, &mut Vec::new()).await
        {
            written.take_remedies(&seen.found, rules::reads_names);
        }
        written
    }

    /// Whether the requested namespace is terminating, so that the operator cannot write diagnoses in it.
    async fn is_going(&self, notes: &mut Vec<String>) -> bool {
        let Some(namespace) = &self.namespace else { return false };
        let is_going =
            matches!(snapshot::namespace(&self.clients.write, namespace, self.limit).await, Ok(Place::Going));
        if is_going {
            notes.push(format!(
                "namespace {namespace} is being deleted: the operator cannot write there; diagnosed locally"
            ));
        }
        is_going
    }

    /// A note for each requested object that does not exist. An error if it has no diagnosis either, because the name
    /// is probably misspelled and must not be reported as healthy.
    pub(in crate::cli) fn deletion_notes(&self, found: &Found) -> anyhow::Result<Vec<String>> {
        let note = |subject: &Subject| {
            let place = self.namespace.as_ref().filter(|_| !subject.kind.is_cluster_scoped());
            let place = place.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
            if !subject.has_diagnosis_in(found) {
                bail!("there is no {subject}{place}");
            }
            Ok(format!("{subject}{place} no longer exists; this is its last diagnosis"))
        };
        self.gone.iter().map(note).collect()
    }

    fn healthy_nodes(&self, found: &Found, knows_nodes: bool) -> Vec<String> {
        if found.is_empty() || !knows_nodes {
            return Vec::new();
        }
        self.asked.healthy_nodes(found).map(ToOwned::to_owned).collect()
    }

    /// Whether the diagnoses are outdated because no operator is running. If Leases cannot be read, the diagnoses are
    /// trusted.
    async fn is_left_over(&self, now: Timestamp, notes: &mut Vec<String>) -> bool {
        match holder::look(&self.clients.write, now, self.limit).await {
            Ok(Operator::Works) | Err(_) => false,
            Ok(operator) => {
                notes.push(format!("{operator}: its diagnoses may be outdated; diagnosed locally"));
                true
            }
        }
    }

    /// Requested objects are shown in full detail. Failing pods of a node may be many.
    pub(super) fn detail(&self, found: &Found) -> Detail {
        match &self.asked {
            Asked::All | Asked::OwnStatus | Asked::Kind(_) => Detail::Short,
            Asked::These(subjects) if subjects.iter().any(|subject| subject.kind == Kind::Node) => {
                Detail::by_size(found.len())
            }
            Asked::These(_) | Asked::Pods(_) => Detail::Full,
        }
    }

    fn is_about_one(&self) -> bool {
        matches!(self.asked, Asked::These(_) | Asked::Pods(_))
    }

    fn includes_nodes(&self) -> bool {
        match &self.asked {
            Asked::All => self.namespace.is_none(),
            Asked::Kind(kind) => *kind == Kind::Node,
            Asked::These(subjects) => subjects.iter().any(|subject| subject.kind == Kind::Node),
            Asked::OwnStatus | Asked::Pods(_) => false,
        }
    }

    /// The diagnoses that the operator wrote. `None`: it is not installed, or its objects cannot be read.
    async fn written(&self, notes: &mut Vec<String>) -> anyhow::Result<Option<Found>> {
        self.written_of(&self.asked, notes).await
    }

    /// The failures that the operator has reported of requested objects, for those of which none is seen locally. It may
    /// know rules of the cluster, or objects of other namespaces. If its diagnoses cannot be read, the local ones stand.
    async fn written_of_others(&self, seen: &Found, now: Timestamp, notes: &mut Vec<String>) -> Found {
        let others: Vec<Subject> =
            self.asked.subjects().iter().filter(|subject| !subject.fails_in(seen)).cloned().collect();
        let asked = match &self.asked {
            Asked::These(_) if others.is_empty() => return Found::default(),
            Asked::These(_) => Asked::These(others),
            Asked::Kind(kind) => Asked::Kind(kind.clone()),
            _ => return Found::default(),
        };
        let Ok(Some(mut written)) = self.written_of(&asked, &mut Vec::new()).await else { return Found::default() };
        written.pods.retain(OfPod::fails);
        written.nodes_and_workloads.retain(OfNodeOrWorkload::fails);
        if written.is_empty() || self.is_left_over(now, notes).await {
            return Found::default();
        }
        written
    }

    async fn written_of(&self, asked: &Asked, notes: &mut Vec<String>) -> anyhow::Result<Option<Found>> {
        let mut all = Restored::default();
        for kind in [DiagnosisKind::Pod, DiagnosisKind::Workload, DiagnosisKind::Node] {
            if kind == DiagnosisKind::Node && !self.includes_nodes() {
                continue;
            }
            match restore::all(&self.clients.write, kind, self.namespace.as_deref()).await {
                Ok(read) => {
                    all.records.extend(read.records);
                }
                Err(RestoreError::NotInstalled) => return Ok(None),
                Err(RestoreError::Failed { failure, .. }) if failure.is_forbidden() => {
                    if kind == DiagnosisKind::Pod {
                        notes.push("not allowed to read the operator's diagnoses; diagnosed locally".to_owned());
                        return Ok(None);
                    }
                    notes.push(format!("not allowed to list {}", kind.plural()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut found = Found::of_records(all.records);
        asked.keep(&mut found, &Below::default());
        if !self.ended && self.includes_nodes() {
            // For a node, the pods that fail there now matter.
            found.pods.retain(|pod| pod.status.head.state == DiagnosisState::Active);
        }
        if !self.ended && !self.is_about_one() {
            found.pods.retain(|pod| pod.status.head.state == DiagnosisState::Active);
            found.nodes_and_workloads.retain(|of| of.object.head().state == DiagnosisState::Active);
        }
        Ok(Some(found))
    }

    /// The types of custom resources in the diagnoses of an operator that has stopped, for a question that includes such
    /// objects. They are optional: without them, these objects are not diagnosed.
    async fn reported_types(&self, written: &Found) -> Vec<ResourceType> {
        let kinds = subject::custom_kinds(written);
        if kinds.is_empty() || !self.with_routes {
            return Vec::new();
        }
        let Ok(types) = discovery::types(&self.clients.write, self.limit).await else { return Vec::new() };
        kinds.iter().filter_map(|(group, kind)| types.of_kind(group, kind)).cloned().collect()
    }

    /// Diagnoses locally, with the permissions of the user. `more` are types of custom resources to include.
    async fn seen(&self, more: &[ResourceType], now: Timestamp, notes: &mut Vec<String>) -> anyhow::Result<Seen> {
        let mut snapshot = self.list(more, &|_| {}).await?;
        let pods = snapshot.dump.pods.iter().filter(|pod| self.is_in_place(&pod.key.namespace)).count();
        let lacking = std::mem::take(&mut snapshot.lacking);
        notes.extend(lacking.iter().map(ToString::to_string));
        let knows_nodes = !lacking.iter().any(|lacking| lacking.what == Kind::Node.plural());
        let mut missing = match &self.asked {
            Asked::These(subjects) => {
                let there: Vec<_> = subjects.iter().filter(|subject| !self.gone.contains(subject)).cloned().collect();
                standing::of(&snapshot.dump, &there, self.namespace.as_deref(), (&self.thresholds, now))
            }
            Asked::All | Asked::OwnStatus | Asked::Kind(_) | Asked::Pods(_) => Vec::new(),
        };
        let Judged { found, undiagnosed, pending } = self.judged(snapshot, now).await;
        missing.extend(standing::of_routes(pending, &self.asked, self.namespace.as_deref(), self.thresholds.language));
        let fails_so_far = missing.iter().any(|one| one.fails_so_far(&undiagnosed));
        let unready = missing.iter().map(|one| one.text(&undiagnosed, (self.thresholds.language, now))).collect();
        // Its pods may fail all the same, but its health is unknown.
        if found.is_empty() {
            let unseen = match &self.asked {
                Asked::These(subjects) => unseen(lacking, subjects).map(|(of, lacking)| (of.to_string(), lacking)),
                Asked::Kind(kind) => {
                    let of_kind = lacking.into_iter().find(|lacking| lacking.what == kind.plural());
                    of_kind.map(|lacking| (format!("any {}", kind.as_str()), lacking))
                }
                Asked::All | Asked::OwnStatus | Asked::Pods(_) => None,
            };
            if let Some((of, Lacking { what, refusal, .. })) = unseen {
                return Err(refusal).context(format!("cannot diagnose {of}: not allowed to list {what}"));
            }
        }
        Ok(Seen { found, pods, unready, fails_so_far, knows_nodes })
    }

    fn is_in_place(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|asked| asked == namespace)
    }

    pub(in crate::cli) async fn snapshot(&self) -> anyhow::Result<Snapshot> {
        self.list(&[], &|_| {}).await
    }

    /// The listed objects as the API server sent them, too.
    pub(in crate::cli) async fn snapshot_with(&self, each: &(dyn Fn(Item<'_>) + Sync)) -> anyhow::Result<Snapshot> {
        self.list(&[], each).await
    }

    async fn list(&self, more: &[ResourceType], each: &(dyn Fn(Item<'_>) + Sync)) -> anyhow::Result<Snapshot> {
        let bar = if self.shows_progress { progress_bar() } else { ProgressBar::hidden() };
        let show = |progress: Progress<'_>| {
            bar.set_length(progress.listed + progress.left);
            bar.set_position(progress.listed);
            bar.set_message(format!("listing {}", progress.plural));
        };
        let (mut requested, parts) = self.asked.custom_types();
        let is_new = |of: &&ResourceType| !self.custom.contains(of);
        requested.extend(self.custom.iter().chain(more.iter().filter(is_new)).cloned());
        let lister = Lister {
            client: &self.clients.watch,
            limit: self.limit,
            without_pods: self.asked.is_without_pods(),
            with_routes: self.with_routes || self.asked.is_of_routes(),
            custom: CustomTypes { requested: &requested, parts: &parts },
            progress: &show,
            each,
        };
        let snapshot = lister.snapshot(self.namespace.as_deref()).await;
        bar.finish_and_clear();
        snapshot.with_context(|| format!("cannot read the cluster at {}", self.clients.server))
    }

    /// Diagnoses a snapshot. If the diagnosis needs names that it does not have, reads them and diagnoses again.
    async fn judged(&self, snapshot: Snapshot, now: Timestamp) -> Judged {
        // A copy of a whole cluster could be large.
        let copy = self.namespace.as_ref().map(|_| (snapshot.dump.clone(), snapshot.has_all_pods));
        let (judged, unknown_names) = self.judge_once(snapshot, now, Below::of);
        let Some((mut dump, has_all_pods)) = copy.filter(|_| !unknown_names.is_empty()) else { return judged };
        let names = self.names(unknown_names).await;
        if names.is_empty() {
            return judged;
        }
        dump.names.extend(names);
        self.judge_once(Snapshot { dump, has_all_pods, ..Snapshot::default() }, now, Below::of).0
    }

    /// Names of objects and keys that a diagnosis needs. Without access there are none, and the remedies stay as they are.
    pub(in crate::cli) async fn names(&self, unknown: BTreeSet<NamesOf>) -> BTreeMap<NamesOf, BTreeSet<Arc<str>>> {
        let mut known = BTreeMap::new();
        for of in unknown {
            if let Ok(names) = snapshot::names(&self.clients.write, &of, self.limit).await {
                known.insert(of, names);
            }
        }
        known
    }

    /// Diagnoses the requested objects in a dump as `shindan diagnose` does. Also returns the names that would improve the
    /// remedies.
    pub(in crate::cli) fn diagnose(
        &self,
        dump: Dump,
        has_all_pods: bool,
        now: Timestamp,
    ) -> (Found, BTreeSet<NamesOf>) {
        let below = Below::of(&dump, &self.asked, self.namespace.as_deref());
        let view = View { has_all_pods, ..View::from(self.thresholds) };
        let report = offline::diagnose(dump, Logs::default(), now, view);
        let mut found = Found::of_writes(report.pods, report.nodes_and_workloads);
        self.keep(&mut found, &below);
        (found, report.unknown_names)
    }

    /// Keeps the diagnoses of the requested objects in the requested namespace.
    fn keep(&self, found: &mut Found, below: &Below) {
        if let Some(namespace) = &self.namespace {
            let includes_nodes = self.includes_nodes();
            found.pods.retain(|pod| self.is_in_place(&pod.key.namespace));
            found.nodes_and_workloads.retain(|of| {
                let place = &of.key.object.namespace;
                **place == **namespace || (place.is_empty() && includes_nodes) || self.asked.names_cluster_scoped(of)
            });
        }
        self.asked.keep(found, below);
    }

    /// Diagnoses a snapshot and keeps the requested objects.
    pub(super) fn judge(&self, snapshot: Snapshot, now: Timestamp) -> Judged {
        self.judge_once(snapshot, now, Below::of_custom).0
    }

    /// Same as [`Self::judge`], with the names that would improve the remedies. `below` finds the objects whose failures
    /// belong to the requested ones.
    fn judge_once(
        &self,
        mut snapshot: Snapshot,
        now: Timestamp,
        below: fn(&Dump, &Asked, Option<&str>) -> Below,
    ) -> (Judged, BTreeSet<NamesOf>) {
        // Failures of replaced pods are reported only if such a pod was requested.
        let includes_replaced = match &self.asked {
            Asked::These(subjects) => subjects.iter().all(|subject| subject.kind == Kind::Pod),
            Asked::All | Asked::OwnStatus | Asked::Kind(_) | Asked::Pods(_) => false,
        };
        let below = below(&snapshot.dump, &self.asked, self.namespace.as_deref());
        let view = View {
            thresholds: self.thresholds,
            has_all_pods: snapshot.has_all_pods,
            includes_replaced,
            includes_unreported: matches!(self.asked, Asked::These(_)),
        };
        let versions = std::mem::take(&mut snapshot.dump.versions);
        let report = offline::diagnose(snapshot.dump, Logs::default(), now, view);
        let mut found = Found::of_writes(report.pods, report.nodes_and_workloads).with_versions(&versions);
        self.keep(&mut found, &below);
        let is_asked = |of: &PendingObject| self.asked.subjects().iter().any(|subject| subject.is_workload(&of.object));
        let mut pending = report.pending;
        pending.retain(|of| self.is_in_place(&of.object.namespace) && is_asked(of));
        (Judged { found, undiagnosed: report.undiagnosed, pending }, report.unknown_names)
    }
}

/// Diagnoses of the requested objects, and pods that have none or none yet.
pub(super) struct Judged {
    pub(super) found: Found,
    pub(super) undiagnosed: Vec<UndiagnosedPod>,
    /// Requested objects on the path of a request whose failure is not reported yet.
    pub(super) pending: Vec<PendingObject>,
}

/// The first requested object whose kind cannot be listed.
pub(super) fn unseen(lacking: Vec<Lacking>, subjects: &[Subject]) -> Option<(&Subject, Lacking)> {
    lacking.into_iter().find_map(|lacking| {
        let subject = subjects.iter().find(|subject| subject.kind.plural() == lacking.what)?;
        Some((subject, lacking))
    })
}

/// Progress on standard error, if it is a terminal. A list of one page ends before it is drawn.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
        bar.set_style(style);
    }
    bar
}

/// Parses the words for objects as kubectl does. The API server is asked for kinds that are not built in. Also returns
/// notes about ambiguous names.
pub(in crate::cli) async fn resolve(
    words: &[String],
    clients: &Clients,
    limit: Duration,
) -> anyhow::Result<(Asked, Vec<String>)> {
    if let Some(asked) = Asked::without_discovery(words).map_err(anyhow::Error::msg)? {
        return Ok((asked, Vec::new()));
    }
    let types =
        discovery::types(&clients.write, limit).await.context("cannot read the resource types of the server")?;
    Asked::parse(words, &types).map_err(anyhow::Error::msg)
}

/// The requested objects that do not exist.
async fn gone(
    client: &Client,
    namespace: Option<&str>,
    subjects: &[Subject],
    limit: Duration,
) -> anyhow::Result<Vec<Subject>> {
    let mut gone = Vec::new();
    for subject in subjects {
        let namespace = namespace.filter(|_| !subject.kind.is_cluster_scoped());
        let is_there = match &subject.kind {
            Kind::Custom(kind) => snapshot::is_custom_there(client, &kind.of, namespace, &subject.name, limit).await,
            kind => snapshot::is_there(client, kind.as_str(), namespace, &subject.name, limit).await,
        };
        match is_there {
            Ok(true) => {}
            Ok(false) => gone.push(subject.clone()),
            // Permission to list does not include permission to get.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure).with_context(|| format!("cannot read {subject}")),
        }
    }
    Ok(gone)
}

/// Checks that the namespace exists, because a misspelled one would have no failures.
pub(in crate::cli) async fn is_place(client: &Client, namespace: &str, limit: Duration) -> anyhow::Result<()> {
    match snapshot::namespace(client, namespace, limit).await {
        Ok(Place::There | Place::Going) => Ok(()),
        Ok(Place::Missing) => bail!("there is no namespace {namespace}"),
        // Permission to list its pods does not include permission to get the namespace.
        Err(failure) if failure.is_forbidden() => Ok(()),
        Err(failure) => Err(failure).with_context(|| format!("cannot read the namespace {namespace}")),
    }
}

/// The pods that match the label selector.
pub(in crate::cli) async fn selected(
    client: &Client,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> anyhow::Result<BTreeSet<ObjectKey>> {
    let keys = snapshot::with(client, Kind::Pod.as_str(), namespace, selector, limit).await;
    let keys = keys.with_context(|| format!("cannot list the pods with the labels {selector}"))?;
    if keys.is_empty() {
        bail!("no pod has the labels {selector}");
    }
    Ok(keys)
}

/// The objects with these labels: of the requested kind, or pods.
pub(super) async fn labelled(
    asked: Asked,
    client: &Client,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> anyhow::Result<Asked> {
    let kind = match asked {
        Asked::Kind(kind) if kind != Kind::Pod => kind,
        _ => return Ok(Asked::Pods(selected(client, namespace, selector, limit).await?)),
    };
    let shown = kind.as_str();
    if namespace.is_none() && !kind.is_cluster_scoped() {
        bail!("the labels of a {shown} need a single namespace: use -n instead of -A");
    }
    let keys = match &kind {
        Kind::Custom(custom) => snapshot::custom_with(client, &custom.of, namespace, selector, limit).await,
        _ => snapshot::with(client, shown, namespace, selector, limit).await,
    };
    let keys = keys.with_context(|| format!("cannot list the {} with the labels {selector}", kind.plural()))?;
    if keys.is_empty() {
        bail!("no {shown} has the labels {selector}");
    }
    let subject = |key: &ObjectKey| Subject { kind: kind.clone(), name: key.name.to_string() };
    Ok(Asked::These(keys.iter().map(subject).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing;
    use super::*;

    fn diagnosis(pod: &str, state: &str) -> Value {
        json!({"metadata": {"namespace": "shop", "name": pod, "uid": "d", "resourceVersion": "1"},
            "spec": {"podName": pod, "podUID": "u"},
            "status": {"state": state, "severity": "Critical", "confidence": "Certain", "cause": "OOMKilled",
                "category": "Crash", "summary": "app is killed", "podStatus": "CrashLoopBackOff"}})
    }

    /// The answer for a namespace where the operator has diagnosed pod web (Active) and pod old (Gone), and web is
    /// healthy.
    async fn answered(leases: Value, refused: &'static [&'static str]) -> (By, Vec<String>, Vec<String>) {
        let answer = answer_of(None, false, leases, refused).await.unwrap();
        let causes = answer.found.pods.iter().map(|pod| pod.status.head.cause.clone()).collect();
        (answer.by, causes, answer.notes)
    }

    async fn answer_of(
        gone: Option<&str>,
        ended: bool,
        leases: Value,
        refused: &'static [&'static str],
    ) -> anyhow::Result<Gathered> {
        let written = json!([diagnosis("web", "Active"), diagnosis("old", "Gone")]);
        let pod = json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-11-21T08:00:00Z"}}}]}}]);
        let clients = testing::clients(&[("pods", pod), ("poddiagnoses", written), ("leases", leases)], refused);
        let question = Question {
            clients: &clients,
            namespace: Some("shop".to_owned()),
            asked: gone.map_or(Asked::All, |name| Asked::These(subjects(name))),
            gone: gone.map(subjects).unwrap_or_default(),
            thresholds: Thresholds::default(),
            limit: Duration::from_secs(5),
            here: false,
            ended,
            with_routes: false,
            custom: Vec::new(),
            with_live_counts: false,
            shows_progress: false,
        };
        question.answer("2026-11-21T09:00:00Z".parse().unwrap()).await
    }

    fn subjects(name: &str) -> Vec<Subject> {
        Asked::without_discovery(&[name.to_owned()]).unwrap().unwrap().subjects().to_vec()
    }

    fn names(answer: &Gathered) -> Vec<&str> {
        answer.found.pods.iter().map(|pod| &*pod.key.name).collect()
    }

    fn renewed(at: &str) -> Value {
        json!([{"metadata": {"namespace": "ops", "name": "shindan"}, "spec": {"holderIdentity": "a", "renewTime": at}}])
    }

    #[tokio::test]
    async fn diagnoses_of_a_stopped_operator_are_replaced_by_local_ones() {
        let written = vec!["OOMKilled".to_owned()];
        let fresh = answered(renewed("2026-11-21T08:59:59.000000Z"), &[]).await;
        assert_eq!(fresh, (By::Operator, written.clone(), vec![]));
        let unknown = answered(json!([]), &["leases"]).await;
        assert_eq!(unknown, (By::Operator, written, vec![]), "without access to Leases the diagnoses are trusted");
        for (leases, state) in [
            (
                renewed("2026-11-21T08:00:00.000000Z"),
                "no operator has renewed its Lease ops/shindan since 2026-11-21T08:00:00Z",
            ),
            (json!([]), "no operator has a Lease shindan in this cluster"),
        ] {
            let (by, causes, notes) = answered(leases, &[]).await;
            assert_eq!((by, causes), (By::Here, vec![]), "{state}");
            assert_eq!(notes, [format!("{state}: its diagnoses may be outdated; diagnosed locally")]);
        }
    }

    #[tokio::test]
    async fn ended_diagnoses_stay_valid_without_an_operator() {
        let all = answer_of(None, true, renewed("2026-11-21T08:59:59Z"), &[]).await.unwrap();
        assert_eq!(names(&all), ["web", "old"]);
        let left = answer_of(None, true, json!([]), &[]).await.unwrap();
        assert_eq!(names(&left), ["old"], "web is healthy");
    }

    /// The first remedy for a pod whose ConfigMap `app-confg` does not exist.
    async fn first_remedy(written: Value, refused: &'static [&'static str]) -> String {
        let pod = json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1",
                "env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app-confg", "key": "mode"}}}]}]},
            "status": {"phase": "Pending", "startTime": "2026-11-21T08:00:00Z", "containerStatuses": [{"name": "app",
                "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "configmap \"app-confg\" not found"}}}]}}]);
        let maps = json!([{"metadata": {"name": "app-config"}}, {"metadata": {"name": "kube-root-ca.crt"}}]);
        let lists = [
            ("pods", pod),
            ("configmaps", maps),
            ("poddiagnoses", written),
            ("leases", renewed("2026-11-21T08:59:59Z")),
        ];
        let clients = testing::clients(&lists, refused);
        let (namespace, asked) = (Some("shop".to_owned()), Asked::These(subjects("pod/web")));
        let (thresholds, limit) = (Thresholds::default().for_snapshot(), Duration::from_secs(5));
        let question = Question {
            gone: Vec::new(),
            ..Question::new(&clients, namespace, asked, thresholds, limit).await.unwrap()
        };
        let answer = question.answer("2026-11-21T09:00:00Z".parse().unwrap()).await.unwrap();
        answer.found.pods[0].status.head.remedies[0].text.clone()
    }

    #[tokio::test]
    async fn the_nearest_name_comes_first_if_the_user_may_read_names() {
        let mut written = diagnosis("web", "Active");
        written["status"]["cause"] = json!("ConfigMapNotFound");
        written["status"]["remedies"] = json!([{"kind": "Fix", "text": "Create ConfigMap app-confg."}]);
        for written in [json!([]), json!([written])] {
            let first = first_remedy(written.clone(), &[]).await;
            assert!(first.starts_with("Use ConfigMap app-config in Pod web"), "{first}");
            let first = first_remedy(written, &["configmaps"]).await;
            assert!(first.starts_with("Create ConfigMap app-confg"), "{first}");
        }
    }

    #[tokio::test]
    async fn a_deleted_object_is_answered_with_its_last_diagnosis() {
        for leases in [renewed("2026-11-21T08:59:59Z"), json!([])] {
            let answer = answer_of(Some("pod/old"), false, leases.clone(), &[]).await.unwrap();
            assert_eq!(names(&answer), ["old"]);
            let note = "Pod old in namespace shop no longer exists; this is its last diagnosis";
            assert!(answer.notes.iter().any(|known| known == note), "{:?}", answer.notes);
            assert_eq!(answer.unready, [""; 0]);
            for other in ["pod/odl", "deploy/old"] {
                let error = answer_of(Some(other), false, leases.clone(), &[]).await.unwrap_err().to_string();
                assert!(error.starts_with("there is no "), "{error}");
            }
        }
    }

    /// Lists with the failing Certificate web, its Challenge, and a Deployment that the Certificate does not control.
    fn certificates() -> Vec<(&'static str, Value)> {
        let resource = |plural: &str, kind: &str| {
            json!({"resource": plural, "singularResource": kind.to_lowercase(), "responseKind": {"kind": kind},
                "scope": "Namespaced", "shortNames": [], "verbs": ["list"]})
        };
        let group = |name: &str, all: Value| json!({"metadata": {"name": name}, "versions": [{"version": "v1", "resources": all}]});
        let apis = json!([
            group("cert-manager.io", json!([resource("certificates", "Certificate")])),
            group("acme.cert-manager.io", json!([resource("challenges", "Challenge")])),
        ]);
        let ready = |status: &str| {
            json!({"conditions": [{"type": "Ready", "status": status, "reason": "DoesNotExist",
            "message": "no Secret", "lastTransitionTime": "2026-11-21T08:30:00Z"}]})
        };
        let meta = |name: &str| {
            json!({"name": name, "namespace": "shop", "uid": name,
            "creationTimestamp": "2026-11-21T08:30:00Z"})
        };
        let mut of_web = meta("web-1");
        of_web["ownerReferences"] = json!([{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "name": "web",
            "uid": "web", "controller": true}]);
        vec![
            ("apis", apis),
            (
                "certificates",
                json!([{"metadata": meta("web"), "status": ready("False")},
                {"metadata": meta("ok"), "status": ready("True")}]),
            ),
            (
                "challenges",
                json!([{"metadata": of_web, "status": {"state": "invalid", "reason": "HTTP status code 404"}}]),
            ),
        ]
    }

    /// The causes of the workloads, or the error, for the words of a command.
    async fn asked(words: &[&str], refused: &'static [&'static str]) -> Result<Vec<String>, String> {
        let clients = testing::clients(&certificates(), refused);
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let limit = Duration::from_secs(5);
        let (asked, _) = resolve(&words, &clients, limit).await.map_err(|e| format!("{e:#}"))?;
        let thresholds = Thresholds::default().for_snapshot();
        let question = Question::new(&clients, Some("shop".to_owned()), asked, thresholds, limit).await.unwrap();
        let answer = question.answer("2026-11-21T09:00:00Z".parse().unwrap()).await.map_err(|e| format!("{e:#}"))?;
        let of = answer.found.nodes_and_workloads.iter();
        Ok(of.map(|of| format!("{} {}", of.key.object.name, of.object.head().cause)).collect())
    }

    #[tokio::test]
    async fn a_custom_resource_has_the_lowest_cause_below_it() {
        let failing = vec!["certificate.cert-manager.io-web AcmeChallengeFailed".to_owned()];
        for words in [&["certificate/web"][..], &["certificates.cert-manager.io", "web", "ok"], &["certificates"]] {
            assert_eq!(asked(words, &[]).await, Ok(failing.clone()), "{words:?}");
            assert_eq!(asked(words, &["pods"]).await, Ok(failing.clone()), "pods are not needed: {words:?}");
        }
        assert_eq!(asked(&["certificate/ok"], &[]).await, Ok(vec![]));
        let without = asked(&["certificate/web"], &["challenges"]).await.unwrap();
        assert_eq!(without, ["certificate.cert-manager.io-web ResourceNotReady"]);
    }

    #[tokio::test]
    async fn a_kind_that_cannot_be_listed_is_an_error() {
        for (words, of) in [(["certificate/web"], "Certificate web"), (["certificates"], "any Certificate")] {
            let error = asked(&words, &["certificates"]).await.unwrap_err();
            let expected =
                format!("cannot diagnose {of}: not allowed to list certificates.cert-manager.io: 403 Forbidden");
            assert!(error.starts_with(&expected), "{error}");
        }
        let error = asked(&["widget/x"], &[]).await.unwrap_err();
        assert!(error.starts_with("the server doesn't have a resource type \"widget\"; the kinds are pod,"), "{error}");
    }
}
