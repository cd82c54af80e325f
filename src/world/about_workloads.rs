//! What is to be done for a workload: its judgement, and what its pods have in common.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::brief::Brief;
use super::folds::{Fate, Group};
use super::pods::Place;
use super::stories::Restarted;
use super::{Decision, Source, World, earliest, lookups};
use crate::api::{
    DiagnosisKind, DiagnosisState, Head, PodCounts, Root, Severity, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
    WorkloadRef,
};
use crate::diagnosis::{
    Case, Category, FailingPod, GonePod, Health, RootKind, WorkloadCase, WorkloadFailure, diagnose, follows_from_pods,
    is_of_service, judge_workload, lies_in_template, node, told_as,
};
use crate::facts::{Looked, PodFacts, Timestamp, Want, WorkloadFacts, WorkloadKey, after};
use crate::outbox::{Lane, Subject};
use crate::plan::{Bearer, DiagnosisKey, Intent, Outer, OuterRecord, Plan, Record, outer};

/// Pods of a workload fail one after the other: what they have in common is told so many seconds after it was first seen
/// to fail.
const GATHERING: i64 = 5;

/// The longest that a workload waits for its next pod, in seconds, before nothing is wrong with it any more.
const BETWEEN_PODS: i64 = 600;

/// What a pod has to say within so many seconds is waited for.
const SOON: i64 = 120;

/// How many pods of one workload are looked at for what keeps all of them from being ready.
const A_FEW: usize = 50;

/// What is wrong with a workload that is well again.
const NO_PROBLEM: &str = "None";

/// What is known of a workload at the time of its judgement.
struct Known {
    facts: WorkloadFacts,
    since: Timestamp,
    seen: Timestamp,
}

impl World {
    /// The workload whose diagnosis a record of a pod is part of.
    pub(super) fn workload_of(record: &Brief) -> Option<&WorkloadKey> {
        record.workload.as_ref().filter(|key| key.watched_kind().is_some())
    }

    /// All workloads that may have something to tell.
    pub(super) fn all_unsettled(&self) -> super::Touched {
        let strays = self.services.strayed();
        let kept = crate::facts::WorkloadKind::ALL.into_iter().flat_map(|kind| self.owners.of_kind(kind)).cloned();
        let told = self.workload_objects.workloads();
        kept.chain(told).chain(strays).map(|key| (Subject::Workload(key), Lane::Resync)).collect()
    }

    /// Takes back what the object of a workload remembers.
    pub(super) fn restore_workload(&mut self, record: &OuterRecord, status: &WorkloadDiagnosisStatus) {
        if let Subject::Workload(key) = super::outers::subject_of(&record.object, &record.key) {
            self.stories.restore(key.clone(), &status.templates);
            self.folds.restore(key, status.folded_events);
        }
    }

    /// Takes the Event off the write of a pod's diagnosis where enough were told of its workload and cause, or of its root.
    /// Whether it did, for the first time.
    pub(super) fn fold(&mut self, plan: &mut Plan, now: Timestamp) -> bool {
        let Some(Intent::Apply(write)) = &mut plan.intent else { return false };
        if !write.announcement.as_ref().is_some_and(|announcement| announcement.warning) {
            return false;
        }
        let namespace = &write.key.namespace;
        let workload = write.spec.workload.as_ref().map(|workload| WorkloadKey::of(workload, namespace));
        // Without an object of its own that stands for them, and without a root, pods are told one by one.
        let workload = workload.filter(|key| key.watched_kind().is_some());
        let of_workload = workload.map(|key| Group::Workload(key, write.status.cause.clone()));
        let of_root =
            write.status.root.clone().map(|root| Group::Root(namespace.clone(), root, write.status.cause.clone()));
        let groups: Vec<Group> = of_workload.into_iter().chain(of_root).collect();
        let transition = (write.spec.pod_uid.as_str(), write.status.transition);
        let fate = self.folds.fold(&groups, transition, self.policy.events_per_workload, now);
        if fate == Fate::Told {
            return false;
        }
        let was_announced = self
            .records
            .brief(&write.key)
            .is_some_and(|record| record.is_active_of(&write.spec.pod_uid) && record.announced);
        write.announcement = None;
        write.status.event_owed = false;
        write.status.announced = was_announced;
        fate == Fate::Folded
    }

    pub(super) fn decide_workload(&mut self, key: &WorkloadKey, now: Timestamp) -> Decision {
        let object = DiagnosisKey::of_workload(key);
        self.before_judging(key, &object, now).unwrap_or_else(|| self.decide_on_workload(key, &object, now))
    }

    /// What keeps a workload from being judged now, or makes that needless.
    fn before_judging(&mut self, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Option<Decision> {
        let is_listed = key.watched_kind().is_some_and(|kind| self.is_listed(Source::Workloads(kind)));
        if !is_listed || !self.is_listed(Source::Objects(DiagnosisKind::Workload)) || !self.is_listed(Source::Pods) {
            return Some(Decision::default());
        }
        let later = |at| Some(Plan { intent: None, wake: Some(at) }.into());
        if self.workload_objects.is_writing(object) {
            return later(after(now, 1));
        }
        if let Some(open) = self.closed_until(object, now) {
            return later(open);
        }
        if self.is_excluded(&key.namespace) {
            return Some(self.leave_out_workload(object).into());
        }
        if self.gone_workloads.contains(key) && self.workload_objects.is_deleted(object) {
            // As a deleted namespace does: nothing is left to tell of.
            self.workload_objects.remove(object);
        }
        if let Some(plan) = self.workload_objects.overdue(object, self.policy.language, now) {
            return Some(plan.into());
        }
        if self.gone_workloads.contains(key) {
            return Some(self.bury(key, object, now).into());
        }
        let failing = if self.is_told(object) { self.workloads.failing(key).count() } else { 0 };
        self.stories.rests(key, failing, now).and_then(later)
    }

    fn decide_on_workload(&mut self, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Decision {
        let (failing, restarts): (Vec<_>, Vec<_>) = self.failing_pods(key).into_iter().unzip();
        let subject = Subject::Workload(key.clone());
        let Some(known) = self.known_workload(key) else {
            if let Some(asking) = self.dispel_doubt(key, now) {
                return asking;
            }
            // It went while its diagnosis was on its way.
            if failing.is_empty() && self.lookups.is_not_there(key) {
                self.gone_workloads.insert(key.clone());
                return self.bury(key, object, now).into();
            }
            // Settled. Its pods are looked at once more if they are said to fail.
            if failing.is_empty() && self.services.strays_of(key).is_empty() {
                if let Some(until) = self.waits_for_services(key, now) {
                    return Plan { intent: None, wake: Some(until) }.into();
                }
                return self.workload_is_well(key, object, None, now).into();
            }
            return self.look_for(&subject, vec![(Want::Workload(key.clone()), Timestamp::UNIX_EPOCH)], now);
        };
        let labels = known.facts.template.as_ref().map(|template| template.labels.clone()).unwrap_or_default();
        if !self.tells_of(&key.namespace, &labels) {
            return outer::unwanted(self.workload_objects.get(object).as_ref(), &self.policy, now).into();
        }
        // Endpoints follow a moment later than what a workload says of itself.
        let settled = if self.answers_come { after(known.since, lookups::SETTLE).min(now) } else { known.since };
        let services = self.lookups.services_for(&key.namespace, &labels, settled);
        let (events, jobs) = (self.owners.events_of(key), self.owners.jobs_of(key));
        let ready = self.workloads.ready_by_owner(key);
        let gone = self.gone_pods(key, &jobs);
        let strays = self.services.strays_of(key);
        let told = self.told_of(object, &known.facts.uid);
        let failed = self.stories.templates(key);
        let has_given_up = known.facts.condition("Progressing").is_some_and(|progress| progress.status == "False");
        let undecided = has_given_up.then(|| self.undecided(key, now)).flatten();
        let gates = if has_given_up { self.gates(key) } else { Vec::new() };
        let judged = judge_workload(&WorkloadCase {
            workload: &known.facts,
            failing: &failing,
            failed: &failed,
            undecided,
            gates: &gates,
            loses_pods: self.workloads.loses_pods(key, now),
            gone: &gone,
            ready: ready.as_deref(),
            jobs: &jobs,
            events: &events,
            strays: &strays,
            services: services.as_deref(),
            thresholds: &self.thresholds,
            since: known.since,
            seen: known.seen,
            told: told.as_ref(),
            now,
        });
        let is_told = self.is_told(object);
        if judged.failure.as_ref().is_some_and(|failure| self.is_unwanted(key, failure, now)) {
            let last = self.workload_objects.get(object);
            let plan = outer::unwanted(last.as_ref(), &self.policy, now);
            return Plan { wake: earliest(plan.wake, judged.wake), ..plan }.into();
        }
        let Some(failure) = judged.failure else {
            if judged.stands {
                return Decision::default();
            }
            // What is to be judged a moment later has not recovered, nor has what waits for its next pod.
            let later = judged.wake.or_else(|| self.waits_for_pods(key, &known.facts, now));
            let undecided = later.or_else(|| self.waits_for_services(key, now)).filter(|_| is_told);
            if let Some(until) = undecided {
                return Plan { intent: None, wake: Some(until) }.into();
            }
            let mut plan = self.workload_is_well(key, object, Some(&known.facts), now);
            plan.wake = earliest(plan.wake, judged.wake);
            return plan.into();
        };
        // Which template was good, and who is served meanwhile, are part of what is told. Its pods ask for the first as well, a
        // moment after they fail: that answer will do.
        let template_from = if self.lookups.is_there(key) { Timestamp::UNIX_EPOCH } else { settled };
        let wants =
            vec![(Want::Workload(key.clone()), template_from), (Want::Services(key.namespace.clone()), settled)];
        let awaited =
            wants.iter().filter_map(|(want, since)| self.lookups.awaited(want, *since, super::ANSWER_WITHIN, now));
        let gathered = after(self.stories.began(key, now), GATHERING);
        let awaited = awaited.max().into_iter().chain(Some(gathered).filter(|due| !is_told && now < *due));
        let mut plan = match awaited.max().filter(|_| self.answers_come) {
            Some(until) => Plan { intent: None, wake: Some(until) },
            None => self.workload_fails(key, &known.facts, *failure, (&failing, &restarts), now),
        };
        plan.wake = earliest(plan.wake, judged.wake);
        let mut decision = self.look_for(&subject, wants, now);
        decision.plan = Plan { wake: earliest(plan.wake, decision.plan.wake), ..plan };
        decision
    }

    /// What its object says, while that is Active and about the same workload.
    fn told_of(&self, object: &DiagnosisKey, uid: &str) -> Option<WorkloadDiagnosisStatus> {
        let record = self.workload_objects.get(object).filter(|record| record.object.subject_uid() == uid)?;
        match record.object {
            Outer::Workload(_, status) if status.head.state == DiagnosisState::Active => Some(status),
            _ => None,
        }
    }

    /// Whether nobody wants to be told of this: of its cause, or of what all of it follows from.
    fn is_unwanted(&self, key: &WorkloadKey, failure: &WorkloadFailure, now: Timestamp) -> bool {
        if self.wishes.ignore(key, &failure.cause) {
            return true;
        }
        if !failure.causes.is_empty() || !follows_from_pods(&failure.cause) {
            return false;
        }
        let of_it = |uid: &Arc<str>| self.pods.place(uid).is_some_and(|place| place.kin.workload.as_ref() == Some(key));
        self.unwell()
            .filter(of_it)
            .any(|uid| self.with_case(&uid, now, diagnose).is_some_and(|outcome| outcome.leaves_out))
    }

    /// Whether this workload has waited for as long as it means to, for pods like this one.
    pub(super) fn has_given_up_on(&self, key: &WorkloadKey, pod: &PodFacts) -> bool {
        let maker = pod.owner.as_ref().filter(|owner| &*owner.kind == "ReplicaSet");
        let known = self.owners.get(key).zip(maker);
        known.is_some_and(|(workload, maker)| workload.facts.has_given_up_on(&maker.name))
    }

    /// The pods that are not to be waited for any more because their workload has just said so.
    fn given_up(&self, facts: &WorkloadFacts) -> super::Touched {
        let known = self.owners.get(&facts.key);
        if !facts.has_given_up() || known.is_some_and(|known| known.facts.has_given_up()) {
            return Vec::new();
        }
        self.workloads.unready(&facts.key).map(|uid| (Subject::Pod(uid.clone()), Lane::Change)).collect()
    }

    /// When a pod of this workload is looked at again that is not ready, and that is not said to fail yet: soon, or one whose
    /// probe fails, or that was meant to be given longer.
    fn undecided(&self, key: &WorkloadKey, now: Timestamp) -> Option<Timestamp> {
        let wakes = self.unready_and_untold(key).filter_map(|uid| {
            let is_to_wait = |case: &Case<'_>| {
                case.surroundings.wishes.never_ready.is_some() || case.events_with("Unhealthy").next().is_some()
            };
            let (outcome, is_to_wait) = self.with_case(uid, now, |case| (diagnose(case), is_to_wait(case)))?;
            let is_near = |wake: &Timestamp| *wake > now && (is_to_wait || *wake <= after(now, SOON));
            outcome.wake.filter(|wake| is_near(wake) && matches!(outcome.health, Health::Well))
        });
        wakes.min()
    }

    /// The scheduling gates of its pods.
    fn gates(&self, key: &WorkloadKey) -> Vec<String> {
        let pods = self.unready_and_untold(key).filter_map(|uid| self.pods.full(uid));
        let gates: BTreeSet<String> = pods.flat_map(|pod| pod.facts.scheduling_gates).collect();
        gates.into_iter().collect()
    }

    /// Pods of this workload that are not ready, and of which nothing is told: they are alike, and a few of many will do.
    fn unready_and_untold(&self, key: &WorkloadKey) -> impl Iterator<Item = &Arc<str>> {
        let told: HashSet<&Arc<str>> = self.workloads.failing(key).collect();
        self.workloads.unready(key).filter(move |uid| !told.contains(*uid)).take(A_FEW)
    }

    /// Until when a workload none of whose pods fails is only between two of them: it has not all that it asks for.
    fn waits_for_pods(&mut self, key: &WorkloadKey, facts: &WorkloadFacts, now: Timestamp) -> Option<Timestamp> {
        let runs_to_an_end = matches!(&*key.kind, "Job" | "CronJob");
        if runs_to_an_end || facts.desired <= 0 || facts.is_settled() {
            return None;
        }
        let until = after(self.stories.calm_since(key, now), BETWEEN_PODS);
        (now < until).then_some(until)
    }

    /// After a restart it is not known at once whether the Service that did not reach it does now.
    fn waits_for_services(&self, key: &WorkloadKey, now: Timestamp) -> Option<Timestamp> {
        let told = self.workload_objects.brief(&DiagnosisKey::of_workload(key))?;
        let waits = is_of_service(&told.cause) && !self.are_services_judged(&key.namespace);
        waits.then(|| after(now, lookups::SETTLE))
    }

    /// The workload as it is watched, with the ReplicaSets that were looked up; as it was looked up where it is not kept.
    fn known_workload(&self, key: &WorkloadKey) -> Option<Known> {
        let looked = self.lookups.known_workload(key);
        match self.owners.get(key) {
            Some(owner) => {
                let mut facts = owner.facts.clone();
                let looked = looked.unwrap_or_default();
                (facts.replica_sets, facts.revisions) = (looked.replica_sets, looked.revisions);
                // A dump's pods are all judged before.
                let seen = if self.answers_come { owner.seen.max(self.listed_at) } else { owner.since };
                Some(Known { facts, since: owner.since, seen })
            }
            None => looked.map(|facts| Known { facts, since: Timestamp::UNIX_EPOCH, seen: Timestamp::UNIX_EPOCH }),
        }
    }

    /// Asks for answers, each not older than the time beside it.
    pub(super) fn look_for(&mut self, subject: &Subject, wants: Vec<(Want, Timestamp)>, now: Timestamp) -> Decision {
        let asked: Vec<Want> = wants.iter().map(|(want, _)| want.clone()).collect();
        self.lookups.asked(subject, &asked);
        let mut decision = Decision::default();
        for (want, fresh_from) in wants {
            match self.lookups.next(&want, fresh_from, now) {
                lookups::Next::Now => decision.wants.push(want),
                lookups::Next::At(at) => decision.plan.wake = earliest(decision.plan.wake, Some(at)),
            }
        }
        decision
    }

    fn workload_fails(
        &mut self,
        key: &WorkloadKey,
        facts: &WorkloadFacts,
        failure: WorkloadFailure,
        (failing, restarts): (&[FailingPod], &[Restarted]),
        now: Timestamp,
    ) -> Plan {
        let object = DiagnosisKey::of_workload(key);
        let root = failure.root.as_ref().map(|root| self.reach.of(root, &key.namespace, &key.to_string()));
        let what = told_as(&failure.cause, &failure.evidence);
        let shared = failure.root.as_ref().filter(|_| !lies_in_template(&failure.cause));
        let told_by_another = shared.is_some_and(|root| self.reach.told_by_another((root, &what), key, now).is_some());
        // What a node does to its pods says nothing of their template, nor does what may pass by itself.
        let is_of_template = |pod: &FailingPod| pod.category != Category::Node && pod.severity != Severity::Info;
        let each = failing.iter().zip(restarts.iter().copied());
        let restarting: Vec<_> = each.filter(|(pod, _)| is_of_template(pod)).collect();
        let told_by_node = failure.root.as_ref().is_some_and(|root| self.is_told_of_node(root, now));
        let quiet = failure.quiet || told_by_another || told_by_node;
        let worse_is_told = failure.worse_by_node;
        let mut status = status_of(failure, failing);
        status.templates = self.stories.tell(key, &restarting, now);
        status.folded_events = self.folds.of(key);
        status.root = root;
        let spec = WorkloadDiagnosisSpec {
            workload: WorkloadRef {
                api_version: key.api_version.to_string(),
                kind: key.kind.to_string(),
                name: key.name.to_string(),
                display: key.to_string(),
            },
            workload_uid: facts.uid.to_string(),
        };
        let (told, what, is_refused) = (status.root.clone(), what, status.causes.is_empty());
        let last = self.workload_objects.get(&object);
        let is_anew = last.as_ref().is_some_and(|ended| is_of_another_template(key, failing, &ended.object));
        let same_failure_quiet = if is_anew { 0 } else { self.policy.same_failure_quiet };
        let failing =
            outer::Failing { object: Outer::Workload(spec, status), quiet, worse_is_told, same_failure_quiet };
        let plan = outer::failing(&object, last.as_ref(), failing, &self.policy, now);
        if let (Some(Intent::ApplyOuter(write)), Some(reach)) = (&plan.intent, told) {
            if is_refused {
                self.reach.refuse(&reach.root, &object.object, &key.to_string());
            }
            if write.announcement.is_some() {
                self.reach.tells((&reach.root, &what), key, now);
            }
        }
        plan
    }

    /// Whether this root is a node that is down: its own diagnosis tells it.
    fn is_told_of_node(&self, root: &Root, now: Timestamp) -> bool {
        let node = self.nodes.get(&root.name).filter(|_| root.kind == RootKind::Node.as_str());
        node.is_some_and(|node| node::is_down(node, &self.thresholds, now))
    }

    fn workload_is_well(
        &mut self,
        key: &WorkloadKey,
        object: &DiagnosisKey,
        facts: Option<&WorkloadFacts>,
        now: Timestamp,
    ) -> Plan {
        self.lookups.forget(&Subject::Workload(key.clone()));
        if !self.is_told(object) {
            self.stories.forget(key);
            self.folds.forget(key);
        }
        let ready = self.workloads.ready_by_owner(key).iter().flatten().map(|(_, ready)| ready).sum::<u32>();
        // Of what wants no pods any more nobody knows whether it is well.
        let is_laid_down = facts.is_some_and(|facts| wants_none(key, facts));
        let tell = |object: &mut Outer| {
            if let Outer::Workload(_, status) = object {
                tell_end(status, key, facts, ready);
            }
        };
        let last = self.workload_objects.get(object);
        outer::over(last.as_ref(), tell, !is_laid_down, &self.policy, now)
    }

    fn bury(&mut self, key: &WorkloadKey, object: &DiagnosisKey, now: Timestamp) -> Plan {
        self.stories.forget(key);
        self.folds.forget(key);
        self.lookups.forget(&Subject::Workload(key.clone()));
        let last = self.workload_objects.get(object);
        if last.is_none() {
            self.gone_workloads.remove(key);
        }
        outer::gone(last.as_ref(), &self.policy, now)
    }

    /// The ended object of a workload that is gone goes as well: nothing is to be remembered of either.
    pub(super) fn forget_burial(&mut self, key: &DiagnosisKey) {
        if let Some(Subject::Workload(workload)) = self.workload_objects.subject(key)
            && !self.is_told(key)
        {
            self.gone_workloads.remove(workload);
        }
    }

    /// The pods of a workload that have an Active diagnosis, by name, and how often each was restarted.
    fn failing_pods(&self, key: &WorkloadKey) -> Vec<(FailingPod, Restarted)> {
        // A Deployment has another one in its place by then; who numbers its pods, or has one on each node, waits for it.
        let is_replaced = |place: &Place| place.going && &*key.kind == "Deployment";
        let records = self.workloads.failing(key).filter_map(|uid| {
            let place = self.pods.place(uid).filter(|place| !is_replaced(place))?;
            let record = self.records.get(&place.key()).filter(|record| record.is_active_of(uid))?;
            let restarted = restarts_of(&record);
            Some((self.failing_pod(uid, record), restarted))
        });
        let mut pods: Vec<_> = records.collect();
        pods.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        pods
    }

    /// The pods of a Job or `CronJob` that went while they failed: what of, their diagnoses still tell.
    fn gone_pods(&self, key: &WorkloadKey, jobs: &[WorkloadFacts]) -> Vec<GonePod> {
        if !matches!(&*key.kind, "Job" | "CronJob") {
            return Vec::new();
        }
        let of_it = |record: &&Brief| {
            record.state == DiagnosisState::Gone && Self::workload_of(record).is_some_and(|of| of == key)
        };
        let gone = self.records.in_namespace(&key.namespace).filter(of_it).filter_map(|brief| {
            let pod = self.failing_pod(&Arc::from(&*brief.pod_uid), self.records.get(&brief.key)?);
            Some(GonePod { pod: without_its_commands(pod), at: brief.last_transition? })
        });
        let mut gone: Vec<GonePod> = gone.collect();
        let runs = jobs.iter().map(|run| &run.key).chain([key]);
        for last in runs.flat_map(|job| self.last_words.of(job)) {
            // Its diagnosis may have been on its way when it was heard.
            if !gone.iter().any(|known| known.pod.uid == last.pod.uid) {
                gone.push(last);
            }
        }
        gone.retain(|gone| gone.pod.severity != Severity::Info);
        gone.sort_by(|a, b| a.pod.name.cmp(&b.pod.name));
        gone
    }

    fn failing_pod(&self, uid: &Arc<str>, record: Record) -> FailingPod {
        let status = record.status;
        let owner = self.pods.place(uid).and_then(|place| place.kin.owner.clone());
        // The pods of these have no ReplicaSet that stands for their template.
        let has_revisions = record.spec.workload.is_some_and(|w| matches!(&*w.kind, "StatefulSet" | "DaemonSet"));
        let full = if has_revisions { self.pods.full(uid) } else { None };
        let revision = full.as_ref().and_then(|full| full.facts.labels.get("controller-revision-hash"));
        FailingPod {
            name: record.key.name.as_ref().into(),
            uid: uid.clone(),
            template: revision.map(Into::into).or(owner),
            node: record.spec.node_name.as_deref().map(Into::into),
            cause: status.cause,
            category: Category::named(&status.category).unwrap_or(Category::Lifecycle),
            container: status.container,
            container_type: status.container_type,
            severity: status.severity,
            confidence: status.confidence,
            summary: status.summary,
            remedies: status.remedies,
            root: status.root,
            since: status.first_seen,
            ready: self.pods.place(uid).is_some_and(|place| place.ready),
            over: self.pods.place(uid).is_some_and(|place| place.over),
            restarts: status.restarts.map_or(0, |restarts| restarts.count),
        }
    }

    /// A workload was seen.
    pub(super) fn workload(&mut self, mut facts: WorkloadFacts, now: Timestamp) -> super::Touched {
        let key = facts.key.clone();
        self.gone_workloads.remove(&key);
        let at_start = key.watched_kind().is_none_or(|kind| !self.is_listed(Source::Workloads(kind)));
        let is_known_to_fail = self.is_failing(&key);
        let labelled = facts.labelled().filter(|_| !facts.deleting);
        let carried = facts.carried.take();
        let annotation = self.annotation_seen(Bearer::Workload(key.clone()), &facts.uid, carried);
        let by_us = annotation.is_some() && is_moved_by_an_annotation(&mut facts);
        let mut touched = self.hear_wishes(&facts);
        touched.extend(annotation);
        if self.services.workload(&key, labelled) {
            touched.extend(self.look_at_services(&key.namespace));
        }
        let cron = facts.owner_key().filter(|owner| &*owner.kind == "CronJob");
        touched.extend(self.given_up(&facts));
        let seen = self.owners.put(facts, is_known_to_fail, at_start, by_us, now);
        if seen == super::owners::Seen::Well && !is_known_to_fail {
            return touched;
        }
        self.lookups.outdated(&Want::Workload(key.clone()), now);
        touched.extend([Some(key), cron].into_iter().flatten().map(|key| (Subject::Workload(key), Lane::Change)));
        touched
    }

    pub(super) fn workload_deleted(&mut self, key: &WorkloadKey, now: Timestamp) -> super::Touched {
        self.owners.remove(key);
        self.owners.forget_events(key);
        self.wishes.forget(key);
        self.annotations.forget(&Bearer::Workload(key.clone()));
        let mut touched =
            if self.services.workload(key, None) { self.look_at_services(&key.namespace) } else { Vec::new() };
        let object = DiagnosisKey::of_workload(key);
        // A write under way may be its first.
        if !self.workload_objects.contains(&object) && !self.workload_objects.is_writing(&object) {
            // What was looked up of it would be told when the write is due that gathers its pods. Those of a Job find their
            // CronJob by it.
            let want = Want::Workload(key.clone());
            if &*key.kind != "Job" && self.lookups.is_asked(&want) {
                self.lookups.answered(want, Looked::Workload(None), now);
            }
            return touched;
        }
        self.gone_workloads.insert(key.clone());
        touched.push((Subject::Workload(key.clone()), Lane::Change));
        touched
    }

    /// Whether all of a workload is of interest, though it may be settled.
    fn is_failing(&self, key: &WorkloadKey) -> bool {
        self.is_told(&DiagnosisKey::of_workload(key)) || self.workloads.failing(key).next().is_some()
    }

    /// Whether this object is Active, whichever workload of the name it is about.
    fn is_told(&self, object: &DiagnosisKey) -> bool {
        self.workload_objects.is_active(object)
    }
}

/// Whether its generation may have moved by an annotation alone, of which a Deployment counts each change. Such a move is no
/// news of it, also while its controller has not seen it yet.
fn is_moved_by_an_annotation(facts: &mut WorkloadFacts) -> bool {
    let is_counted = &*facts.key.kind == "Deployment";
    if is_counted && facts.observed_generation == Some(facts.generation - 1) {
        facts.observed_generation = Some(facts.generation);
    }
    is_counted
}

fn restarts_of(record: &Record) -> Restarted {
    record.status.restarts.as_ref().map_or_else(Restarted::default, |restarts| Restarted {
        count: restarts.count,
        last: restarts.history.iter().filter_map(|run| run.finished_at).max(),
    })
}

/// Nothing can be asked of a pod that is gone.
pub(super) fn without_its_commands(mut pod: FailingPod) -> FailingPod {
    let name = pod.name.clone();
    pod.remedies.retain(|remedy| !remedy.command.as_ref().is_some_and(|command| command.contains(&*name)));
    pod
}

/// Whether pods of a template fail that has nothing to do with what was told: somebody has rolled out another since. The
/// pods of a run of a Job have no template in this sense.
fn is_of_another_template(key: &WorkloadKey, failing: &[FailingPod], told: &Outer) -> bool {
    let Outer::Workload(_, told) = told else { return false };
    let was_told = |name: &str| told.templates.iter().any(|template| template.template == *name);
    let is_rolled_out = matches!(&*key.kind, "Deployment" | "StatefulSet" | "DaemonSet") && !told.templates.is_empty();
    is_rolled_out && failing.iter().filter_map(|pod| pod.template.as_deref()).any(|name| !was_told(name))
}

fn wants_none(key: &WorkloadKey, facts: &WorkloadFacts) -> bool {
    facts.suspended || (facts.desired <= 0 && &*key.kind != "CronJob")
}

/// How a workload that does not fail any more stands now. What it suffered from stays: its cause, and the pods that had it.
/// What was to be done, who was served, and how the template differed is of no use any more, or wrong.
fn tell_end(status: &mut WorkloadDiagnosisStatus, key: &WorkloadKey, facts: Option<&WorkloadFacts>, ready: u32) {
    let runs_to_an_end = matches!(&*key.kind, "Job" | "CronJob");
    let desired = facts.map_or(status.pods.desired, |facts| u32::try_from(facts.desired).unwrap_or(0));
    status.head.summary = match facts {
        Some(facts) if facts.suspended => "it is suspended".to_owned(),
        Some(facts) if wants_none(key, facts) => "it wants no pods any more".to_owned(),
        Some(facts) if facts.is_complete() => "the Job is complete".to_owned(),
        Some(facts) if facts.last_successful.is_some_and(|at| Some(at) >= status.head.first_seen) => {
            "a run has succeeded".to_owned()
        }
        _ if runs_to_an_end => "nothing is wrong any more".to_owned(),
        _ if (ready, desired) == (1, 1) => "its only pod is ready".to_owned(),
        _ => format!("{ready} of {desired} pods are ready"),
    };
    NO_PROBLEM.clone_into(&mut status.problem);
    // Those that are still there are on their way out.
    let ready = if facts.is_some_and(|facts| wants_none(key, facts)) { 0 } else { ready };
    status.head.remedies.clear();
    status.serving = None;
    status.template_changes.clear();
    // What runs to an end has no pods that are to be ready.
    let display = if runs_to_an_end { String::new() } else { format!("{ready}/{desired}") };
    status.pods = PodCounts { desired, ready, failing: 0, display };
}

fn status_of(failure: WorkloadFailure, failing: &[FailingPod]) -> WorkloadDiagnosisStatus {
    let category = failure.category.as_str();
    // An outage of their node began before the pods were seen to fail of something else.
    let is_of_it = |pod: &&FailingPod| pod.category != Category::Node || failure.category == Category::Node;
    let pods_fail = failing.iter().filter(is_of_it).filter_map(|pod| pod.since).min();
    WorkloadDiagnosisStatus {
        head: Head {
            remedies: failure.remedies,
            evidence: failure.evidence,
            first_seen: pods_fail.into_iter().chain(failure.since).min(),
            ..Head::active(&failure.cause, category, failure.severity, failure.confidence, failure.summary)
        },
        problem: failure.problem.to_owned(),
        container: failure.container,
        pods: failure.pods,
        causes: failure.causes,
        serving: failure.serving,
        template_changes: failure.template_changes,
        templates: Vec::new(),
        root: None,
        folded_events: 0,
    }
}
