//! Text templates: `{signal.field}`, `{signal.field|default}`, and `[ ... ]`, which is omitted if a field in it is
//! empty. Literal braces and brackets are doubled.

use std::borrow::Cow;

use super::problem::Fault;
use crate::case::Summary;
use crate::case::fields::{Fields, Path};
use crate::language::Language;
use crate::message::{self, text};
use crate::signals::Value;

/// Bytes that most texts need.
const LENGTH: usize = 200;

/// How a value is written.
type Quote = fn(&Value) -> Cow<'_, str>;

fn unquoted(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Text(text) => text.into(),
        other => other.to_string().into(),
    }
}

/// A text with placeholders for fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Field { path: Path, default: Option<String> },
    Optional(Vec<Part>),
}

impl Part {
    /// Whether this is `[; {container.restarts}]`, which changes with each restart.
    fn is_counts(&self) -> bool {
        matches!(self, Self::Optional(parts)
            if matches!(&**parts, [Self::Text(_), Self::Field { path, .. }] if path.as_str() == "container.restarts"))
    }

    /// Whether this is `[: ...]`, which adds a reason to what the text before it states.
    fn is_detail(&self) -> bool {
        matches!(self, Self::Optional(parts) if matches!(parts.first(), Some(Self::Text(text)) if text.starts_with(": ")))
    }
}

impl Template {
    /// Parses a template.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let mut reader = Reader { text, at: 0 };
        let parts = reader.parts(false)?;
        Ok(Self { parts })
    }

    /// Paths of all fields in the template.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        fn collect<'t>(parts: &'t [Part], out: &mut Vec<&'t Path>) {
            for part in parts {
                match part {
                    Part::Text(_) => {}
                    Part::Field { path, .. } => out.push(path),
                    Part::Optional(parts) => collect(parts, out),
                }
            }
        }
        let mut out = Vec::new();
        collect(&self.parts, &mut out);
        out
    }

    /// Renders the template with unquoted values.
    pub(crate) fn render(&self, fields: &dyn Fields, language: Language) -> String {
        self.render_with(fields, language, unquoted)
    }

    /// Renders the template with each value passed through `quote`.
    pub(crate) fn render_with(&self, fields: &dyn Fields, language: Language, quote: Quote) -> String {
        let mut out = String::with_capacity(LENGTH);
        fill(&self.parts, fields, language, quote, &mut out);
        out
    }

    /// The value for a parameter: a list if the template is a field with a list, or else a text.
    pub(crate) fn value(&self, fields: &dyn Fields) -> Value {
        let list = match &*self.parts {
            [Part::Field { path, .. }] => Some(fields.value(path)).filter(|value| matches!(**value, Value::List(_))),
            _ => None,
        };
        let list = list.filter(|list| !list.is_empty()).map(Cow::into_owned);
        list.unwrap_or_else(|| self.render(fields, Language::English).into())
    }

    /// Renders the template of a summary. Its last optional parts are the detail and the counts.
    pub(crate) fn summary(&self, fields: &dyn Fields, language: Language) -> Summary {
        let counts = self.parts.len() - usize::from(self.parts.last().is_some_and(Part::is_counts));
        let detail = counts - usize::from(self.parts[..counts].last().is_some_and(Part::is_detail));
        let mut out = String::with_capacity(LENGTH);
        let [statement, head, _] = [0..detail, detail..counts, counts..self.parts.len()].map(|parts| {
            fill(&self.parts[parts], fields, language, unquoted, &mut out);
            out.len()
        });
        Summary::new(&out[..statement], &out[statement..head], &out[head..])
    }

    /// Renders the template, or returns `None` if a field is empty.
    pub(crate) fn render_if_complete(&self, fields: &dyn Fields, language: Language) -> Option<String> {
        let mut out = String::new();
        fill(&self.parts, fields, language, unquoted, &mut out).then_some(out)
    }
}

/// Most characters of a field of a custom resource in a text.
const FIELD_MAX: usize = 140;

/// A field of a custom resource as texts show it: in one line, without secrets. Other fields are clean as they are.
fn clean(value: &Value) -> Value {
    match value {
        Value::Text(text) => message::fit_error(text, FIELD_MAX).into(),
        Value::List(list) => list.iter().map(|item| text::line(item, FIELD_MAX)).collect::<Vec<_>>().into(),
        Value::Json(json) => text::line(&json.to_string(), FIELD_MAX).into(),
        other => other.clone(),
    }
}

/// Returns whether all fields had a value.
fn fill(parts: &[Part], fields: &dyn Fields, language: Language, quote: Quote, out: &mut String) -> bool {
    let mut complete = true;
    for part in parts {
        match part {
            Part::Text(text) => language.join(out, text),
            Part::Field { path, default } => {
                let mut value = fields.value(path);
                if path.is_of_resource() {
                    value = Cow::Owned(clean(&value));
                }
                if !value.is_empty() {
                    language.join(out, &quote(&value));
                } else if let Some(default) = default {
                    language.join(out, default);
                } else {
                    complete = false;
                }
            }
            Part::Optional(parts) => {
                // Parts are appended; only spaces before them may be dropped.
                let kept = out.trim_end_matches(' ').len();
                let spaces = out.len() - kept;
                if !fill(parts, fields, language, quote, out) {
                    out.truncate(kept);
                    out.extend(std::iter::repeat_n(' ', spaces));
                }
            }
        }
    }
    complete
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn parts(&mut self, inside: bool) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(next) = rest.find(['{', '}', '[', ']']) else {
                if inside {
                    return Err(self.problem("a `[` is not closed; write `[[` for a bracket that is meant"));
                }
                push_text(&mut parts, rest);
                parts.shrink_to_fit();
                return Ok(parts);
            };
            push_text(&mut parts, &rest[..next]);
            self.at += next;
            let rest = &rest[next..];
            let (mark, after) = rest.split_at(1);
            if after.starts_with(mark) {
                push_text(&mut parts, mark);
                self.at += 2;
                continue;
            }
            match mark {
                "{" => parts.push(self.field(after)?),
                "[" if inside => {
                    return Err(self.problem("a `[` within `[ ... ]`; write `[[` for a bracket that is meant"));
                }
                "[" => {
                    self.at += 1;
                    parts.push(Part::Optional(self.parts(true)?));
                }
                "]" if inside => {
                    self.at += 1;
                    parts.shrink_to_fit();
                    return Ok(parts);
                }
                other => {
                    return Err(self.problem(&format!(
                        "a `{other}` that closes nothing; write `{other}{other}` for one that is meant"
                    )));
                }
            }
        }
    }

    fn field(&mut self, after: &'t str) -> Result<Part, Fault> {
        let Some((inside, _)) = after.split_once('}') else {
            return Err(self.problem("a `{` is not closed; write `{{` for a brace that is meant"));
        };
        let (path, default) = match inside.split_once('|') {
            Some((path, default)) => (path, Some(default.to_owned())),
            None => (inside, None),
        };
        let is_path =
            !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if !is_path {
            return Err(self.problem(&format!("`{{{inside}}}` names no field; a field is `{{signal.field}}`")));
        }
        self.at += inside.len() + 2;
        Ok(Part::Field { path: super::path(path), default })
    }

    fn problem(&self, what: &str) -> Fault {
        Fault { at: Some(self.text[..self.at].chars().count() + 1), ..Fault::new(what) }
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two;

    impl Fields for Two {
        fn value(&self, path: &Path) -> Cow<'_, Value> {
            Cow::Owned(match path.as_str() {
                "a.b" => Value::from("x{y}"),
                "a.empty" => Value::from(""),
                _ => Value::None,
            })
        }
    }

    fn render(text: &str) -> String {
        Template::parse(text).unwrap().render(&Two, Language::English)
    }

    #[test]
    fn fields_defaults_and_optional_parts_are_rendered() {
        assert_eq!(render("is {a.b}"), "is x{y}");
        assert_eq!(render("is {a.empty|unknown}"), "is unknown");
        assert_eq!(render("one[; two {a.b}][; three {a.empty}]"), "one; two x{y}");
        assert_eq!(render("{{a.b}} spec.items[[0]]"), "{a.b} spec.items[0]");
    }

    #[test]
    fn error_of_an_invalid_template_has_its_position() {
        for (text, place) in [("ab {a.b", 4), ("a ] b", 3), ("[a", 2), ("{}", 1)] {
            assert_eq!(Template::parse(text).unwrap_err().at, Some(place), "{text}");
        }
    }
}
