//! The course of an incident, from the times in its diagnoses.

use shindan_core::api::{DiagnosisState, Head, Run};
use shindan_core::facts::Timestamp;
use shindan_core::language::{Language, phrase, translate};

use super::escape::{code, words};
use crate::cli::found::{Block, NodeOrWorkload, OfPod};
use crate::cli::sentences;
use crate::cli::tree::alike;

/// Most entries: the first and the last ones.
const MOST: usize = 40;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// `None`: entries are left out here.
    pub(super) time: Option<Timestamp>,
    /// Markdown.
    pub(super) text: String,
}

/// The entries of an incident, oldest first.
pub(super) fn of(block: &Block<'_>, language: Language) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add =
        |time: Option<Timestamp>, text: String| entries.extend(time.map(|time| Entry { time: Some(time), text }));
    match block.node_or_workload.map(|of| &of.object) {
        Some(NodeOrWorkload::Workload(_, status)) => {
            for ledger in &status.templates {
                let (template, cause) = (code(&ledger.template), code(&ledger.cause));
                let text = translate!(
                    language,
                    "the first pod of template {template} fails: {cause}",
                    "テンプレート {template} の最初の Pod が失敗: {cause}",
                    template,
                    cause
                );
                add(ledger.first_failure, text);
            }
            let changes = status.template_changes.iter().map(|change| code(&sentences::change(change, language)));
            let changes: Vec<String> = changes.collect();
            of_head(&status.head, &changes, language, &mut add);
        }
        Some(NodeOrWorkload::Node(_, status)) => {
            for change in &status.ready_history {
                add(
                    Some(change.time),
                    format!("{} {}", code(&format!("Ready = {}", change.status)), words(&change.reason)),
                );
            }
            of_head(&status.head, &[], language, &mut add);
        }
        None => {}
    }
    // Pods that fail alike have the same course.
    for pod in alike(&block.pods).iter().filter_map(|pods| pods.first()) {
        of_pod(pod, block.node_or_workload.is_none(), language, &mut add);
    }
    entries.sort();
    entries.dedup();
    shorten(entries, language)
}

fn of_head(head: &Head, changes: &[String], language: Language, add: &mut impl FnMut(Option<Timestamp>, String)) {
    let cause = code(&head.cause);
    let changes = if changes.is_empty() { String::new() } else { format!(" ({})", changes.join(", ")) };
    let text = translate!(
        language,
        "the failure is first seen: {cause}{changes}",
        "最初に検出: {cause}{changes}",
        cause,
        changes
    );
    add(head.first_seen, text);
    let last = match head.state {
        DiagnosisState::Recovered => phrase!(language, "it is healthy again", "正常に戻った"),
        DiagnosisState::Gone => phrase!(language, "the object is deleted", "オブジェクトが削除された"),
        DiagnosisState::Active => phrase!(language, "the diagnosis changes for the last time", "診断が最後に変わった"),
    };
    if head.state != DiagnosisState::Active || head.last_transition != head.first_seen {
        add(head.last_transition, last.to_owned());
    }
    for evidence in &head.evidence {
        add(evidence.time, format!("{} = {}", code(&evidence.source), code(&evidence.value)));
    }
}

fn of_pod(pod: &OfPod, is_alone: bool, language: Language, add: &mut impl FnMut(Option<Timestamp>, String)) {
    let (head, name) = (&pod.status.head, code(&pod.key.name));
    if is_alone {
        of_head(head, &[], language, add);
    } else {
        let cause = code(&head.cause);
        add(
            head.first_seen,
            translate!(language, "Pod {name} fails: {cause}", "Pod {name} が失敗: {cause}", name, cause),
        );
        match head.state {
            DiagnosisState::Recovered => {
                add(
                    head.last_transition,
                    translate!(language, "Pod {name} is healthy again", "Pod {name} が正常に戻った", name),
                );
            }
            DiagnosisState::Gone => {
                add(
                    head.last_transition,
                    translate!(language, "Pod {name} is deleted", "Pod {name} が削除された", name),
                );
            }
            DiagnosisState::Active => {}
        }
    }
    for run in pod.status.restarts.iter().flat_map(|restarts| &restarts.history) {
        let Run { container, started_at, finished_at, .. } = run;
        let container = code(container);
        let start = translate!(
            language,
            "container {container} of Pod {name} starts",
            "Pod {name} のコンテナ {container} が起動",
            container,
            name
        );
        add(*started_at, start);
        let exit = words(&sentences::exit(run, language));
        let end = translate!(
            language,
            "container {container} of Pod {name} ends: {exit}",
            "Pod {name} のコンテナ {container} が終了: {exit}",
            container,
            name,
            exit
        );
        add(*finished_at, end);
    }
}

fn shorten(mut entries: Vec<Entry>, language: Language) -> Vec<Entry> {
    let Some(more) = entries.len().checked_sub(MOST).filter(|more| *more > 0) else { return entries };
    let text = translate!(language, "… {more} entries left out", "… {more} 件省略", more);
    let last = entries.split_off(MOST / 2 + more);
    entries.truncate(MOST / 2);
    entries.push(Entry { time: None, text });
    entries.extend(last);
    entries
}
