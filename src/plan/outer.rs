//! The life of a diagnosis of what pods live in: a node, or a workload.
//!
//! It is simpler than a pod's. What fails is judged anew each time, and whoever judges says by itself when it is over
//! (a flapping node is not, though it is Ready); here it is only told, once a transition.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Action, Announcement, DiagnosisKey, Intent, Plan, Policy, Reference, compose, conditions};
use crate::api::{
    API_VERSION, DiagnosisKind, DiagnosisState, Head, NodeDiagnosis, NodeDiagnosisSpec, NodeDiagnosisStatus, RootReach,
    WorkloadDiagnosis, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus, short_hash,
};
use crate::diagnosis::Language;
use crate::facts::{ObjectKey, Timestamp, after, seconds_between};

/// The most bytes of an object without its metadata.
const CONTENT_MAX: usize = 7 * 1024;

/// The diagnosis of a node or of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outer {
    Node(NodeDiagnosisSpec, NodeDiagnosisStatus),
    Workload(WorkloadDiagnosisSpec, WorkloadDiagnosisStatus),
}

/// One to be applied whole.
#[derive(Debug, Clone, PartialEq)]
pub struct OuterWrite {
    pub key: DiagnosisKey,
    pub object: Outer,
    /// The version that this replaces. `None`: it does not exist yet.
    pub resource_version: Option<String>,
    /// Posted after the write is acknowledged.
    pub announcement: Option<Announcement>,
}

/// What the cluster holds of one, as last acknowledged. Like a [`super::Record`], serializable without its names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OuterRecord {
    #[serde(skip, default = "nobody")]
    pub key: DiagnosisKey,
    #[serde(skip)]
    pub uid: String,
    #[serde(skip)]
    pub resource_version: String,
    pub object: Outer,
    /// When it was last written by us; after a restart, when it last changed.
    pub written_at: Timestamp,
    /// The causes that this episode was put down to so far: those that take turns are told once each.
    pub told: Vec<String>,
    /// The cause that the last Warning Event named: of this episode, or of an earlier one that this one followed in
    /// silence.
    pub announced: Option<String>,
}

fn nobody() -> DiagnosisKey {
    DiagnosisKey::of_node("")
}

/// What is wrong now, and how it is to be told.
#[derive(Debug)]
pub struct Failing {
    /// Its head's book-keeping (state, transition, times, conditions) is filled in here.
    pub object: Outer,
    /// No Warning Event is owed.
    pub quiet: bool,
    /// What makes it worse now is told elsewhere.
    pub worse_is_told: bool,
    /// The same failure within so many seconds of its end is not announced again.
    pub same_failure_quiet: i64,
}

impl Outer {
    pub fn head(&self) -> &Head {
        match self {
            Self::Node(_, status) => &status.head,
            Self::Workload(_, status) => &status.head,
        }
    }

    pub fn head_mut(&mut self) -> &mut Head {
        match self {
            Self::Node(_, status) => &mut status.head,
            Self::Workload(_, status) => &mut status.head,
        }
    }

    pub fn kind(&self) -> DiagnosisKind {
        match self {
            Self::Node(..) => DiagnosisKind::Node,
            Self::Workload(..) => DiagnosisKind::Workload,
        }
    }

    pub fn labels(&self) -> BTreeMap<String, String> {
        match self {
            Self::Node(_, status) => NodeDiagnosis::labels_of(status),
            Self::Workload(spec, status) => WorkloadDiagnosis::labels_of(spec, status),
        }
    }

    /// The UID of what it is about.
    pub fn subject_uid(&self) -> &str {
        match self {
            Self::Node(spec, _) => &spec.node_uid,
            Self::Workload(spec, _) => &spec.workload_uid,
        }
    }

    /// The Event of this transition is there.
    pub fn announced(&mut self, transition: u32) {
        let head = self.head_mut();
        if head.transition == transition {
            head.event_owed = false;
        }
    }

    /// Nobody will post an Event for it.
    pub fn without_event(&mut self) {
        let head = self.head_mut();
        head.event_owed = false;
        head.announced = false;
    }

    /// The node or the workload, for an Event about it.
    fn regarding(&self, key: &DiagnosisKey) -> Reference {
        let uid = Some(self.subject_uid().to_owned()).filter(|uid| !uid.is_empty());
        match self {
            Self::Node(spec, _) => Reference {
                api_version: "v1".into(),
                kind: "Node".into(),
                key: ObjectKey::new("", spec.node_name.as_str()),
                uid,
            },
            Self::Workload(spec, _) => Reference {
                api_version: spec.workload.api_version.clone().into(),
                kind: spec.workload.kind.clone().into(),
                key: ObjectKey::new(key.object.namespace.clone(), spec.workload.name.as_str()),
                uid,
            },
        }
    }

    /// Whether it says the same as another but for what changes all the time: words, moments and how many suffer.
    fn says_the_same(&self, other: &Self) -> bool {
        self.gist() == other.gist()
    }

    fn gist(&self) -> Self {
        let mut gist = self.clone();
        let head = gist.head_mut();
        head.summary.clear();
        head.remedies.clear();
        head.conditions.clear();
        for evidence in &mut head.evidence {
            evidence.value.clear();
            evidence.time = None;
        }
        match &mut gist {
            Self::Node(_, status) => {
                status.last_words = None;
                status.pods = 0;
                status.affected.clear();
                status.affected_beside = 0;
                status.other_findings.iter_mut().for_each(|other| other.summary.clear());
                status.ready_history.iter_mut().for_each(|change| change.message.clear());
            }
            Self::Workload(_, status) => {
                status.folded_events = 0;
                // That others fail of it as well is worth telling soon; how many, later.
                let shared = |reach: RootReach| RootReach {
                    workloads: reach.workloads.min(2),
                    root: reach.root,
                    ..RootReach::default()
                };
                status.root = status.root.take().map(shared);
                if let Some(serving) = &mut status.serving {
                    serving.services.iter_mut().for_each(|service| service.ready_endpoints = 0);
                }
                for template in &mut status.templates {
                    (template.restarts, template.last_failure) = (0, None);
                }
            }
        }
        gist
    }

    /// Cuts what is longest until it fits, and says how much was cut.
    fn shrink(&mut self) {
        while self.size() > CONTENT_MAX {
            let cut = match self {
                Self::Node(_, status) => {
                    if status.ready_history.len() > 4 {
                        Some(status.ready_history.remove(0)).is_some()
                    } else {
                        status.affected_beside += u32::from(!status.affected.is_empty());
                        status.affected.pop().is_some()
                    }
                }
                Self::Workload(_, status) => {
                    status.template_changes.pop().is_some()
                        || (status.templates.len() > 1 && Some(status.templates.remove(0)).is_some())
                }
            };
            let head = self.head_mut();
            let patch = head.remedies.iter_mut().rev().find(|remedy| !cut && remedy.patch.is_some());
            if let Some(remedy) = patch {
                remedy.patch = None;
            } else if !cut && head.evidence.len() > 1 {
                head.evidence.pop();
            } else if !cut && !self.names_fewer() && self.head_mut().remedies.pop().is_none() {
                return;
            }
            self.head_mut().truncated += 1;
        }
    }

    /// Leaves out one of what it names beside its cause; whether there was any.
    fn names_fewer(&mut self) -> bool {
        match self {
            Self::Node(_, status) => {
                status.other_findings.pop().is_some() || status.daemon_sets_missing.pop().is_some()
            }
            Self::Workload(_, status) => {
                let services = status.serving.as_mut().and_then(|serving| serving.services.pop());
                services.is_some() || (status.causes.len() > 1 && status.causes.pop().is_some())
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Node(_, status) => super::size_of(status),
            Self::Workload(_, status) => super::size_of(status),
        }
    }
}

impl OuterRecord {
    /// What is there once a write is acknowledged.
    pub fn after(
        last: Option<&Self>,
        write: &OuterWrite,
        uid: String,
        resource_version: String,
        now: Timestamp,
    ) -> Self {
        let mut told = last.filter(|record| record.is_active()).map(|record| record.told.clone()).unwrap_or_default();
        let cause = &write.object.head().cause;
        if !told.contains(cause) {
            told.push(cause.clone());
        }
        let before = last.and_then(|record| record.announced.clone());
        let announced = write.announcement.as_ref().filter(|event| event.warning).map(|_| cause.clone()).or(before);
        let object = write.object.clone();
        Self { key: write.key.clone(), uid, resource_version, object, written_at: now, told, announced }
    }

    pub fn is_active(&self) -> bool {
        self.object.head().state == DiagnosisState::Active
    }
}

/// Plans for what fails now.
pub fn failing(
    key: &DiagnosisKey,
    last: Option<&OuterRecord>,
    failing: Failing,
    policy: &Policy,
    now: Timestamp,
) -> Plan {
    let Failing { mut object, quiet, worse_is_told, same_failure_quiet } = failing;
    let active = last.filter(|record| record.is_active() && record.object.subject_uid() == object.subject_uid());
    let Some(record) = active else {
        let before = last.map(|record| record.object.head());
        let told_lately = last.filter(|record| !record.is_active()).is_some_and(|ended| {
            let (head, cause) = (ended.object.head(), &object.head().cause);
            let lately = head.last_transition.is_some_and(|at| seconds_between(at, now) < same_failure_quiet);
            let is_same = head.cause == *cause && ended.announced.as_ref() == Some(cause);
            lately && is_same && head.severity <= object.head().severity
        });
        let head = object.head_mut();
        head.transition = before.map_or(0, |head| head.transition);
        head.first_seen = head.first_seen.map_or(now, |at| at.min(now)).into();
        return transition(key, last, object, DiagnosisState::Active, !quiet && !told_lately, policy.language, now);
    };
    let before = record.object.head();
    let head = object.head_mut();
    // The worst that it was, until it is over.
    let is_worse = head.severity < before.severity;
    head.severity = head.severity.min(before.severity);
    head.first_seen = before.first_seen;
    head.transition = before.transition;
    head.announced = before.announced;
    head.last_transition = before.last_transition;
    if head.cause != before.cause || is_worse {
        let is_news = (is_worse && !worse_is_told) || !record.told.contains(&head.cause);
        return transition(key, last, object, DiagnosisState::Active, !quiet && is_news, policy.language, now);
    }
    head.state = DiagnosisState::Active;
    head.event_owed = before.event_owed;
    let pause = if object.says_the_same(&record.object) { policy.impact_interval } else { policy.minor_interval };
    let object = finished(object, Some(record), now);
    if object == record.object {
        return Plan::default();
    }
    let due = after(record.written_at, pause);
    if now < due { Plan::wake(due) } else { write(key, last, object, None) }
}

/// Plans for what does not fail, or not any more.
pub fn well(last: Option<&OuterRecord>, policy: &Policy, now: Timestamp) -> Plan {
    over(last, |_| {}, true, policy, now)
}

/// The same where more is known: `tell` says how it stands now, and of what it is well nobody is told without `announce`.
pub fn over(
    last: Option<&OuterRecord>,
    tell: impl FnOnce(&mut Outer),
    announce: bool,
    policy: &Policy,
    now: Timestamp,
) -> Plan {
    match last {
        Some(record) if record.is_active() => {
            let mut object = record.object.clone();
            tell(&mut object);
            let announce = announce && object.head().announced;
            transition(&record.key, last, object, DiagnosisState::Recovered, announce, policy.language, now)
        }
        last => ended(last, policy, now),
    }
}

/// Plans for what is not there any more: it ends without an Event.
pub fn gone(last: Option<&OuterRecord>, policy: &Policy, now: Timestamp) -> Plan {
    match last {
        Some(record) if record.is_active() => {
            transition(&record.key, last, record.object.clone(), DiagnosisState::Gone, false, policy.language, now)
        }
        last => ended(last, policy, now),
    }
}

fn ended(last: Option<&OuterRecord>, policy: &Policy, now: Timestamp) -> Plan {
    let Some(record) = last else { return Plan::default() };
    let due = after(record.object.head().last_transition.unwrap_or(record.written_at), policy.retention);
    if now < due {
        return Plan::wake(due);
    }
    Plan { intent: Some(removed(record)), wake: None }
}

/// Plans for what nobody wants to be told of: it has not recovered, so its object goes in silence where it is Active. One that
/// tells of an earlier failure stays its time.
pub fn unwanted(last: Option<&OuterRecord>, policy: &Policy, now: Timestamp) -> Plan {
    match last.filter(|record| record.is_active()) {
        Some(active) => Plan { intent: Some(removed(active)), wake: None },
        None => ended(last, policy, now),
    }
}

/// Plans for what nothing is told of any more, in whatever state it is.
pub fn left_out(last: Option<&OuterRecord>) -> Plan {
    Plan { intent: last.map(removed), wake: None }
}

/// It is kept no longer.
fn removed(record: &OuterRecord) -> Intent {
    Intent::Delete { key: record.key.clone(), resource_version: record.resource_version.clone() }
}

/// The Event that a record still owes after a restart, unless that was so long ago that it would only confuse.
pub fn owed(record: &OuterRecord, language: Language, now: Timestamp) -> Option<Announcement> {
    let head = record.object.head();
    let age = seconds_between(head.last_transition?, now);
    (head.event_owed && age < super::WORTH_TELLING)
        .then(|| announcement(language, &record.key, &record.object, action(head), record.announced.as_deref()))
}

/// The name of the Event of an object's last transition.
pub fn event_key(key: &DiagnosisKey, object: &Outer) -> ObjectKey {
    let (head, regarding) = (object.head(), object.regarding(key));
    let time = head.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
    let identity = format!("{}/{}/{}", object.subject_uid(), head.transition, time.as_second());
    compose::event_name(regarding.namespace(), &regarding.key.name, &short_hash(&identity))
}

/// A write that puts an object back as it was last acknowledged.
pub fn repaired(record: &OuterRecord, resource_version: Option<String>) -> Intent {
    Intent::ApplyOuter(Box::new(OuterWrite {
        key: record.key.clone(),
        object: record.object.clone(),
        resource_version,
        announcement: None,
    }))
}

fn action(head: &Head) -> Action {
    match (head.state, head.transition) {
        (DiagnosisState::Recovered, _) => Action::Recovered,
        (_, 1) => Action::Diagnosed,
        _ => Action::Changed,
    }
}

fn transition(
    key: &DiagnosisKey,
    last: Option<&OuterRecord>,
    mut object: Outer,
    state: DiagnosisState,
    announce: bool,
    language: Language,
    now: Timestamp,
) -> Plan {
    let head = object.head_mut();
    head.state = state;
    head.transition += 1;
    head.last_transition = Some(now);
    head.event_owed = announce;
    head.announced |= announce;
    let object = finished(object, last, now);
    // To those who read Events, what nobody was told of yet begins now.
    let begins = last.is_none_or(|record| !record.is_active() || !record.object.head().announced);
    let action = match state {
        DiagnosisState::Recovered => Action::Recovered,
        _ if begins => Action::Diagnosed,
        _ => Action::Changed,
    };
    let before = last.and_then(|record| record.announced.as_deref());
    let told = announce.then(|| announcement(language, key, &object, action, before));
    write(key, last, object, told)
}

/// Conditions and size: what every write has in common.
fn finished(mut object: Outer, last: Option<&OuterRecord>, now: Timestamp) -> Outer {
    let gone = match object {
        Outer::Node(..) => "NodeDeleted",
        Outer::Workload(..) => "WorkloadDeleted",
    };
    let previous = last.map(|record| record.object.head().conditions.clone()).unwrap_or_default();
    let head = object.head_mut();
    let told = conditions::Told { state: head.state, cause: &head.cause, summary: &head.summary, gone };
    head.conditions = conditions::of(told, &previous, now);
    object.shrink();
    object
}

fn write(key: &DiagnosisKey, last: Option<&OuterRecord>, object: Outer, announcement: Option<Announcement>) -> Plan {
    let resource_version = last.map(|r| r.resource_version.clone()).filter(|version| !version.is_empty());
    let write = OuterWrite { key: key.clone(), object, resource_version, announcement };
    Plan { intent: Some(Intent::ApplyOuter(Box::new(write))), wake: None }
}

/// `before`: the cause that was told before.
fn announcement(
    language: Language,
    key: &DiagnosisKey,
    object: &Outer,
    action: Action,
    before: Option<&str>,
) -> Announcement {
    let head = object.head();
    let time = head.last_transition.unwrap_or(Timestamp::UNIX_EPOCH);
    let mut note = match before.filter(|before| action == Action::Recovered && *before != head.cause) {
        // Nobody has heard of the cause that it had in the end.
        Some(before) => compose::note(language, before, "", &[], action),
        None => compose::note(language, &head.cause, &head.summary, &head.remedies, action),
    };
    if let Outer::Workload(_, status) = object {
        note = compose::with_reach(language, &note, status.root.as_ref().filter(|_| action != Action::Recovered));
        note = compose::with_folded(language, &note, status.folded_events);
    }
    Announcement {
        key: event_key(key, object),
        regarding: object.regarding(key),
        related: Some(Reference {
            api_version: API_VERSION.into(),
            kind: object.kind().as_str().into(),
            key: key.object.clone(),
            uid: None,
        }),
        warning: action != Action::Recovered,
        reason: if action == Action::Recovered { "Recovered".to_owned() } else { head.cause.clone() },
        action,
        note,
        time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{
        AffectedWorkload, CauseCount, Confidence, Evidence, OtherFinding, PodCounts, ReadyChange, Remedy, RemedyKind,
        ServiceImpact, Serving, Severity, TemplateChange, TemplateLedger, Weight, WorkloadRef,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn head(cause: &str, severity: Severity) -> Head {
        Head::active(cause, "Crash", severity, Confidence::Certain, "3 of 3 pods fail".to_owned())
    }

    fn workload(cause: &str, severity: Severity) -> (WorkloadDiagnosisSpec, WorkloadDiagnosisStatus) {
        let workload = WorkloadRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
            display: "Deployment/web".to_owned(),
        };
        let status = WorkloadDiagnosisStatus {
            head: head(cause, severity),
            problem: "PartlyFailing".to_owned(),
            container: None,
            pods: PodCounts { desired: 3, failing: 1, ..PodCounts::default() },
            causes: Vec::new(),
            serving: None,
            template_changes: Vec::new(),
            templates: Vec::new(),
            root: None,
            folded_events: 0,
        };
        (WorkloadDiagnosisSpec { workload, workload_uid: "uid".to_owned() }, status)
    }

    fn key() -> DiagnosisKey {
        DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new("demo", "deployment-web") }
    }

    fn planned(last: Option<&OuterRecord>, object: Outer, now: Timestamp) -> Plan {
        let what = Failing { object, quiet: false, worse_is_told: false, same_failure_quiet: 3600 };
        failing(&key(), last, what, &Policy::default(), now)
    }

    fn written(plan: Plan) -> OuterWrite {
        match plan.intent {
            Some(Intent::ApplyOuter(write)) => *write,
            other => panic!("{other:?}, {:?}", plan.wake),
        }
    }

    fn acknowledged(write: OuterWrite, now: Timestamp) -> OuterRecord {
        acknowledged_after(None, write, now)
    }

    fn acknowledged_after(last: Option<&OuterRecord>, mut write: OuterWrite, now: Timestamp) -> OuterRecord {
        let transition = write.object.head().transition;
        write.object.announced(transition);
        OuterRecord::after(last, &write, "object".to_owned(), "1".to_owned(), now)
    }

    /// Told at 0 as a Warning of OOMKilled.
    fn told() -> OuterRecord {
        let (spec, status) = workload("OOMKilled", Severity::Warning);
        let write = written(planned(None, Outer::Workload(spec, status), at(0)));
        assert_eq!(write.announcement.as_ref().map(|event| event.action), Some(Action::Diagnosed));
        acknowledged(write, at(0))
    }

    fn again(change: impl FnOnce(&mut WorkloadDiagnosisStatus)) -> Outer {
        let (spec, mut status) = workload("OOMKilled", Severity::Warning);
        change(&mut status);
        Outer::Workload(spec, status)
    }

    #[test]
    fn what_says_the_same_in_other_words_waits_longer_than_what_says_more() {
        let last = told();
        let plan = planned(Some(&last), again(|_| ()), at(10));
        assert_eq!((plan.intent, plan.wake), (None, None), "nothing has changed");
        let reworded = |status: &mut WorkloadDiagnosisStatus| {
            "3 of 3 pods fail, back-off 40s".clone_into(&mut status.head.summary);
            status.folded_events = 7;
        };
        assert_eq!(planned(Some(&last), again(reworded), at(10)).wake, Some(at(300)));
        let more = |status: &mut WorkloadDiagnosisStatus| status.pods.failing = 2;
        assert_eq!(planned(Some(&last), again(more), at(10)).wake, Some(at(30)));
        let write = written(planned(Some(&last), again(more), at(30)));
        assert_eq!(write.announcement, None, "no transition");
        let said = written(planned(Some(&last), again(reworded), at(300)));
        assert!(said.object.head().conditions.iter().any(|c| c.message.ends_with("back-off 40s")));
        assert!(
            said.object.head().conditions.iter().all(|c| c.last_transition_time == at(0)),
            "the status is the same"
        );
    }

    #[test]
    fn another_cause_and_a_rise_in_severity_are_told_and_a_fall_is_not() {
        let last = told();
        for (cause, severity) in [("AppError", Severity::Warning), ("OOMKilled", Severity::Critical)] {
            let (spec, status) = workload(cause, severity);
            let write = written(planned(Some(&last), Outer::Workload(spec, status), at(60)));
            assert_eq!(write.object.head().transition, 2);
            assert_eq!(write.announcement.map(|event| event.action), Some(Action::Changed), "{cause} {severity}");
        }
        let fallen = again(|status| status.head.severity = Severity::Info);
        let plan = planned(Some(&last), fallen, at(400));
        assert_eq!((plan.intent, plan.wake), (None, None), "the worst stands until it is over");
    }

    #[test]
    fn causes_that_take_turns_are_told_once_each() {
        let first = told();
        let turn = |last: &OuterRecord, cause, now| {
            let (spec, status) = workload(cause, Severity::Warning);
            let write = written(planned(Some(last), Outer::Workload(spec, status), at(now)));
            let is_told = write.announcement.is_some();
            (acknowledged_after(Some(last), write, at(now)), is_told)
        };
        let (second, told_second) = turn(&first, "AppError", 60);
        let (third, told_third) = turn(&second, "OOMKilled", 120);
        let (_, told_fourth) = turn(&third, "AppError", 180);
        assert_eq!((told_second, told_third, told_fourth), (true, false, false));
    }

    #[test]
    fn the_same_failure_within_the_hour_after_its_end_is_not_told_again() {
        let first = told();
        let end = written(well(Some(&first), &Policy::default(), at(60)));
        assert_eq!(end.announcement.as_ref().map(|event| event.action), Some(Action::Recovered));
        let ended = acknowledged_after(Some(&first), end, at(60));
        let told_again = |cause, severity, now| {
            let (spec, status) = workload(cause, severity);
            let write = written(planned(Some(&ended), Outer::Workload(spec, status), at(now)));
            assert_eq!(write.object.head().transition, 3);
            write.announcement.is_some()
        };
        assert!(!told_again("OOMKilled", Severity::Warning, 3000));
        assert!(told_again("OOMKilled", Severity::Warning, 3660), "it is news again");
        assert!(told_again("OOMKilled", Severity::Critical, 3000), "it is worse");
        assert!(told_again("AppError", Severity::Warning, 3000));
    }

    #[test]
    fn a_failure_that_comes_and_goes_is_told_once() {
        let mut last = told();
        let mut events = 0;
        for turn in 1..=5 {
            let (end, begin) = (at(turn * 600 - 300), at(turn * 600));
            let write = written(well(Some(&last), &Policy::default(), end));
            events += u32::from(write.announcement.is_some());
            last = acknowledged_after(Some(&last), write, end);
            let (spec, status) = workload("OOMKilled", Severity::Warning);
            let write = written(planned(Some(&last), Outer::Workload(spec, status), begin));
            events += u32::from(write.announcement.is_some());
            last = acknowledged_after(Some(&last), write, begin);
        }
        assert_eq!(events, 1, "its first end");
    }

    #[test]
    fn what_was_not_told_what_wants_no_pods_and_what_is_gone_end_in_silence() {
        let policy = Policy::default();
        let (spec, status) = workload("OOMKilled", Severity::Warning);
        let what =
            Failing { object: Outer::Workload(spec, status), quiet: true, worse_is_told: false, same_failure_quiet: 0 };
        let quiet = written(failing(&key(), None, what, &policy, at(0)));
        assert_eq!(quiet.announcement, None);
        let quiet = acknowledged(quiet, at(0));
        for (plan, state) in [
            (well(Some(&quiet), &policy, at(60)), DiagnosisState::Recovered),
            (over(Some(&told()), |_| {}, false, &policy, at(60)), DiagnosisState::Recovered),
            (gone(Some(&told()), &policy, at(60)), DiagnosisState::Gone),
        ] {
            let write = written(plan);
            assert_eq!((write.object.head().state, &write.announcement), (state, &None));
            let ended = acknowledged(write, at(60));
            assert_eq!(well(Some(&ended), &policy, at(61)).wake, Some(at(60 + policy.retention)));
            let removal = well(Some(&ended), &policy, at(60 + policy.retention)).intent;
            assert!(matches!(removal, Some(Intent::Delete { .. })), "{removal:?}");
        }
    }

    #[test]
    fn what_is_unwanted_goes_without_a_word_while_it_is_active() {
        let (active, policy) = (told(), Policy::default());
        let removal = unwanted(Some(&active), &policy, at(60)).intent;
        assert!(matches!(&removal, Some(Intent::Delete { key, .. }) if *key == active.key), "{removal:?}");
        assert_eq!(unwanted(None, &policy, at(60)), Plan::default());

        let end = written(well(Some(&active), &policy, at(60)));
        let ended = acknowledged_after(Some(&active), end, at(60));
        let due = at(60 + policy.retention);
        assert_eq!(unwanted(Some(&ended), &policy, at(61)), Plan::wake(due), "what ended before that stays its time");
        assert!(matches!(unwanted(Some(&ended), &policy, due).intent, Some(Intent::Delete { .. })));
    }

    #[test]
    fn an_event_is_owed_until_it_is_there_or_no_news_any_more() {
        let mut record = told();
        assert_eq!(owed(&record, Language::English, at(1)), None, "it is there");
        record.object.head_mut().event_owed = true;
        assert_eq!(owed(&record, Language::English, at(599)).map(|event| event.action), Some(Action::Diagnosed));
        assert_eq!(owed(&record, Language::English, at(600)), None);
    }

    fn long(mut head: Head) -> Head {
        head.remedies = (0..6)
            .map(|n| Remedy {
                kind: RemedyKind::Fix,
                text: "t".repeat(400),
                command: Some(format!("kubectl {n} {}", "c".repeat(100))),
                patch: Some("p".repeat(600)),
            })
            .collect();
        head.evidence = (0..6)
            .map(|n| Evidence {
                source: format!("source-{n}"),
                value: "v".repeat(500),
                time: None,
                weight: Weight::Supports,
            })
            .collect();
        head
    }

    #[test]
    fn a_workloads_object_is_cut_until_it_fits_and_keeps_what_tells_most() {
        let object = again(|status| {
            status.head = long(status.head.clone());
            let change = |n| TemplateChange {
                field: format!("containers[web].env[{n}]"),
                before: Some("b".repeat(200)),
                after: None,
            };
            status.template_changes = (0..30).map(change).collect();
            let ledger = |n| TemplateLedger { template: format!("web-{n}"), ..TemplateLedger::default() };
            status.templates = (0..5).map(ledger).collect();
        });
        assert!(object.size() > CONTENT_MAX);
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= CONTENT_MAX, "{} bytes", write.object.size());
        let Outer::Workload(_, status) = &write.object else { panic!("a workload") };
        assert!(status.head.truncated > 0);
        assert_eq!(status.templates.last().map(|t| t.template.as_str()), Some("web-4"), "the newest template");
        assert!(!status.head.remedies.is_empty() && !status.head.evidence.is_empty(), "{:?}", status.head);
    }

    /// What there is to cut may be none of what is long in most.
    #[test]
    fn an_object_that_names_much_is_cut_until_it_fits_and_keeps_its_evidence() {
        let object = again(|status| {
            status.head = long(status.head.clone());
            let service = |n| ServiceImpact { name: format!("{}-{n}", "s".repeat(240)), ready_endpoints: 0 };
            status.serving = Some(Serving { services: (0..30).map(service).collect(), ..Serving::default() });
            let cause = |n| CauseCount { cause: "c".repeat(240), pods: n, ..CauseCount::default() };
            status.causes = (1..30).map(cause).collect();
        });
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= CONTENT_MAX, "{} bytes", write.object.size());
        let Outer::Workload(_, status) = &write.object else { panic!("a workload") };
        assert_eq!(status.causes.first().map(|cause| cause.pods), Some(1));
        assert!(!status.head.remedies.is_empty() && !status.head.evidence.is_empty(), "{:?}", status.head);
    }

    #[test]
    fn a_nodes_object_is_cut_until_it_fits_and_counts_whom_it_does_not_name() {
        let change = |n| ReadyChange {
            time: at(n),
            status: "False".to_owned(),
            reason: "KubeletNotReady".to_owned(),
            message: "m".repeat(160),
        };
        let other = |n| OtherFinding { cause: format!("NodeProblem{n}"), container: None, summary: "診".repeat(200) };
        let affected = |n| AffectedWorkload {
            namespace: "n".repeat(63),
            workload: format!("Deployment/{}-{n}", "w".repeat(240)),
            pods: 1,
        };
        let status = NodeDiagnosisStatus {
            head: long(head("NodeRuntimeDown", Severity::Critical)),
            other_findings: (0..20).map(other).collect(),
            last_words: None,
            flapping: None,
            ready_history: (0..10).map(change).collect(),
            pods: 15,
            affected: (0..15).map(affected).collect(),
            affected_beside: 5,
            daemon_sets_missing: Vec::new(),
        };
        let object = Outer::Node(NodeDiagnosisSpec::default(), status);
        assert!(object.size() > CONTENT_MAX);
        let write = written(planned(None, object, at(0)));
        assert!(write.object.size() <= CONTENT_MAX, "{} bytes", write.object.size());
        let Outer::Node(_, status) = &write.object else { panic!("a node") };
        assert_eq!(status.affected.len() + status.affected_beside as usize, 20, "nobody is lost");
        assert_eq!(status.ready_history.last().map(|change| change.time), Some(at(9)), "the newest changes are kept");
        assert!(status.ready_history.len() >= 4);
        assert!(!status.head.evidence.is_empty());
    }
}
