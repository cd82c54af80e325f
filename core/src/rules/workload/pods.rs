//! The pods of a workload: which of them fail, their most frequent cause, and how many serve.

use std::cmp::Reverse;

use crate::api::{CauseCount, Serving, Severity};
use crate::case::{Category, FailingPod, Recovery, WorkloadCase};
use crate::facts::{OwnFacts, WorkloadFacts};
use crate::language::{Language, phrase, translate};
use crate::rules;
use crate::rules::{impact, installation};

/// The failing pods of a workload, and the number of healthy ones.
#[derive(Debug)]
pub(super) struct Pods<'a> {
    pub(super) failing: Vec<&'a FailingPod>,
    pub(super) ready: u32,
    /// Ready pods of the newest template.
    pub(super) updated_ready: u32,
    pub(super) old_ready: u32,
    /// Pods that would be ready if their node were.
    pub(super) down: u32,
    /// Pods are repeatedly evicted, shut down or rejected.
    pub(super) repeatedly_removed: bool,
}

/// Pods with the same cause.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    /// The pod whose diagnosis has the highest confidence.
    pub(super) lead: &'a FailingPod,
    pub(super) pods: Vec<&'a FailingPod>,
}

impl Group<'_> {
    /// Whether the pods fail because of their node.
    pub(super) fn is_of_node(&self) -> bool {
        self.lead.category == Category::Node
    }
}

impl<'a> Pods<'a> {
    pub(super) fn of(case: &WorkloadCase<'a>) -> Self {
        let (updated_ready, old_ready) = ready(case);
        let ready = updated_ready.saturating_add(old_ready);
        // An evicted or stuck pod does not count if the workload is complete without it. In an eviction loop, the next
        // pod will be missing soon.
        let is_whole = case.workload.is_settled();
        let is_of_loop = |pod: &FailingPod| case.repeatedly_removed && pod.over;
        let is_missed =
            |pod: &FailingPod| !(is_whole && matches!(pod.category, Category::Lifecycle)) || is_of_loop(pod);
        // Notices are not failures. A node that is down has its own diagnosis, which suffices while other pods serve.
        let counts = |pod: &&FailingPod| {
            pod.severity != Severity::Info && (pod.category != Category::Node || ready == 0) && is_missed(pod)
        };
        let down = case.failing.iter().filter(|pod| pod.category == Category::Node).count();
        let down = u32::try_from(down).unwrap_or(u32::MAX);
        let failing = case.failing.iter().filter(counts).collect();
        Self { failing, ready, updated_ready, old_ready, down, repeatedly_removed: case.repeatedly_removed }
    }

    /// Only the pods for which `is_meant` holds.
    pub(super) fn among(&self, is_meant: impl Fn(&FailingPod) -> bool) -> Self {
        Self { failing: self.failing.iter().copied().filter(|pod| is_meant(pod)).collect(), ..*self }
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.failing.len()).unwrap_or(u32::MAX)
    }

    /// Groups by cause and container, most frequent first.
    fn groups(&self) -> Vec<Group<'a>> {
        let mut out: Vec<Group<'a>> = Vec::new();
        for pod in &self.failing {
            match out.iter_mut().find(|g| g.lead.cause == pod.cause && g.lead.container == pod.container) {
                Some(group) => {
                    group.pods.push(pod);
                    if pod.confidence < group.lead.confidence {
                        group.lead = pod;
                    }
                }
                None => out.push(Group { lead: pod, pods: vec![pod] }),
            }
        }
        out.sort_by(|a, b| {
            let key = |g: &Group<'a>| (Reverse(g.pods.len()), g.lead.confidence);
            key(a)
                .cmp(&key(b))
                .then_with(|| (&a.lead.cause, &a.lead.container).cmp(&(&b.lead.cause, &b.lead.container)))
        });
        out
    }

    /// The most frequent cause among pods of the newest template, higher confidence first; if none of them fails, the
    /// most frequent among all pods. Causes that all of their pods have recovered from come last.
    pub(super) fn dominant(&self, is_newest: impl Fn(&FailingPod) -> bool) -> Option<Group<'a>> {
        let newest = |group: &Group<'a>| group.pods.iter().filter(|pod| is_newest(pod)).count();
        let is_past = |group: &Group<'a>| group.pods.iter().all(|pod| has_recovered(pod));
        let groups = self.groups();
        // Groups are sorted by size, and the first of the best is taken.
        groups.into_iter().min_by_key(|group| (is_past(group), Reverse(newest(group)), group.lead.confidence))
    }

    pub(super) fn causes(&self) -> Vec<CauseCount> {
        const SAMPLES: usize = 2;
        const MOST: usize = 10;
        let groups = self.groups().into_iter().take(MOST);
        groups
            .map(|group| CauseCount {
                cause: group.lead.cause.clone(),
                container: group.lead.container.clone(),
                pods: u32::try_from(group.pods.len()).unwrap_or(u32::MAX),
                sample_pods: group.pods.iter().take(SAMPLES).map(|pod| pod.name.to_string()).collect(),
            })
            .collect()
    }

    pub(super) fn serving(&self, case: &WorkloadCase<'_>) -> Serving {
        Serving {
            updated_ready: self.updated_ready,
            old_ready: self.old_ready,
            services: impact::services(case.services.unwrap_or_default().iter()),
        }
    }

    /// The problem of a workload with failing pods, and its state.
    pub(super) fn standing(&self, language: Language, desired: u32) -> (&'static str, String) {
        let failing = self.count();
        let is_beside = |pod: &&FailingPod| !pod.ready;
        if self.repeatedly_removed && self.failing.iter().all(|pod| pod.over) {
            return (
                "PodsThrownOut",
                phrase!(
                    language,
                    "its pods are evicted or rejected again and again",
                    "Pod が繰り返し evict または拒否されている"
                )
                .to_owned(),
            );
        }
        match (self.ready, desired) {
            (1.., 1) if self.may_have_recovered() => (
                "PartlyFailing",
                phrase!(
                    language,
                    "its only pod failed recently and is ready now",
                    "唯一の Pod は最近失敗し、今は Ready"
                )
                .to_owned(),
            ),
            (1.., _) if self.ready >= desired && self.may_have_recovered() => {
                let stands = match failing {
                    1 => translate!(
                        language,
                        "all {desired} pods are ready now, 1 of them failed recently",
                        "今は {desired} Pod すべてが Ready、うち 1 が最近失敗",
                        desired
                    ),
                    _ if failing >= desired => {
                        translate!(
                            language,
                            "all {desired} pods failed recently and are ready now",
                            "{desired} Pod すべてが最近失敗し、今は Ready",
                            desired
                        )
                    }
                    _ => translate!(
                        language,
                        "all {desired} pods are ready now, {failing} of them failed recently",
                        "今は {desired} Pod すべてが Ready、うち {failing} が最近失敗",
                        desired,
                        failing
                    ),
                };
                ("PartlyFailing", stands)
            }
            // The rollout is paused.
            (1.., _) if self.ready >= desired && self.failing.iter().all(is_beside) => {
                let more = if failing == 1 {
                    phrase!(language, "1 more fails", "さらに 1 個が失敗").to_owned()
                } else {
                    translate!(language, "{failing} more fail", "さらに {failing} 個が失敗", failing)
                };
                (
                    "PartlyFailing",
                    translate!(
                        language,
                        "{ready} of {desired} pods are ready, and {more}",
                        "{desired} Pod 中 {ready} が Ready、{more}",
                        ready = self.ready,
                        desired,
                        more
                    ),
                )
            }
            (0, 1) => {
                ("Unavailable", phrase!(language, "its only pod is not ready", "唯一の Pod が Ready でない").to_owned())
            }
            (0, _) => (
                "Unavailable",
                translate!(
                    language,
                    "none of {desired} pods is ready",
                    "{desired} Pod のいずれも Ready でない",
                    desired
                ),
            ),
            (_, 1) => ("PartlyFailing", phrase!(language, "its only pod fails", "唯一の Pod が失敗").to_owned()),
            _ if failing == 1 => (
                "PartlyFailing",
                translate!(language, "1 of {desired} pods fails", "{desired} Pod 中 1 が失敗", desired),
            ),
            _ => (
                "PartlyFailing",
                translate!(
                    language,
                    "{failing} of {desired} pods fail",
                    "{desired} Pod 中 {failing} が失敗",
                    failing,
                    desired = desired.max(failing)
                ),
            ),
        }
    }

    /// Whether each pod has failed once and is ready again. A pod that has failed twice counts as failing.
    fn may_have_recovered(&self) -> bool {
        const ONCE: u32 = 1;
        self.failing.iter().all(|pod| pod.ready && pod.restarts <= ONCE)
    }

    /// Same as [`Self::standing`], if pods are missing that no existing pod explains.
    pub(super) fn lacking(&self, language: Language, workload: &WorkloadFacts) -> (&'static str, String) {
        let desired = count(workload.desired);
        match self.ready {
            0 if workload.current <= 0 => ("NoPods", phrase!(language, "no pod exists", "Pod がない").to_owned()),
            0 if desired == 1 => {
                ("Unavailable", phrase!(language, "its only pod is not ready", "唯一の Pod が Ready でない").to_owned())
            }
            0 => (
                "Unavailable",
                translate!(
                    language,
                    "none of {desired} pods is ready",
                    "{desired} Pod のいずれも Ready でない",
                    desired
                ),
            ),
            1 => (
                "PartlyFailing",
                translate!(language, "1 of {desired} pods is ready", "{desired} Pod 中 1 が Ready", desired),
            ),
            ready => (
                "PartlyFailing",
                translate!(
                    language,
                    "{ready} of {desired} pods are ready",
                    "{desired} Pod 中 {ready} が Ready",
                    ready,
                    desired
                ),
            ),
        }
    }

    /// Critical if no pod is ready, unless its pods are being installed.
    pub(super) fn severity(&self, case: &WorkloadCase<'_>) -> Severity {
        let unserved = case.services.unwrap_or_default().iter().any(|service| service.ready_endpoints == 0);
        let is_alarm = self.failing.iter().any(|pod| pod.severity == Severity::Critical);
        let is_installed = installation::is_of_workload(case) && !self.failing.is_empty() && !is_alarm;
        if (self.ready == 0 || unserved) && !is_installed { Severity::Critical } else { Severity::Warning }
    }
}

/// Whether a pod is Ready although its cause only prevents starts. (Between two crashes a pod is Ready as well.)
fn has_recovered(pod: &FailingPod) -> bool {
    pod.ready && rules::recovery(&pod.cause, pod.container_type) == Recovery::NeverStarted
}

/// Ready pods of the newest template, and of others.
fn ready(case: &WorkloadCase<'_>) -> (u32, u32) {
    let workload = case.workload;
    let newest = workload.replica_sets.first();
    let Some(seen) = case.ready else {
        return match newest {
            Some(newest) => (count(newest.ready), workload.replica_sets[1..].iter().map(|set| count(set.ready)).sum()),
            None => split_by_revision(case, count(workload.ready)),
        };
    };
    let all: u32 = seen.iter().map(|(_, ready)| *ready).sum();
    match newest {
        Some(newest) => {
            let own = seen.iter().filter(|(maker, _)| *maker == newest.name).map(|(_, ready)| *ready).sum();
            (own, all.saturating_sub(own))
        }
        None => split_by_revision(case, all),
    }
}

/// For a workload without ReplicaSets: during a rollout, the healthy pods of the newest revision and of others.
fn split_by_revision(case: &WorkloadCase<'_>, ready: u32) -> (u32, u32) {
    let workload = case.workload;
    let rolls = match &workload.own {
        OwnFacts::StatefulSet(set) => set.current_revision != set.update_revision,
        OwnFacts::DaemonSet(_) => workload.updated < workload.desired,
        _ => false,
    };
    if !rolls {
        return (ready, 0);
    }
    let failing = case.failing.iter().filter(|pod| is_of_update(case, pod)).count();
    let updated = count(workload.updated).saturating_sub(u32::try_from(failing).unwrap_or(u32::MAX)).min(ready);
    (updated, ready - updated)
}

/// Whether a pod has the newest template of its workload.
pub(super) fn is_of_update(case: &WorkloadCase<'_>, pod: &FailingPod) -> bool {
    pod.template.as_deref().is_some_and(|template| case.workload.is_newest(template) == Some(true))
}

/// Converts a count of the API.
pub(super) fn count(n: i64) -> u32 {
    u32::try_from(n.max(0)).unwrap_or(u32::MAX)
}
