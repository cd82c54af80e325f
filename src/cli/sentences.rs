//! Sentences common to the tree and the page.

use shindan_core::api::{DiagnosisState, Remedy, RemedyKind, Restarts, Run, ServiceImpact, TemplateChange};
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;

use super::found::OfPod;
use super::reading::only_reads;

/// Longest reason of a termination.
const REASON: usize = 200;

/// What a remedy does about the cause, as its label.
pub(super) fn remedy(kind: RemedyKind, language: Language) -> &'static str {
    match kind {
        RemedyKind::Mitigate => phrase!(language, "Mitigate", "緩和"),
        RemedyKind::Fix => phrase!(language, "Fix", "修正"),
        RemedyKind::Investigate => phrase!(language, "Investigate", "調査"),
    }
}

/// The words before the command of a remedy that states a change, if the command itself only reads.
pub(super) fn before_command(remedy: &Remedy, language: Language) -> Option<&'static str> {
    let reads = remedy.kind != RemedyKind::Investigate && remedy.command.as_deref().is_some_and(only_reads);
    reads.then(|| phrase!(language, "Look first:", "まず確認:"))
}

/// How many diagnoses of pods have ended, and how: `Ended pods: 3 (2 Recovered, 1 Gone)`.
pub(super) fn ended_pods(pods: &[&OfPod], language: Language) -> String {
    let with = |state: DiagnosisState| {
        let n = pods.iter().filter(|pod| pod.status.head.state == state).count();
        (n > 0).then(|| format!("{n} {state}"))
    };
    let states: Vec<String> = [DiagnosisState::Recovered, DiagnosisState::Gone].into_iter().filter_map(with).collect();
    translate!(
        language,
        "Ended pods: {n} ({states})",
        "終了した Pod: {n} ({states})",
        n = pods.len(),
        states = states.join(", ")
    )
}

/// The remaining endpoints of a Service.
pub(super) fn service(service: &ServiceImpact, language: Language) -> String {
    let name = &service.name;
    match service.ready_endpoints {
        0 => translate!(language, "Service {name} has no ready endpoints.", "Service {name} には届く先がない。", name),
        1 => translate!(
            language,
            "Service {name} is left with 1 ready endpoint.",
            "Service {name} に残る Ready な endpoint は 1。",
            name
        ),
        ready => translate!(
            language,
            "Service {name} is left with {ready} ready endpoints.",
            "Service {name} に残る Ready な endpoint は {ready}。",
            name,
            ready
        ),
    }
}

/// `5 restarts, back-off 2m40s, the next in 35 s`.
pub(super) fn restarts(restarts: &Restarts, now: Timestamp, language: Language) -> String {
    let mut text = match restarts.count {
        1 => phrase!(language, "1 restart", "再起動 1 回").to_owned(),
        count => translate!(language, "{count} restarts", "再起動 {count} 回", count),
    };
    let back_off = restarts
        .back_off
        .iter()
        .map(|back_off| translate!(language, ", back-off {back_off}", "、back-off {back_off}", back_off));
    let next = restarts.next_restart_time.map(|next| match seconds_between(now, next) {
        0 => phrase!(language, ", the next is due", "、次はまもなく").to_owned(),
        wait => translate!(language, ", the next in {wait}", "、次は {wait} 後", wait = text::duration(wait)),
    });
    let unseen = match restarts.unseen {
        0 => None,
        1 => Some(phrase!(language, "; 1 run ended unobserved", "。見ていない間に 1 回終了").to_owned()),
        unseen => {
            Some(translate!(language, "; {unseen} runs ended unobserved", "。見ていない間に {unseen} 回終了", unseen))
        }
    };
    text.extend(back_off.chain(next).chain(unseen));
    text
}

/// `exit 137 (SIGKILL, OOMKilled)`.
pub(super) fn exit(run: &Run, language: Language) -> String {
    let numbered = || run.signal.map(|signal| translate!(language, "signal {signal}", "シグナル {signal}", signal));
    let signal = signal(run).map(str::to_owned).or_else(numbered);
    let reason = Some(text::line(&run.reason, REASON)).filter(|reason| !reason.is_empty() && reason != "Error");
    let beside: Vec<String> = signal.into_iter().chain(reason).collect();
    let code = translate!(language, "exit {code}", "終了コード {code}", code = run.exit_code);
    if beside.is_empty() { code } else { format!("{code} ({})", beside.join(", ")) }
}

/// Name of the signal that terminated a run.
pub(super) fn signal(run: &Run) -> Option<&'static str> {
    match run.signal.unwrap_or(run.exit_code - 128) {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        7 => Some("SIGBUS"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        15 => Some("SIGTERM"),
        _ => None,
    }
}

/// A difference between the failing template and the last good one.
pub(super) fn change(change: &TemplateChange, language: Language) -> String {
    let none = phrase!(language, "(none)", "(なし)");
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| none.to_owned());
    translate!(
        language,
        "changed: {field}: {before} -> {after}",
        "変更: {field}: {before} -> {after}",
        field = change.field,
        before = side(&change.before),
        after = side(&change.after)
    )
}
