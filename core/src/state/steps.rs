//! Counts the entries of pods and diagnoses that are read, for tests that bound the work of a decision.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts one entry. Does nothing outside tests.
#[inline]
pub(in crate::state) fn count() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// The number of entries that `work` reads.
#[cfg(test)]
pub(crate) fn of(work: impl FnOnce()) -> usize {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::of;
    use crate::case::Thresholds;
    use crate::facts::Timestamp;
    use crate::offline::{self, Logs, View};
    use crate::outbox::Subject;
    use crate::reconcile::{Intent, Policy};
    use crate::state::{Caps, Change, Source, World};
    use crate::wire::Dump;

    const NOW: &str = "2026-07-01T10:00:00Z";

    /// A dump of pods of one namespace whose container has exited with code 1. `owner` is the owner of the n-th pod.
    fn failing(pods: usize, owner: impl Fn(usize) -> String) -> Dump {
        let mut text = String::new();
        for n in 0..pods {
            let owners = owner(n);
            let _ = write!(
                text,
                "---
kind: Pod
metadata: {{name: p-{n}, namespace: shop, uid: 00000000-0000-4000-8000-{n:012x}, creationTimestamp: '2026-07-01T09:00:00Z', ownerReferences: [{owners}]}}
spec: {{nodeName: node1, containers: [{{name: app, image: busybox}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: 'False', lastTransitionTime: '2026-07-01T09:00:00Z'}}]
  containerStatuses:
  - name: app
    restartCount: 5
    state: {{waiting: {{reason: CrashLoopBackOff, message: back-off}}}}
    lastState: {{terminated: {{exitCode: 1, reason: Error, startedAt: '2026-07-01T09:50:00Z', finishedAt: '2026-07-01T09:51:00Z'}}}}
"
            );
        }
        let mut dump = Dump::default();
        dump.read(&text);
        assert_eq!(dump.pods.len(), pods);
        dump
    }

    fn steps_to_diagnose(pods: usize, owner: impl Fn(usize) -> String) -> usize {
        let dump = failing(pods, owner);
        let now: Timestamp = NOW.parse().unwrap();
        of(|| {
            let report = offline::diagnose(dump, Logs::default(), now, View::from(Thresholds::default()));
            assert_eq!(report.pods.len(), pods);
        })
    }

    #[test]
    fn work_for_a_dump_is_linear_in_its_failing_pods() {
        let owned = |kind: &str, name: &str| {
            let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
            format!("{{apiVersion: {version}, kind: {kind}, name: {name}, uid: u-{name}, controller: true}}")
        };
        type Owner<'a> = &'a dyn Fn(usize) -> String;
        let shapes: [(&str, Owner<'_>); 4] = [
            ("bare", &|_| String::new()),
            ("of one StatefulSet", &|_| owned("StatefulSet", "web")),
            ("of a StatefulSet each", &|n| owned("StatefulSet", &format!("web-{n}"))),
            ("of a Job each", &|n| owned("Job", &format!("run-{n}"))),
        ];
        for (shape, owner) in shapes {
            let (few, many) = (steps_to_diagnose(25, owner), steps_to_diagnose(100, owner));
            assert!(many <= few * 5, "pods {shape}: {few} steps for 25 of them, {many} for 100");
        }
    }

    /// The steps to decide about one more failing pod of a namespace that has this many, and as many objects at most.
    fn steps_beyond_the_cap(pods: usize) -> usize {
        let now: Timestamp = NOW.parse().unwrap();
        let caps = Caps { per_namespace: pods, ..Caps::default() };
        let mut world = World::new(Thresholds::default(), Policy::default(), caps);
        Source::ALL.into_iter().for_each(|source| drop(world.apply(Change::ListDone(source), now)));
        let mut steps = 0;
        for pod in failing(pods + 1, |_| String::new()).pods {
            let uid = pod.uid.clone();
            let _ = world.apply(Change::Pod(Box::new(pod)), now);
            steps = of(|| {
                if let Some(Intent::Apply(write)) = world.decide(&Subject::Pod(uid), now).plan.intent {
                    let _ = world.acknowledged(&write, "uid".to_owned(), "1".to_owned(), now);
                }
            });
        }
        assert_eq!(world.reported.summary_entries().count(), pods);
        assert_eq!(world.reported.beyond_caps(), 1);
        steps
    }

    #[test]
    fn work_for_a_pod_does_not_depend_on_the_diagnoses_of_its_namespace() {
        assert_eq!(steps_beyond_the_cap(10), steps_beyond_the_cap(60));
    }
}
