//! Sentences common to the tree and the page.

use shindan_core::api::{Restarts, ServiceImpact};
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};
use shindan_core::message::text;

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
