//! Label selectors in text form: `app.kubernetes.io/part-of=shop,env!=dev`.

use std::sync::Arc;

use super::Labels;

/// Requirements that labels must all meet. Without requirements, all labels match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: Arc<str>,
    asks: Asks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Asks {
    Present,
    Absent,
    OneOf(Vec<String>),
    /// Also matches if the label is missing.
    NoneOf(Vec<String>),
}

const FORMS: &str = "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key, separated by commas";

impl LabelSelector {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The requirements as the API has them: key, operator and values.
    pub fn requirements(&self) -> impl Iterator<Item = (&str, &'static str, &[String])> {
        self.0.iter().map(|requirement| {
            let (operator, values) = match &requirement.asks {
                Asks::Present => ("Exists", [].as_slice()),
                Asks::Absent => ("DoesNotExist", [].as_slice()),
                Asks::OneOf(values) => ("In", values.as_slice()),
                Asks::NoneOf(values) => ("NotIn", values.as_slice()),
            };
            (&*requirement.key, operator, values)
        })
    }

    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match &requirement.asks {
                Asks::Present => value.is_some(),
                Asks::Absent => value.is_none(),
                Asks::OneOf(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
                Asks::NoneOf(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            }
        })
    }

    /// Parses a selector with the syntax of Kubernetes. The error names the invalid part.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let parts = split(text).ok_or_else(|| format!("a bracket is not closed; {FORMS}"))?;
        let parse = |part: &str| {
            let part = part.trim();
            Requirement::parse(part).map_err(|why| format!("`{part}`: {why}; {FORMS}"))
        };
        parts.into_iter().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut begin, mut is_within) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' => is_within = true,
            ')' => is_within = false,
            ',' if !is_within => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    (!is_within).then_some(parts)
}

impl Requirement {
    fn parse(part: &str) -> Result<Self, String> {
        if let Some(key) = part.strip_prefix('!') {
            return Ok(Self { key: key_of(key.trim())?, asks: Asks::Absent });
        }
        let end = part.find(|c: char| c.is_whitespace() || "=!<>()".contains(c)).unwrap_or(part.len());
        let (key, rest) = part.split_at(end);
        let (key, rest) = (key_of(key)?, rest.trim());
        let single = |value: &str| value_of(value.trim()).map(|value| vec![value]);
        let asks = if rest.is_empty() {
            Asks::Present
        } else if let Some(value) = rest.strip_prefix("!=") {
            Asks::NoneOf(single(value)?)
        } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            Asks::OneOf(single(value)?)
        } else if let Some(values) = rest.strip_prefix("notin") {
            Asks::NoneOf(set(values)?)
        } else if let Some(values) = rest.strip_prefix("in") {
            Asks::OneOf(set(values)?)
        } else {
            return Err(format!("`{rest}` is not an operator"));
        };
        Ok(Self { key, asks })
    }
}

/// Parses a set such as `(a, b)`.
fn set(text: &str) -> Result<Vec<String>, String> {
    let inner = text.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.ok_or("its values must be in brackets")?;
    inner.split(',').map(|value| value_of(value.trim())).collect()
}

fn value_of(value: &str) -> Result<String, String> {
    let is_value = value.is_empty() || is_name(value);
    is_value.then(|| value.to_owned()).ok_or_else(|| format!("`{value}` is not a value that a label can have"))
}

fn key_of(key: &str) -> Result<Arc<str>, String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| {
        let is_part = |part: &str| {
            let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            !part.is_empty() && part.bytes().all(fits) && !part.starts_with('-') && !part.ends_with('-')
        };
        prefix.len() <= 253 && prefix.split('.').all(is_part)
    };
    match is_name(name) && prefix.is_none_or(is_prefix) {
        true => Ok(key.into()),
        false if key.is_empty() => Err("the key of a label is missing".to_owned()),
        false => Err(format!("`{key}` is not a key that a label can have")),
    }
}

fn is_name(text: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        LabelSelector::parse(selector).unwrap().matches(&labels.iter().copied().collect())
    }

    #[test]
    fn labels_match_as_in_kubernetes() {
        let shop = [("app.kubernetes.io/part-of", "shop"), ("env", "prod"), ("debug", "")];
        for selector in [
            "",
            "app.kubernetes.io/part-of=shop,env!=dev",
            "env==prod",
            "env in (dev, prod)",
            " env notin (dev,test) , debug ",
            "!canary",
            "tier!=web",
            "tier notin (web)",
            "debug=",
        ] {
            assert!(matches(selector, &shop), "{selector}");
        }
        for selector in
            ["env=dev", "env != prod", "env in (dev)", "env notin (prod)", "!env", "tier", "tier=web", "tier in (web,)"]
        {
            assert!(!matches(selector, &shop), "{selector}");
        }
    }

    #[test]
    fn invalid_part_of_a_selector_is_named() {
        for (selector, word) in [
            ("env=dev,", "the key of a label is missing"),
            ("env=de v", "`de v` is not a value"),
            ("env in dev", "must be in brackets"),
            ("env in (dev", "a bracket is not closed"),
            ("env>1", "`>1` is not an operator"),
            ("-env", "`-env` is not a key"),
            ("Example.com/a", "`Example.com/a` is not a key"),
        ] {
            let text = LabelSelector::parse(selector).unwrap_err();
            assert!(text.contains(word) && text.contains("key notin (a,b)"), "{selector}: {text}");
        }
    }
}
