//! Sentences that the tree and the page have in common.

use crate::api::{Restarts, ServiceImpact};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, text};
use crate::facts::{Timestamp, seconds_between};

/// What a Service is left with.
pub(super) fn service(service: &ServiceImpact, language: Language) -> String {
    let name = &service.name;
    match service.ready_endpoints {
        0 => say!(language, "Service {name} reaches nobody.", name),
        1 => say!(language, "Service {name} is left with 1 ready endpoint.", name),
        ready => say!(language, "Service {name} is left with {ready} ready endpoints.", name, ready),
    }
}

/// `5 restarts, back-off 2m40s, the next in 35 s`.
pub(super) fn restarts(restarts: &Restarts, now: Timestamp, language: Language) -> String {
    let mut said = match restarts.count {
        1 => phrase!(language, "1 restart").to_owned(),
        count => say!(language, "{count} restarts", count),
    };
    let back_off = restarts.back_off.iter().map(|back_off| say!(language, ", back-off {back_off}", back_off));
    let next = restarts.next_restart_time.map(|next| match seconds_between(now, next) {
        0 => phrase!(language, ", the next is due").to_owned(),
        wait => say!(language, ", the next in {wait}", wait = text::duration(wait)),
    });
    let unseen = match restarts.unseen {
        0 => None,
        1 => Some(phrase!(language, "; 1 run ended while nobody looked").to_owned()),
        unseen => Some(say!(language, "; {unseen} runs ended while nobody looked", unseen)),
    };
    said.extend(back_off.chain(next).chain(unseen));
    said
}
