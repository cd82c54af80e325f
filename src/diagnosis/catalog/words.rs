//! Words of messages: all patterns of a signal's causes in one automaton.

use aho_corasick::AhoCorasick;

/// The patterns of a signal's causes.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    automaton: Option<AhoCorasick>,
    /// Parts of all patterns, each once, in lower case.
    parts: Vec<String>,
}

/// Literal text, where anything may stand between its parts; by the places of the parts in the vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Vec<usize>);

/// What a message holds of a vocabulary.
#[derive(Debug)]
pub(crate) struct Hits {
    found: Vec<bool>,
    lower: String,
}

impl Vocabulary {
    /// Reads patterns, in any case, into `parts`.
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
        let automaton = if parts.is_empty() { None } else { AhoCorasick::new(&parts).ok() };
        Self { automaton, parts }
    }

    /// Looks once at a message for all patterns.
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

    /// Whether the parts of a pattern occur, one after the other.
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

    /// How much text a pattern fixes: the more, the more specific.
    pub(crate) fn weight(&self, pattern: &Pattern) -> usize {
        pattern.0.iter().filter_map(|place| self.parts.get(*place)).map(String::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_pattern_stand_in_order_and_in_any_case() {
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
