//! DaemonSets: one pod for each node.

use super::creation::{self, Creation};
use super::failure::{Verdict, Why, build_failure};
use super::pods::{Pods, count, is_of_update};
use super::revisions;
use crate::case::{WorkloadCase, WorkloadJudged};
use crate::language::{Language, phrase, translate};

/// Maximum number of nodes in a summary.
const NAMED: usize = 3;

pub(super) fn judge(case: &WorkloadCase<'_>) -> WorkloadJudged {
    let workload = case.workload;
    let pods = Pods::of(case);
    let desired = count(workload.desired);
    if let Some(group) = pods.dominant(|pod| is_of_update(case, pod)) {
        let stands = fails_on(case.language(), &pods, desired);
        let mut verdict = Verdict::new("FailingOnNodes", pods.severity(case), stands, Why::Pods(group));
        revisions::add_rollback(case, pods.old_ready, &mut verdict);
        return WorkloadJudged::failing(build_failure(case, &pods, verdict));
    }
    match creation::find(case, |_| workload.current < workload.desired) {
        Creation::Accepted => WorkloadJudged::default(),
        Creation::NotBefore(at) => WorkloadJudged::later(at),
        Creation::Rejected(own) => {
            let (problem, stands) = match pods.ready {
                0 if workload.current <= 0 => ("NoPods", phrase!(case, "no pod exists", "Pod がない").to_owned()),
                _ => {
                    let missing = count(workload.desired - workload.current);
                    (
                        "FailingOnNodes",
                        translate!(
                            case,
                            "no pod can be created on {missing} of {desired} nodes",
                            "{desired} ノード中 {missing} ノードで Pod を作れない",
                            missing,
                            desired
                        ),
                    )
                }
            };
            let verdict = Verdict::new(problem, pods.severity(case), stands, Why::Own(own));
            WorkloadJudged::failing(build_failure(case, &pods, verdict))
        }
    }
}

fn fails_on(language: Language, pods: &Pods<'_>, desired: u32) -> String {
    let mut nodes: Vec<&str> = pods.failing.iter().filter_map(|pod| pod.node.as_deref()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let failing = pods.count();
    if failing >= desired {
        return match desired {
            0 | 1 => phrase!(language, "fails on its only node", "唯一のノードで失敗").to_owned(),
            _ => translate!(language, "fails on all {desired} nodes", "全 {desired} ノードで失敗", desired),
        };
    }
    let named = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if nodes.len() > NAMED { ", ..." } else { "" };
    let named = if named.is_empty() { named } else { format!(" ({named}{more})") };
    translate!(
        language,
        "fails on {failing} of {desired} nodes{named}",
        "{desired} ノード中 {failing} ノードで失敗{named}",
        failing,
        desired,
        named
    )
}
