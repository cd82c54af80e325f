//! State of requested objects that are not healthy, whether or not that counts as a failure yet.

use shindan_core::case::{LeftOut, Thresholds, pod_status};
use shindan_core::facts::route::{BackendService, NetworkKind};
use shindan_core::facts::{
    ObjectKey, OwnFacts, Phase, PodFacts, Timestamp, WorkloadFacts, WorkloadKind, seconds_between,
};
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;
use shindan_core::offline::{PendingObject, SeenSoFar, UndiagnosedPod};
use shindan_core::wire::{Dump, Service};

use super::kind::Kind;
use super::own_status;
use super::subject::{Asked, Subject};

/// What an object lacks to be healthy.
pub(super) struct Missing {
    subject: Subject,
    namespace: Option<String>,
    text: String,
    /// For a Service: the pods that it selects.
    selected: Vec<ObjectKey>,
    /// For a custom resource or an object on the path of a request: the failure that is not reported yet, and when it would be.
    own: Option<(SeenSoFar, Timestamp)>,
}

impl Missing {
    /// Whether a failure is seen that has not lasted long enough to be reported.
    pub(super) fn fails_so_far(&self, undiagnosed: &[UndiagnosedPod]) -> bool {
        self.seen_so_far(undiagnosed).is_some()
    }

    /// The object and its state as text, with what is seen so far and the time from which it counts as failing, if
    /// known.
    pub(super) fn text(&self, undiagnosed: &[UndiagnosedPod], (language, now): (Language, Timestamp)) -> String {
        let own = || undiagnosed.iter().filter(|pod| self.is_of_it(pod));
        let mut stands = format!("{}: {}", self.subject, self.text);
        if let Some(by) = own().find_map(|pod| pod.left_out.as_ref()) {
            let by = ignored_by(by, language);
            return translate!(
                language,
                "{stands}; its cause is ignored ({by})",
                "{stands}。無視するよう指定された原因で失敗している ({by})",
                stands,
                by
            );
        }
        if let Some(seen) = self.seen_so_far(undiagnosed) {
            stands = format!("{stands}. {}", so_far(seen, language));
        }
        let of_pods = own().filter_map(|pod| pod.from).filter(|from| *from > now);
        match of_pods.chain(self.own.as_ref().map(|(_, from)| *from)).min() {
            Some(from) => {
                let wait = text::duration(seconds_between(now, from));
                translate!(
                    language,
                    "{stands}. If this continues, it is reported at {from} (in {wait})",
                    "{stands}。このままなら {from} から ({wait} 後) 診断される",
                    stands,
                    from,
                    wait
                )
            }
            None => stands,
        }
    }

    fn is_of_it(&self, undiagnosed: &UndiagnosedPod) -> bool {
        is_of(&self.subject, self.namespace.as_deref(), undiagnosed) || self.selected.contains(&undiagnosed.pod)
    }

    fn seen_so_far<'u>(&'u self, undiagnosed: &'u [UndiagnosedPod]) -> Option<&'u SeenSoFar> {
        let of_pods = undiagnosed.iter().filter(|pod| self.is_of_it(pod)).find_map(|pod| pod.seen_so_far.as_ref());
        of_pods.or(self.own.as_ref().map(|(seen, _)| seen))
    }
}

/// Who ignores a cause, as text in brackets.
fn ignored_by(by: &LeftOut, language: Language) -> String {
    match by {
        LeftOut::BySetting => {
            phrase!(language, "annotation shindan.dev/ignore", "アノテーション shindan.dev/ignore").to_owned()
        }
        LeftOut::ByRule(Some(rule)) => translate!(language, "rule {rule}", "ルール {rule}", rule),
        LeftOut::ByRule(None) => phrase!(language, "a DiagnosisRule", "DiagnosisRule").to_owned(),
    }
}

/// A failure of the objects that has not lasted long enough to be reported.
pub(super) fn seen_so_far<'u>(
    undiagnosed: &'u [UndiagnosedPod],
    subjects: &[Subject],
    namespace: Option<&str>,
) -> Option<&'u SeenSoFar> {
    let is_theirs = |pod: &&UndiagnosedPod| subjects.iter().any(|subject| is_of(subject, namespace, pod));
    undiagnosed.iter().filter(is_theirs).find_map(|pod| pod.seen_so_far.as_ref())
}

/// Whether a pod is the object, or belongs to the workload.
fn is_of(subject: &Subject, namespace: Option<&str>, undiagnosed: &UndiagnosedPod) -> bool {
    let is_here = namespace.is_none_or(|namespace| *undiagnosed.pod.namespace == *namespace);
    is_here
        && match subject.kind {
            Kind::Pod => *undiagnosed.pod.name == *subject.name,
            Kind::Node | Kind::Route(_) => false,
            Kind::Workload(_) | Kind::Custom(_) => {
                undiagnosed.workload.as_ref().is_some_and(|of| subject.is_workload(of))
            }
        }
}

/// A failure that is not reported yet, as a sentence without its full stop.
pub(super) fn so_far(seen: &SeenSoFar, language: Language) -> String {
    let SeenSoFar { cause, summary } = seen;
    translate!(
        language,
        "Seen so far: {summary} ({cause})",
        "これまでに見えること: {summary} ({cause})",
        summary,
        cause
    )
}

/// The missing state of each of `subjects` that is not healthy.
pub(super) fn of(
    dump: &Dump,
    subjects: &[Subject],
    namespace: Option<&str>,
    (thresholds, now): (&Thresholds, Timestamp),
) -> Vec<Missing> {
    let missing = subjects.iter().filter_map(|subject| {
        let text = still_to_come(dump, subject, namespace, thresholds.language)?;
        let object = own_status::find(dump, subject, namespace);
        let own = object.and_then(|facts| own_status::failure_to_come(facts, thresholds, now));
        let selected = match subject.kind {
            Kind::Route(NetworkKind::Service) => {
                selected(dump, subject, namespace).map(|pod| pod.key.clone()).collect()
            }
            _ => Vec::new(),
        };
        Some(Missing { subject: subject.clone(), namespace: namespace.map(ToOwned::to_owned), text, selected, own })
    });
    missing.collect()
}

/// The state of requested objects on the path of a request whose failure is not reported yet.
pub(super) fn of_routes(
    pending: Vec<PendingObject>,
    asked: &Asked,
    namespace: Option<&str>,
    language: Language,
) -> Vec<Missing> {
    let missing = pending.into_iter().filter_map(|PendingObject { object, from, seen_so_far }| {
        let subject = asked.subjects().iter().find(|subject| subject.is_workload(&object))?.clone();
        Some(Missing {
            subject,
            namespace: namespace.map(ToOwned::to_owned),
            text: phrase!(language, "not healthy", "健全でない").to_owned(),
            selected: Vec::new(),
            own: Some((seen_so_far, from)),
        })
    });
    missing.collect()
}

/// The unfinished pods that a Service selects.
fn selected<'d>(dump: &'d Dump, service: &Subject, namespace: Option<&str>) -> impl Iterator<Item = &'d PodFacts> {
    let is_it = |of: &BackendService| {
        *of.key.name == *service.name && namespace.is_none_or(|namespace| *of.key.namespace == *namespace)
    };
    let service = dump.services.iter().filter_map(Service::backend).find(is_it);
    dump.pods.iter().filter(move |pod| {
        let selects = |of: &BackendService| of.key.namespace == pod.key.namespace && of.selects(&pod.labels);
        !pod.is_over() && service.as_ref().is_some_and(selects)
    })
}

/// What the object lacks to be healthy, as text to follow its name. The dump may contain pods of other namespaces,
/// which only use resources of nodes.
pub(super) fn still_to_come(
    dump: &Dump,
    subject: &Subject,
    namespace: Option<&str>,
    language: Language,
) -> Option<String> {
    let missing = || Some(phrase!(language, "does not exist", "存在しない").to_owned());
    let is_here = |key: &ObjectKey| namespace.is_none_or(|namespace| *key.namespace == *namespace);
    match subject.kind {
        Kind::Pod => match dump.pods.iter().find(|pod| *pod.key.name == *subject.name && is_here(&pod.key)) {
            None => missing(),
            Some(pod) if pod.is_ready() || pod.phase == Phase::Succeeded => None,
            Some(pod) => Some(of_pod(pod, language)),
        },
        Kind::Node => match dump.nodes.iter().find(|node| *node.name == *subject.name) {
            None => missing(),
            Some(node) if node.is_ready() => None,
            Some(_) => Some(phrase!(language, "not ready", "Ready でない").to_owned()),
        },
        Kind::Workload(_) => match workload(dump, subject) {
            None => missing(),
            Some(workload) if workload.is_stale() => {
                Some(phrase!(language, "not seen by its controller yet", "controller がまだ見ていない").to_owned())
            }
            Some(workload) if last_run_succeeded(workload) || workload.is_complete() => None,
            // A suspended workload has everything it needs but does not run.
            Some(workload) if workload.suspended => Some(phrase!(language, "suspended", "停止中 (suspend)").to_owned()),
            Some(workload) if workload.is_settled() => None,
            Some(workload) => Some(progress(&subject.kind, workload, language)),
        },
        Kind::Custom(_) => own_status::still_to_come(own_status::find(dump, subject, namespace), language),
        Kind::Route(NetworkKind::Service) => {
            let (ready, all) = selected(dump, subject, namespace)
                .fold((0_usize, 0_usize), |(ready, all), pod| (ready + usize::from(pod.is_ready()), all + 1));
            (ready == 0 && all > 0)
                .then(|| translate!(language, "0 of {all} pods ready", "Pod {all} 個中 0 個が Ready", all))
        }
        // Their failures have a time from which they are reported. That they exist was checked before.
        Kind::Route(_) => None,
    }
}

/// The state with the STATUS that kubectl prints.
fn of_pod(pod: &PodFacts, language: Language) -> String {
    let what = if pod.is_over() {
        phrase!(language, "ended", "終了済み")
    } else {
        phrase!(language, "not ready", "Ready でない")
    };
    let status = pod_status(pod);
    // Scheduling gates are set on purpose, so they are not a failure.
    if !pod.scheduling_gates.is_empty() {
        let gates = text::line(&pod.scheduling_gates.join(", "), text::EVIDENCE_MAX);
        return translate!(
            language,
            "{what} ({status}: it waits until {gates} is removed)",
            "{what} ({status}: {gates} が外されるのを待っている)",
            what,
            status,
            gates
        );
    }
    if pod.deletion.is_some() && status != "Terminating" {
        return translate!(language, "{what} ({status}), being deleted", "{what} ({status})、削除中", what, status);
    }
    format!("{what} ({status})")
}

/// Whether the newest run of a CronJob has succeeded and no run is active.
fn last_run_succeeded(workload: &WorkloadFacts) -> bool {
    let OwnFacts::CronJob(own) = &workload.own else { return false };
    workload.current == 0 && workload.last_successful.is_some_and(|done| own.last_schedule.is_none_or(|at| at <= done))
}

fn progress(kind: &Kind, workload: &WorkloadFacts, language: Language) -> String {
    let WorkloadFacts { ready, desired, updated, succeeded, .. } = workload;
    match kind {
        Kind::Workload(WorkloadKind::Job) => {
            translate!(
                language,
                "{succeeded} of {desired} have succeeded",
                "{desired} 個中 {succeeded} 個が成功",
                succeeded,
                desired
            )
        }
        Kind::Workload(WorkloadKind::CronJob) => {
            phrase!(language, "no run has completed yet", "まだ最後まで実行されていない").to_owned()
        }
        _ => {
            let paused = if workload.paused {
                phrase!(language, "; its rollout is paused", "。ロールアウトは一時停止中")
            } else {
                ""
            };
            translate!(
                language,
                "{ready} of {desired} ready, {updated} of the newest template{paused}",
                "{desired} 個中 {ready} 個が Ready、最新の template のものは {updated} 個{paused}",
                ready,
                desired,
                updated,
                paused
            )
        }
    }
}

pub(super) fn workload<'d>(dump: &'d Dump, subject: &Subject) -> Option<&'d WorkloadFacts> {
    dump.workloads.iter().find(|facts| subject.is_workload(&facts.key))
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::{WorkloadKey, WorkloadName};

    use super::*;

    #[test]
    fn a_cron_job_is_healthy_once_its_newest_run_has_succeeded() {
        let nightly = Subject { kind: Kind::Workload(WorkloadKind::CronJob), name: "nightly".to_owned() };
        let is_healthy = |status: &str| {
            let mut dump = Dump::default();
            dump.read(&format!(
                "{{kind: CronJob, apiVersion: batch/v1, metadata: {{namespace: shop, name: nightly, uid: c}}, \
                 spec: {{schedule: '0 1 * * *'}}, status: {{{status}}}}}"
            ));
            still_to_come(&dump, &nightly, Some("shop"), Language::English).is_none()
        };
        let at = |field: &str, hour: u8| format!("{field}: '2026-11-21T{hour:02}:00:00Z', ");
        assert!(!is_healthy(""), "it has never run");
        assert!(is_healthy(&(at("lastScheduleTime", 1) + &at("lastSuccessfulTime", 2))));
        assert!(!is_healthy(&(at("lastScheduleTime", 3) + &at("lastSuccessfulTime", 2))), "of an earlier run");
        let active = "active: [{kind: Job, name: nightly-1}]";
        assert!(!is_healthy(&(at("lastScheduleTime", 1) + &at("lastSuccessfulTime", 2) + active)));
    }

    #[test]
    fn a_paused_rollout_is_reported_as_paused() {
        let mut dump = Dump::default();
        dump.read(
            "{kind: Deployment, apiVersion: apps/v1, metadata: {namespace: shop, name: web, uid: w}, \
             spec: {replicas: 1, paused: true}, status: {}}",
        );
        let web = Subject { kind: Kind::Workload(WorkloadKind::Deployment), name: "web".to_owned() };
        let missing = still_to_come(&dump, &web, Some("shop"), Language::English);
        assert_eq!(missing.as_deref(), Some("0 of 1 ready, 0 of the newest template; its rollout is paused"));
    }

    #[test]
    fn a_suspended_job_is_not_complete() {
        let import = Subject { kind: Kind::Workload(WorkloadKind::Job), name: "import".to_owned() };
        let missing = |suspend: bool, status: &str| {
            let mut dump = Dump::default();
            dump.read(&format!(
                "{{kind: Job, apiVersion: batch/v1, metadata: {{namespace: shop, name: import, uid: j}}, \
                 spec: {{suspend: {suspend}, completions: 1}}, status: {{{status}}}}}"
            ));
            still_to_come(&dump, &import, Some("shop"), Language::English)
        };
        assert_eq!(missing(true, "").as_deref(), Some("suspended"));
        assert_eq!(missing(false, "").as_deref(), Some("0 of 1 have succeeded"));
        assert_eq!(missing(false, "succeeded: 1, conditions: [{type: Complete, status: 'True'}]"), None);
    }

    #[test]
    fn a_pod_of_another_namespace_is_ignored() {
        let pod = |namespace: &str, ready: &str| {
            format!(
                "kind: Pod
metadata: {{namespace: {namespace}, name: web, uid: {namespace}}}
spec: {{nodeName: n1, containers: [{{name: app, image: app:1}}]}}
status: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}]}}
"
            )
        };
        let web = Subject { kind: Kind::Pod, name: "web".to_owned() };
        let missing = |pods: &[String]| {
            let mut dump = Dump::default();
            dump.read(&pods.join("---\n"));
            still_to_come(&dump, &web, Some("shop"), Language::English)
        };
        assert_eq!(missing(&[pod("shop", "True")]), None);
        assert_eq!(missing(&[pod("other", "False"), pod("shop", "True")]), None);
        let both = [pod("other", "True"), pod("shop", "False")];
        assert_eq!(missing(&both).as_deref(), Some("not ready (Running)"));
        assert_eq!(missing(&both[..1]).as_deref(), Some("does not exist"), "it was deleted meanwhile");
    }

    #[test]
    fn the_time_of_the_threshold_uses_own_pods_only() {
        let now: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let undiagnosed = |namespace: &str, pod: &str, workload: &str, from: &str| UndiagnosedPod {
            pod: ObjectKey { namespace: namespace.into(), name: pod.into() },
            workload: Some(WorkloadKey::from(WorkloadName {
                api_version: "apps/v1".into(),
                namespace: namespace.into(),
                kind: "Deployment".into(),
                name: workload.into(),
            })),
            from: from.parse().ok(),
            left_out: from.is_empty().then_some(LeftOut::BySetting),
            seen_so_far: None,
        };
        let of = |kind, name: &str| Missing {
            subject: Subject { kind, name: name.to_owned() },
            namespace: Some("shop".to_owned()),
            text: "0 of 1 ready".to_owned(),
            selected: Vec::new(),
            own: None,
        };
        let all = [
            undiagnosed("other", "web-1", "web", "2026-11-21T09:00:10Z"),
            undiagnosed("shop", "db-1", "db", "2026-11-21T09:00:20Z"),
            undiagnosed("shop", "web-1", "web", "2026-11-21T09:01:00Z"),
            undiagnosed("shop", "web-2", "web", "2026-11-21T09:02:00Z"),
        ];
        let web = of(Kind::Workload(WorkloadKind::Deployment), "web");
        let later = "If this continues, it is reported at 2026-11-21T09:01:00Z (in 60 s)";
        assert_eq!(web.text(&all, (Language::English, now)), format!("Deployment web: 0 of 1 ready. {later}"));
        assert_eq!(
            of(Kind::Pod, "web-1").text(&all, (Language::English, now)),
            format!("Pod web-1: 0 of 1 ready. {later}")
        );
        assert_eq!(web.text(&all[..2], (Language::English, now)), "Deployment web: 0 of 1 ready");
        let ignored = [undiagnosed("shop", "web-1", "web", "")];
        assert_eq!(
            web.text(&ignored, (Language::English, now)),
            "Deployment web: 0 of 1 ready; its cause is ignored (annotation shindan.dev/ignore)"
        );
        let by_rule = UndiagnosedPod { left_out: Some(LeftOut::ByRule(Some("quiet-ci".into()))), ..ignored[0].clone() };
        assert_eq!(
            web.text(&[by_rule], (Language::English, now)),
            "Deployment web: 0 of 1 ready; its cause is ignored (rule quiet-ci)"
        );
    }
}
