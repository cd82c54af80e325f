//! Pods whose sandbox, network or node-side set-up fails, so that no container is even created.
//!
//! None of it is in a container's status, which stays at `ContainerCreating`: only Events tell, and only while the pod still
//! waits; one that failed once and succeeded at the next try is well.

mod remedies;
mod rows;

use super::signature::{self, Seen};
use crate::api::Confidence;
use crate::diagnosis::language::Sentence;
pub(super) use crate::diagnosis::signals::sandbox::failure;
use crate::diagnosis::signals::sandbox::is_being_set_up;
use crate::diagnosis::{Case, Category, Family, Finding, Recovery, Rule, Specificity, Verdict, evidence, text};
use crate::facts::EventFacts;

/// Tries are some 10 s apart: what fails once only is over by then.
const SECOND_TRY: i64 = 15;
/// A node that has just joined has no network for a while.
const NODE_JOINS: i64 = 60;

const SANDBOX: &[&str] = &["FailedCreatePodSandBox"];

const RULES: [Rule; rows::ROWS.len()] = signature::rules(rows::ROWS, Category::Sandbox, Recovery::NeverStarted);

pub(super) const FAMILY: Family = Family::Table { rules: &RULES, ask };

pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    signature::patient(rows::ROWS)
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    if case.events.is_empty() {
        return Vec::new();
    }
    failure(case).into_iter().chain(failed_sync(case)).filter_map(|event| judge(case, event)).collect()
}

fn judge(case: &Case<'_>, event: &EventFacts) -> Option<(usize, Verdict)> {
    let mut seen = Seen::in_event(event);
    if is_of_sandbox(event) {
        seen.reason = "FailedCreatePodSandBox";
    }
    let (index, row) = signature::first(rows::ROWS, case, &seen)?;
    // Repeats prove nothing of a node that is still joining.
    let times = if row.patience > SECOND_TRY { 1 } else { event.count };
    if let Err(at) = signature::counts(case, row, signature::first_told(case, event), times) {
        return Some((index, Verdict::NotBefore(at)));
    }
    let mut finding =
        Finding::of_pod(say(case, &seen, row.says)).with(evidence::event(event)).rooted((row.root)(case, &seen));
    if let Some(condition) = case.pod.condition("PodReadyToStartContainers") {
        finding = finding.with(evidence::condition(condition));
    }
    if row.specificity == Specificity::Umbrella {
        finding = finding.confidence(Confidence::Likely);
    }
    Some((index, Verdict::Yes(Box::new(finding))))
}

/// Before Kubernetes 1.8 a sandbox that failed had no Event of its own.
fn is_of_sandbox(event: &EventFacts) -> bool {
    &*event.reason == "FailedSync"
        && ["with CreatePodSandboxError", "with SetupNetworkError"].iter().any(|error| event.message.contains(error))
}

/// A sync that failed lately, for a pod that is not well; it concerns pods that run as well.
fn failed_sync<'a>(case: &Case<'a>) -> Option<&'a EventFacts> {
    // Before Kubernetes 1.10 the kubelet added one to whatever went wrong, a crash or a pull too.
    let alone = |e: &&EventFacts| !e.message.starts_with("Error syncing pod") || is_being_set_up(case);
    let recent = |e: &&EventFacts| alone(e) && e.last.is_none_or(|at| case.age(at) < 900);
    let event = case.events_with("FailedSync").rev().find(recent)?;
    (!case.pod.is_over() && !case.pod.is_ready()).then_some(event)
}

fn say(case: &Case<'_>, seen: &Seen<'_>, says: &'static str) -> String {
    let mut sentence = Sentence::of(case, says);
    let mut fill = |place: &str, with: &dyn Fn() -> String| sentence.fill(place, with);
    let said = seen.text;
    fill("node", &|| node(case).to_owned());
    fill("plugin", &|| plugin(said).map(|p| format!(" ({p})")).unwrap_or_default());
    fill("missing_plugin", &|| missing_plugin(said).unwrap_or("(unnamed)").to_owned());
    fill("handler", &|| signature::quoted_after(said, "no runtime for ").unwrap_or("(unnamed)").to_owned());
    fill("short", &|| signature::innermost(said, 80));
    fill("words", &|| signature::innermost(said, 110));
    text::line(&sentence.told(), text::SUMMARY_MAX)
}

fn missing_plugin(said: &str) -> Option<&str> {
    signature::quoted_after(said, "failed to find plugin ")
}

fn plugin(said: &str) -> Option<&str> {
    signature::quoted_after(said, "plugin type=").or_else(|| signature::between(said, "plugin type=\\\"", "\\\""))
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.pod.node_name.as_deref().unwrap_or("unknown")
}
