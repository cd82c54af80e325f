//! Substitutes whole names in a text.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

/// Names and their replacements.
pub(super) struct Substitution {
    finder: Option<AhoCorasick>,
    names: Vec<(String, String)>,
    /// Names of containers, which stay where a text is about a container.
    containers: BTreeSet<String>,
}

impl Substitution {
    pub(super) fn new(replacements: &BTreeMap<String, String>, containers: BTreeSet<String>) -> Self {
        let names: Vec<_> = replacements.iter().map(|(name, by)| (name.clone(), by.clone())).collect();
        let finder = AhoCorasick::new(names.iter().map(|(name, _)| name)).ok();
        Self { finder, names, containers }
    }

    /// The places of names in a text, and their replacements. `in_context_only`: a name that is a plain word counts only
    /// where a text marks it as a name.
    pub(super) fn places<'s>(&'s self, text: &str, in_context_only: bool) -> Vec<(std::ops::Range<usize>, &'s str)> {
        let finder = self.finder.iter();
        let found = finder.flat_map(|finder| finder.find_overlapping_iter(text)).filter_map(|found| {
            let (name, by) = &self.names[found.pattern().as_usize()];
            let (before, behind) = (&text[..found.start()], &text[found.end()..]);
            let is_name = is_whole(name, before, behind)
                && !(self.containers.contains(name) && is_of_container(before))
                && (!in_context_only || !is_plain(name) || is_marked(before, behind));
            is_name.then_some((found.range(), by.as_str()))
        });
        found.collect()
    }
}

/// Whether a name could be a word of a sentence or of a program.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Whether a name at this place is no part of a longer word.
fn is_whole(name: &str, before: &str, behind: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    if before.ends_with(is_letter) || behind.starts_with(is_letter) {
        return false;
    }
    if !is_plain(name) {
        return true;
    }
    // `read-only` is no pod of a workload `read`, and `web-5d4f7c9b-x2x4z` is one of `web`.
    let next = behind.strip_prefix('-').map(|rest| rest.split(|c: char| !is_letter(c) && c != '-').next());
    let is_generated = next.flatten().is_none_or(|rest| rest.contains(|c: char| c.is_ascii_digit()));
    !before.ends_with('-') && is_generated
}

/// Whether a text names a container here: `container "web"`, `container=web`, `spec.containers{web}`.
fn is_of_container(before: &str) -> bool {
    let word = before.trim_end_matches([' ', '"', '\'', '`', '\\', '=', ':', '{', '[', '(']);
    let end = word.char_indices().rev().nth(9).map_or(word, |(at, _)| &word[at..]).to_ascii_lowercase();
    end.ends_with("container") || end.ends_with("containers")
}

/// Whether a text marks a word as a name: by quotes, as a part of a path or of a host name, or as the begin of another.
fn is_marked(before: &str, behind: &str) -> bool {
    before.ends_with(['"', '\'', '`', '/', '_', '@'])
        || behind.starts_with(['"', '\'', '`', '/', '-', '_'])
        || before.ends_with('.') && behind.starts_with(['.', ':', '/'])
        || behind.starts_with(".svc")
        || before.ends_with("lookup ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, in_context_only: bool) -> String {
        let names =
            [("web", "A"), ("shop", "B"), ("node-7", "C"), ("read", "D"), ("web-5d4f7c9b-x2x4z", "A-5d4f7c9b-x2x4z")];
        let names = names.map(|(name, by)| (name.to_owned(), by.to_owned())).into();
        let substitution = Substitution::new(&names, ["web".to_owned()].into());
        let mut out = text.to_owned();
        let mut places = substitution.places(text, in_context_only);
        places.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut until = 0;
        places.retain(|(range, _)| {
            range.start >= until && {
                until = range.end;
                true
            }
        });
        for (range, by) in places.into_iter().rev() {
            out.replace_range(range, by);
        }
        out
    }

    #[test]
    fn whole_names_are_replaced() {
        for (text, expected) in [
            ("pod web-5d4f7c9b-x2x4z_shop(u) on node-7", "pod A-5d4f7c9b-x2x4z_B(u) on C"),
            ("web-0 and web-7f6c9 of web, webhook", "A-0 and A-7f6c9 of A, webhook"),
            ("lookup web.shop.svc.cluster.local", "lookup A.B.svc.cluster.local"),
            ("read-only file system; already read", "read-only file system; already D"),
            ("failed container web in pod web: service \"web\"", "failed container web in pod A: service \"A\""),
            ("spec.containers{web} failed container=web pod=web", "spec.containers{web} failed container=web pod=A"),
            ("node-77 my-web", "node-77 my-web"),
        ] {
            assert_eq!(replaced(text, false), expected);
        }
    }

    #[test]
    fn plain_words_can_be_replaced_in_context_only() {
        let text = "cannot read web: service \"web\" of shop/web at node-7";
        assert_eq!(replaced(text, true), "cannot read web: service \"A\" of B/A at C");
    }
}
