//! Patterns of messages: all patterns of the causes of a signal in one automaton.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// The patterns of a signal's causes.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    automaton: Option<AhoCorasick>,
    /// Distinct parts of all patterns, in lower case.
    parts: Vec<String>,
}

/// Literal parts with any text between them, as indexes into the vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Box<[usize]>);

/// Parts of a vocabulary found in a message.
#[derive(Debug)]
pub(crate) struct Hits {
    found: Vec<bool>,
    lower: String,
}

impl Vocabulary {
    /// Adds a case-insensitive pattern to `parts`.
    pub(crate) fn pattern(parts: &mut Vec<String>, text: &str) -> Pattern {
        let places = text.split('*').filter(|part| !part.is_empty()).map(|part| {
            let part = part.to_ascii_lowercase();
            parts.iter().position(|known| *known == part).unwrap_or_else(|| {
                parts.push(part);
                parts.len() - 1
            })
        });
        Pattern(places.collect())
    }

    pub(crate) fn new(parts: Vec<String>) -> Self {
        // A DFA takes ten times the memory, 1 MB for all signals. More than one dense level takes 75 kB and is not faster.
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).dense_depth(1).build(&parts);
        let automaton = automaton.ok().filter(|_| !parts.is_empty());
        Self { automaton, parts }
    }

    /// Searches a message once for all patterns.
    pub(crate) fn look(&self, message: &str) -> Hits {
        let mut found = vec![false; self.parts.len()];
        let lower = message.to_ascii_lowercase();
        if let Some(automaton) = &self.automaton {
            for hit in automaton.find_overlapping_iter(&lower) {
                if let Some(found) = found.get_mut(hit.pattern().as_usize()) {
                    *found = true;
                }
            }
        }
        Hits { found, lower }
    }

    /// Whether the parts of a pattern occur in order.
    pub(crate) fn holds(&self, hits: &Hits, pattern: &Pattern) -> bool {
        if !pattern.0.iter().all(|place| hits.found.get(*place).copied().unwrap_or(false)) {
            return false;
        }
        let mut rest = hits.lower.as_str();
        pattern.0.len() < 2
            || pattern.0.iter().filter_map(|place| self.parts.get(*place)).all(|part| match rest.find(part.as_str()) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
    }

    /// Length of the literal text of a pattern. Longer patterns are more specific.
    pub(crate) fn weight(&self, pattern: &Pattern) -> usize {
        pattern.0.iter().filter_map(|place| self.parts.get(*place)).map(String::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_pattern_match_in_order_and_case_insensitively() {
        let mut parts = Vec::new();
        let manifest = Vocabulary::pattern(&mut parts, "manifest for * not found");
        let lookup = Vocabulary::pattern(&mut parts, "lookup *no such host");
        let vocabulary = Vocabulary::new(parts);
        let hits = vocabulary.look("Manifest for web:1 not found: dial tcp: no such host, lookup x");
        assert!(vocabulary.holds(&hits, &manifest));
        assert!(!vocabulary.holds(&hits, &lookup), "in the other order");
        assert!(vocabulary.holds(&vocabulary.look("LOOKUP registry: no such host"), &lookup));
    }
}
