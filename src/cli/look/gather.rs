//! Where the answer comes from: what the operator has written, or what is diagnosed here and now.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kube::Client;

use super::standing;
use super::subject::{Asked, Kind, Subject};
use crate::api::{DiagnosisKind, DiagnosisState};
use crate::cli::found::Found;
use crate::cli::offline::{self, Logs, Untold, View};
use crate::cli::tree::Detail;
use crate::cluster::client::Clients;
use crate::cluster::lease::holder::{self, Operator};
use crate::cluster::restore::{self, RestoreError, Restored};
use crate::cluster::snapshot::{self, Lacking, Lister, Place, Progress, Snapshot};
use crate::diagnosis::Thresholds;
use crate::facts::{ObjectKey, Timestamp};

/// Who worked it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum By {
    Operator,
    /// The operator is installed, and has not told of it.
    HereInstead,
    Here,
}

#[derive(Debug)]
pub(in crate::cli) struct Gathered {
    pub(in crate::cli) found: Found,
    pub(in crate::cli) by: By,
    /// What could not be read, and what that means.
    pub(in crate::cli) notes: Vec<String>,
    /// Pods that were looked at here, those that are well as well.
    pub(in crate::cli) pods: usize,
    /// What is asked about and does not fail, but is not ready: how it stands, and from when on that counts.
    pub(in crate::cli) unready: Vec<String>,
    /// Nodes that are asked about and may be looked at, and of which nothing is told but pods that fail there.
    pub(in crate::cli) well_nodes: Vec<String>,
}

/// What was found here and now.
struct Seen {
    found: Found,
    pods: usize,
    unready: Vec<String>,
    knows_nodes: bool,
}

/// What is to be found out, and how.
pub(in crate::cli) struct Question<'a> {
    pub(in crate::cli) clients: &'a Clients,
    /// All where `None`.
    pub(in crate::cli) namespace: Option<String>,
    pub(in crate::cli) asked: Asked,
    /// Of what is asked about that which is not there: something may have been told of it.
    pub(in crate::cli) gone: Vec<Subject>,
    pub(in crate::cli) thresholds: Thresholds,
    pub(in crate::cli) limit: Duration,
    /// Whatever the operator has written.
    pub(in crate::cli) here: bool,
    pub(in crate::cli) ended: bool,
    /// On standard error.
    pub(in crate::cli) shows_progress: bool,
}

impl Question<'_> {
    pub(in crate::cli) async fn answer(&self, now: Timestamp) -> anyhow::Result<Gathered> {
        let mut notes = Vec::new();
        let told = if self.here { None } else { self.told(&mut notes).await? };
        let (told, ended) = match told {
            Some(found) if !found.is_empty() && self.is_left_over(now, &mut notes).await => (None, found.ended()),
            told => (told, Found::default()),
        };
        notes.extend(self.obituaries(told.as_ref().unwrap_or(&ended))?);
        let Some(told) = told else {
            let Seen { mut found, pods, unready, knows_nodes } = self.seen(now, &mut notes).await?;
            let well_nodes = self.well_nodes(&found, knows_nodes);
            if self.ended || found.is_empty() {
                // What has ended stays true, also where nobody keeps it.
                found.add(ended);
            }
            return Ok(Gathered { found, by: By::Here, notes, pods, unready, well_nodes });
        };
        if told.fails() || !told.is_empty() && !self.is_about_one() {
            let well_nodes = self.well_nodes(&told, notes.is_empty());
            let (by, unready) = (By::Operator, Vec::new());
            return Ok(Gathered { found: told, by, notes, pods: 0, unready, well_nodes });
        }
        // Silence is no proof: it may be stopped, or be for other namespaces.
        let Seen { found: seen, pods, unready, knows_nodes } = self.seen(now, &mut notes).await?;
        let (found, by) = match seen {
            seen if seen.fails() && self.is_going(&mut notes).await => (seen, By::Here),
            seen if seen.fails() => (seen, By::HereInstead),
            // What is no failure is told to who asks for it only.
            seen if told.is_empty() => (seen, By::Here),
            _ => (told, By::Operator),
        };
        let well_nodes = self.well_nodes(&found, knows_nodes);
        Ok(Gathered { found, by, notes, pods, unready, well_nodes })
    }

    /// Whether nothing can be told in the namespace that is asked about, as it is being deleted.
    async fn is_going(&self, notes: &mut Vec<String>) -> bool {
        let Some(namespace) = &self.namespace else { return false };
        let is_going =
            matches!(snapshot::namespace(&self.clients.write, namespace, self.limit).await, Ok(Place::Going));
        if is_going {
            notes.push(format!(
                "namespace {namespace} is being deleted: nothing can be written there, so the operator tells nothing; diagnosed here"
            ));
        }
        is_going
    }

    /// Of each that is not there any more that it is not. One of which nothing was told either was never there: an answer about
    /// a name that was mistyped would be `well`.
    pub(super) fn obituaries(&self, told: &Found) -> anyhow::Result<Vec<String>> {
        let says = |subject: &Subject| {
            let place = self.namespace.as_ref().filter(|_| subject.kind != Kind::Node);
            let place = place.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
            if !subject.is_told_of(told) {
                bail!("there is no {subject}{place}");
            }
            Ok(format!("there is no {subject}{place} any more; this was told of it"))
        };
        self.gone.iter().map(says).collect()
    }

    fn well_nodes(&self, found: &Found, knows_nodes: bool) -> Vec<String> {
        if found.is_empty() || !knows_nodes {
            return Vec::new();
        }
        self.asked.well_nodes(found).map(ToOwned::to_owned).collect()
    }

    /// Whether what was told stands there though nobody keeps it true any more. Who may not read Leases has to trust it.
    async fn is_left_over(&self, now: Timestamp, notes: &mut Vec<String>) -> bool {
        match holder::look(&self.clients.write, now, self.limit).await {
            Ok(Operator::Works) | Err(_) => false,
            Ok(operator) => {
                notes.push(format!("{operator}: what it has told may be old; diagnosed here"));
                true
            }
        }
    }

    /// What is asked about is told in full; what suffers of a node may be much.
    pub(super) fn detail(&self, found: &Found) -> Detail {
        match &self.asked {
            Asked::All | Asked::Kind(_) => Detail::Short,
            Asked::These(subjects) if subjects.iter().any(|subject| subject.kind == Kind::Node) => {
                Detail::by_size(found.len())
            }
            Asked::These(_) | Asked::Pods(_) => Detail::Full,
        }
    }

    fn asks_for_several(&self) -> bool {
        matches!(&self.asked, Asked::These(subjects) if subjects.len() > 1)
    }

    fn is_about_one(&self) -> bool {
        !matches!(self.asked, Asked::All | Asked::Kind(_))
    }

    fn wants_nodes(&self) -> bool {
        match &self.asked {
            Asked::All => self.namespace.is_none(),
            Asked::Kind(kind) => *kind == Kind::Node,
            Asked::These(subjects) => subjects.iter().any(|subject| subject.kind == Kind::Node),
            Asked::Pods(_) => false,
        }
    }

    /// What the operator has written; `None` where it has not been installed, or may not be read.
    async fn told(&self, notes: &mut Vec<String>) -> anyhow::Result<Option<Found>> {
        let mut all = Restored::default();
        for kind in [DiagnosisKind::Pod, DiagnosisKind::Workload, DiagnosisKind::Node] {
            if kind == DiagnosisKind::Node && !self.wants_nodes() {
                continue;
            }
            match restore::all(&self.clients.write, kind, self.namespace.as_deref()).await {
                Ok(read) => {
                    all.objects.extend(read.objects);
                    all.outers.extend(read.outers);
                }
                Err(RestoreError::NotInstalled) => return Ok(None),
                Err(RestoreError::Failed { failure, .. }) if failure.is_forbidden() => {
                    if kind == DiagnosisKind::Pod {
                        notes.push("not allowed to read the operator's diagnoses: diagnosed here".to_owned());
                        return Ok(None);
                    }
                    notes.push(format!("not allowed to list {}", kind.plural()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut found = Found::of(all.objects, all.outers);
        self.asked.keep(&mut found);
        if !self.ended && self.wants_nodes() {
            // Who asks about a node asks what suffers there now.
            found.pods.retain(|pod| pod.status.state == DiagnosisState::Active);
        }
        if !self.ended && !self.is_about_one() {
            found.pods.retain(|pod| pod.status.state == DiagnosisState::Active);
            found.outers.retain(|of| of.object.head().state == DiagnosisState::Active);
        }
        Ok(Some(found))
    }

    /// What is found here and now, with the rights of whoever asks.
    async fn seen(&self, now: Timestamp, notes: &mut Vec<String>) -> anyhow::Result<Seen> {
        let mut snapshot = self.snapshot().await?;
        let pods = snapshot.dump.pods.iter().filter(|pod| self.is_in_place(&pod.key.namespace)).count();
        let lacking = std::mem::take(&mut snapshot.lacking);
        notes.extend(lacking.iter().map(ToString::to_string));
        let knows_nodes = !lacking.iter().any(|lacking| lacking.what == Kind::Node.plural());
        let missing = match &self.asked {
            Asked::These(subjects) => {
                let there: Vec<_> = subjects.iter().filter(|subject| !self.gone.contains(subject)).cloned().collect();
                standing::of(&snapshot.dump, &there, self.namespace.as_deref(), self.thresholds.language)
            }
            Asked::All | Asked::Kind(_) | Asked::Pods(_) => Vec::new(),
        };
        let Judged { found, untold } = self.judge(snapshot, now);
        let unready = missing
            .iter()
            .map(|one| one.told(self.asks_for_several(), &untold, (self.thresholds.language, now)))
            .collect();
        // Its pods may fail all the same; but that it is well nobody has seen.
        if found.is_empty()
            && let Asked::These(subjects) = &self.asked
            && let Some((subject, Lacking { what, refusal, .. })) = unseen(lacking, subjects)
        {
            return Err(refusal).context(format!("cannot tell of {subject}: not allowed to list {what}"));
        }
        Ok(Seen { found, pods, unready, knows_nodes })
    }

    fn is_in_place(&self, namespace: &str) -> bool {
        self.namespace.as_ref().is_none_or(|asked| asked == namespace)
    }

    pub(super) async fn snapshot(&self) -> anyhow::Result<Snapshot> {
        let bar = if self.shows_progress { progress_bar() } else { ProgressBar::hidden() };
        let show = |progress: Progress<'_>| {
            bar.set_length(progress.listed + progress.left);
            bar.set_position(progress.listed);
            bar.set_message(format!("listing {}", progress.plural));
        };
        let of_nodes = match &self.asked {
            Asked::Kind(kind) => *kind == Kind::Node,
            Asked::These(subjects) => subjects.iter().all(|subject| subject.kind == Kind::Node),
            Asked::All | Asked::Pods(_) => false,
        };
        let lister = Lister { client: &self.clients.watch, limit: self.limit, of_nodes, progress: &show };
        let snapshot = lister.snapshot(self.namespace.as_deref()).await;
        bar.finish_and_clear();
        snapshot.with_context(|| format!("cannot look at the cluster at {}", self.clients.server))
    }

    /// What is asked about, as a snapshot shows it.
    pub(super) fn judge(&self, snapshot: Snapshot, now: Timestamp) -> Judged {
        // Of a pod that was replaced nobody wants to hear, but who asks for it.
        let tells_replaced = match &self.asked {
            Asked::These(subjects) => subjects.iter().all(|subject| subject.kind == Kind::Pod),
            Asked::All | Asked::Kind(_) | Asked::Pods(_) => false,
        };
        let view = View { thresholds: self.thresholds, has_all_pods: snapshot.has_all_pods, tells_replaced };
        let report = offline::diagnose(snapshot.dump, Logs::default(), now, view);
        let mut found = Found::of(report.objects, report.outers);
        if let Some(namespace) = &self.namespace {
            let wants_nodes = self.wants_nodes();
            found.pods.retain(|pod| self.is_in_place(&pod.key.namespace));
            found.outers.retain(|of| {
                let of = &of.key.object.namespace;
                **of == **namespace || (of.is_empty() && wants_nodes)
            });
        }
        self.asked.keep(&mut found);
        Judged { found, untold: report.untold }
    }
}

/// What is wrong with what is asked about, and the pods of which nothing is told, or not yet.
pub(super) struct Judged {
    pub(super) found: Found,
    pub(super) untold: Vec<Untold>,
}

/// What is asked about and may not be listed.
pub(super) fn unseen(lacking: Vec<Lacking>, subjects: &[Subject]) -> Option<(&Subject, Lacking)> {
    lacking.into_iter().find_map(|lacking| {
        let subject = subjects.iter().find(|subject| subject.kind.plural() == lacking.what)?;
        Some((subject, lacking))
    })
}

/// On standard error, where that is a terminal; a list of one page is over before it is drawn.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
        bar.set_style(style);
    }
    bar
}

/// Those that are not there.
pub(super) async fn gone(
    client: &Client,
    namespace: Option<&str>,
    subjects: &[Subject],
    limit: Duration,
) -> anyhow::Result<Vec<Subject>> {
    let mut gone = Vec::new();
    for subject in subjects {
        let namespace = namespace.filter(|_| subject.kind != Kind::Node);
        match snapshot::is_there(client, subject.kind.as_str(), namespace, &subject.name, limit).await {
            Ok(true) => {}
            Ok(false) => gone.push(subject.clone()),
            // Whoever may list it may not always read one.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure).with_context(|| format!("cannot read {subject}")),
        }
    }
    Ok(gone)
}

/// There is a namespace of this name: nothing fails in one that was mistyped.
pub(super) async fn is_place(client: &Client, namespace: &str, limit: Duration) -> anyhow::Result<()> {
    match snapshot::namespace(client, namespace, limit).await {
        Ok(Place::There | Place::Going) => Ok(()),
        Ok(Place::Missing) => bail!("there is no namespace {namespace}"),
        // Whoever may list its pods may not always read it.
        Err(failure) if failure.is_forbidden() => Ok(()),
        Err(failure) => Err(failure).with_context(|| format!("cannot read the namespace {namespace}")),
    }
}

/// The pods that carry these labels.
pub(super) async fn selected(
    client: &Client,
    namespace: Option<&str>,
    selector: &str,
    limit: Duration,
) -> anyhow::Result<BTreeSet<ObjectKey>> {
    let keys = snapshot::pods_with(client, namespace, selector, limit).await;
    let keys = keys.with_context(|| format!("cannot list the pods with the labels {selector}"))?;
    if keys.is_empty() {
        bail!("no pod has the labels {selector}");
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing;
    use super::*;

    fn told(pod: &str, state: &str) -> Value {
        json!({"metadata": {"namespace": "shop", "name": pod, "uid": "d", "resourceVersion": "1"},
            "spec": {"podName": pod, "podUID": "u"},
            "status": {"state": state, "severity": "Critical", "confidence": "Certain", "cause": "OOMKilled",
                "category": "Crash", "summary": "app is killed", "podStatus": "CrashLoopBackOff"}})
    }

    /// What is answered of a namespace in which the operator has told that pod web fails and pod old has, and web is well.
    async fn answered(leases: Value, refused: &'static [&'static str]) -> (By, Vec<String>, Vec<String>) {
        let answer = answer_of(None, false, leases, refused).await.unwrap();
        let causes = answer.found.pods.iter().map(|pod| pod.status.cause.clone()).collect();
        (answer.by, causes, answer.notes)
    }

    async fn answer_of(
        gone: Option<&str>,
        ended: bool,
        leases: Value,
        refused: &'static [&'static str],
    ) -> anyhow::Result<Gathered> {
        let told = json!([told("web", "Active"), told("old", "Gone")]);
        let pod = json!([{"metadata": {"namespace": "shop", "name": "web", "uid": "u"},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": "app:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-11-21T08:00:00Z"}}}]}}]);
        let clients = testing::clients(&[("pods", pod), ("poddiagnoses", told), ("leases", leases)], refused);
        let question = Question {
            clients: &clients,
            namespace: Some("shop".to_owned()),
            asked: gone.map_or(Asked::All, |name| Asked::These(subjects(name))),
            gone: gone.map(subjects).unwrap_or_default(),
            thresholds: Thresholds::default(),
            limit: Duration::from_secs(5),
            here: false,
            ended,
            shows_progress: false,
        };
        question.answer("2026-11-21T09:00:00Z".parse().unwrap()).await
    }

    fn subjects(name: &str) -> Vec<Subject> {
        Subject::parse_all(&[name.to_owned()]).unwrap()
    }

    fn names(answer: &Gathered) -> Vec<&str> {
        answer.found.pods.iter().map(|pod| &*pod.key.name).collect()
    }

    fn renewed(at: &str) -> Value {
        json!([{"metadata": {"namespace": "ops", "name": "shindan"}, "spec": {"holderIdentity": "a", "renewTime": at}}])
    }

    #[tokio::test]
    async fn what_an_operator_has_told_that_is_gone_is_looked_at_again() {
        let told = vec!["OOMKilled".to_owned()];
        let fresh = answered(renewed("2026-11-21T08:59:59.000000Z"), &[]).await;
        assert_eq!(fresh, (By::Operator, told.clone(), vec![]));
        let unknown = answered(json!([]), &["leases"]).await;
        assert_eq!(unknown, (By::Operator, told, vec![]), "who may not know has to trust it");
        for (leases, said) in [
            (
                renewed("2026-11-21T08:00:00.000000Z"),
                "no operator has renewed its Lease ops/shindan since 2026-11-21T08:00:00Z",
            ),
            (json!([]), "no operator has a Lease shindan in this cluster"),
        ] {
            let (by, causes, notes) = answered(leases, &[]).await;
            assert_eq!((by, causes), (By::Here, vec![]), "{said}");
            assert_eq!(notes, [format!("{said}: what it has told may be old; diagnosed here")]);
        }
    }

    #[tokio::test]
    async fn what_has_ended_stays_true_though_no_operator_keeps_it() {
        let all = answer_of(None, true, renewed("2026-11-21T08:59:59Z"), &[]).await.unwrap();
        assert_eq!(names(&all), ["web", "old"]);
        let left = answer_of(None, true, json!([]), &[]).await.unwrap();
        assert_eq!(names(&left), ["old"], "web is well by now");
    }

    #[tokio::test]
    async fn what_is_gone_is_answered_for_by_what_was_told_of_it() {
        for leases in [renewed("2026-11-21T08:59:59Z"), json!([])] {
            let answer = answer_of(Some("pod/old"), false, leases.clone(), &[]).await.unwrap();
            assert_eq!(names(&answer), ["old"]);
            let note = "there is no Pod old in namespace shop any more; this was told of it";
            assert!(answer.notes.iter().any(|known| known == note), "{:?}", answer.notes);
            assert_eq!(answer.unready, [""; 0]);
            for other in ["pod/odl", "deploy/old"] {
                let error = answer_of(Some(other), false, leases.clone(), &[]).await.unwrap_err().to_string();
                assert!(error.starts_with("there is no "), "{error}");
            }
        }
    }
}
