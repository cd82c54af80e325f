//! The kinds that rules name: which ones to follow, and whether they can be.

use std::collections::BTreeMap;

use shindan_core::facts::{CustomKind, KindFields};
use tokio::sync::watch;

use super::Rule;
use super::status::Verdict;
use crate::cluster::follow::{Access, Kind, Standing};
use crate::cluster::kinds::{NamedKinds, Standings};

/// Connection to the tasks that follow kinds.
#[derive(Debug)]
pub struct Named {
    /// The kinds that active rules name.
    pub kinds: watch::Sender<NamedKinds>,
    /// The state of each followed kind.
    pub standings: watch::Receiver<Standings>,
}

impl Named {
    /// Publishes the kinds of the rules. A rule whose kind is forbidden counts, so that the permission is noticed.
    pub(super) fn publish(&self, rules: &BTreeMap<String, Rule>) {
        let mut fields = KindFields::default();
        let counts = |rule: &&Rule| matches!(rule.refused, None | Some(Verdict::Forbidden { .. }));
        for rule in rules.values().filter(counts) {
            fields.extend(&rule.checked.fields);
        }
        self.kinds.send_if_modified(|known| known.replace(fields.clone()).as_ref() != Some(&fields));
    }

    /// Compares the rules with what is known of their kinds. Returns whether one is active now and was not before, or the
    /// reverse.
    pub(super) fn judge(&mut self, rules: &mut BTreeMap<String, Rule>) -> bool {
        let standings = self.standings.borrow_and_update().clone();
        rules.values_mut().filter_map(|rule| judge(rule, &standings).then_some(())).count() > 0
    }
}

fn judge(rule: &mut Rule, standings: &Standings) -> bool {
    let access = |kind: &CustomKind| standings.get(kind).and_then(Standing::access);
    let kinds = || rule.checked.fields.kinds();
    rule.is_pending = kinds().any(|kind| access(kind).is_none());
    let is_forbidden = |kind: &&CustomKind| access(kind) == Some(&Access::Forbidden);
    // The role that is printed replaces the present one, so it needs the kinds of that too.
    let others = standings.keys().filter(|kind| !is_forbidden(kind));
    let forbidden: Vec<_> = standings.keys().filter(is_forbidden).collect();
    let of_rule = kinds().find(is_forbidden).map(|kind| Verdict::Forbidden {
        kind: kind.to_string(),
        all: forbidden.iter().copied().chain(others).map(ToString::to_string).collect(),
    });
    rule.waiting = kinds().filter_map(|kind| kind.trouble(access(kind)?, standings)).collect();
    match (&rule.refused, of_rule) {
        (None, Some(verdict)) => {
            rule.refused = Some(verdict);
            true
        }
        (Some(Verdict::Forbidden { .. }), None) => {
            // Until the first read of a kind that is followed again, it is as it was.
            let is_known = !rule.is_pending;
            if is_known {
                rule.refused = None;
            }
            is_known
        }
        (Some(Verdict::Forbidden { .. }), verdict) => {
            rule.refused = verdict;
            false
        }
        _ => false,
    }
}
