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
        0 => translate!(language, "Service {name} has no ready endpoints.", name),
        1 => translate!(language, "Service {name} is left with 1 ready endpoint.", name),
        ready => translate!(language, "Service {name} is left with {ready} ready endpoints.", name, ready),
    }
}

/// `5 restarts, back-off 2m40s, the next in 35 s`.
pub(super) fn restarts(restarts: &Restarts, now: Timestamp, language: Language) -> String {
    let mut text = match restarts.count {
        1 => phrase!(language, "1 restart").to_owned(),
        count => translate!(language, "{count} restarts", count),
    };
    let back_off = restarts.back_off.iter().map(|back_off| translate!(language, ", back-off {back_off}", back_off));
    let next = restarts.next_restart_time.map(|next| match seconds_between(now, next) {
        0 => phrase!(language, ", the next is due").to_owned(),
        wait => translate!(language, ", the next in {wait}", wait = text::duration(wait)),
    });
    let unseen = match restarts.unseen {
        0 => None,
        1 => Some(phrase!(language, "; 1 run ended unobserved").to_owned()),
        unseen => Some(translate!(language, "; {unseen} runs ended unobserved", unseen)),
    };
    text.extend(back_off.chain(next).chain(unseen));
    text
}
