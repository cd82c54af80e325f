//! Compiles cause files: expressions, templates and words, each checked against the fields of the signal.

use super::OfSignal;
use super::cause::{Bilingual, Cause, CompiledRemedy, CompiledRoot, Condition, Threshold};
use super::expression::Expression;
use super::file::{CauseFile, Choice, Kind, Match, RemedyTemplate};
use super::order;
use super::template::Template;
use super::words::Vocabulary;
use crate::api::{Confidence, RemedyKind, Severity};
use crate::diagnosis::roots::RootKind;
use crate::diagnosis::rule::Category;
use crate::diagnosis::signals::{self, Definition};
use crate::diagnosis::{Thresholds, actions, checks};

/// A setting of the operator, by its name in a cause file.
type Setting = (&'static str, fn(&Thresholds) -> i64);

/// Settings of the operator that a threshold may name.
const SETTINGS: [Setting; 7] = [
    ("unschedulable", |t| t.unschedulable),
    ("neverReady", |t| t.never_ready),
    ("readinessLost", |t| t.readiness_lost),
    ("creating", |t| t.creating),
    ("creatingPulling", |t| t.creating_pulling),
    ("init", |t| t.init),
    ("eventGrace", |t| t.event_grace),
];

/// Compiles files. Problems are added to `problems`, and the causes without one are returned.
pub(super) fn compile(files: &'static [CauseFile], problems: &mut Vec<String>) -> Vec<OfSignal> {
    let mut out: Vec<OfSignal> = Vec::new();
    for definition in signals::ALL {
        let mut compiler = Compiler { definition, parts: Vec::new() };
        let mut causes = Vec::new();
        for file in files.iter().filter(|file| file.on == definition.name) {
            match compiler.cause(file) {
                Ok(cause) => causes.push(cause),
                Err(problem) => problems.push(format!("{}: {problem}", file.cause)),
            }
        }
        let vocabulary = Vocabulary::new(compiler.parts);
        let causes = order::sorted(causes, &vocabulary, problems);
        out.push(OfSignal { signal: definition.name, vocabulary, causes });
    }
    out
}

/// Compiles the causes of one signal.
struct Compiler {
    definition: &'static Definition,
    /// The words of all causes so far.
    parts: Vec<String>,
}

impl Compiler {
    fn cause(&mut self, file: &'static CauseFile) -> Result<Cause, String> {
        if Category::named(&file.category).is_none() {
            return Err(format!("category: unknown category {}", file.category));
        }
        let conditions = file.alternatives.0.iter().map(|of| self.condition(of)).collect::<Result<_, _>>()?;
        let ja = file.ja.as_ref();
        let mut summary = Vec::new();
        for variant in &file.summary.0 {
            let japanese = variant.ja.as_deref().or_else(|| ja?.summary.as_deref());
            let text = self.bilingual(&variant.text, japanese, "summary")?;
            summary.push((self.expression(variant.when.as_ref(), "summary.when")?, text));
        }
        let mut root = Vec::new();
        for entry in &file.root.0 {
            let kind = RootKind::named_so(&entry.kind).ok_or_else(|| format!("root: unknown kind {}", entry.kind))?;
            let when = self.expression(entry.when.as_ref(), "root.when")?;
            root.push(CompiledRoot { kind, name: self.template(&entry.name, "root.name")?, when });
        }
        let mut consequences = Vec::new();
        for entry in &file.consequences {
            let when = self.expression(entry.when.as_ref(), "consequences.when")?;
            let text = self.bilingual(&entry.text, entry.ja.as_deref(), "consequences.text")?;
            consequences.push((when, entry.cause.as_str(), text));
        }
        let numbered = file.remedies.iter().enumerate();
        let remedies: Vec<CompiledRemedy> =
            numbered.map(|(n, entry)| self.remedy(entry, &format!("remedies[{n}]"))).collect::<Result<_, _>>()?;
        let mut of_remedies: Vec<String> = remedies.iter().flat_map(CompiledRemedy::paths).map(str::to_owned).collect();
        of_remedies.sort();
        of_remedies.dedup();
        Ok(Cause {
            file,
            conditions,
            threshold: self.thresholds(&file.threshold.0)?,
            confidence: self.choices(&file.confidence.0, "confidence", |name| match name {
                "Certain" => Some(Confidence::Certain),
                "Likely" => Some(Confidence::Likely),
                "Possible" => Some(Confidence::Possible),
                _ => None,
            })?,
            severity: self.choices(&file.severity.0, "severity", |name| match name {
                "Critical" => Some(Severity::Critical),
                "Warning" => Some(Severity::Warning),
                "Info" => Some(Severity::Info),
                _ => None,
            })?,
            noted: self.expression(file.noted.as_ref(), "noted")?,
            summary,
            root,
            consequences,
            remedies,
            of_remedies,
        })
    }

    fn condition(&mut self, of: &'static Match) -> Result<Condition, String> {
        let check = match &of.check {
            None => None,
            Some(check) => Some(
                checks::named(&check.name)
                    .ok_or_else(|| format!("match.check: there is no predicate {}", check.name))?,
            ),
        };
        let mut patterns =
            |texts: &[String]| texts.iter().map(|text| Vocabulary::pattern(&mut self.parts, text)).collect::<Vec<_>>();
        Ok(Condition {
            reasons: &of.reasons,
            any: patterns(&of.message.any),
            all: patterns(&of.message.all),
            none: patterns(&of.message.none),
            when: self.expression(of.when.as_ref(), "match.when")?,
            check,
        })
    }

    fn remedy(&self, entry: &'static RemedyTemplate, place: &str) -> Result<CompiledRemedy, String> {
        let action = match &entry.action {
            None => None,
            Some(name) => Some(actions::named(name).ok_or_else(|| {
                format!("{place}: unknown action {name}; there are {}", actions::names().collect::<Vec<_>>().join(", "))
            })?),
        };
        let mut with = Vec::new();
        for (name, value) in &entry.with {
            let known = action.is_some_and(|action| action.params.contains(&name.as_str()));
            if !known {
                return Err(format!("{place}.with: unknown parameter {name}"));
            }
            with.push((name.as_str(), self.template(value, &format!("{place}.with.{name}"))?));
        }
        let text = entry.text.as_deref().map(|text| self.bilingual(text, entry.ja.as_deref(), place)).transpose()?;
        let has_text = text.is_some() || action.is_some_and(|action| action.has_text);
        if !has_text {
            return Err(format!("{place}: it has no text"));
        }
        if entry.command.is_some() && action.is_some() {
            return Err(format!("{place}: an action makes its own command"));
        }
        Ok(CompiledRemedy {
            when: self.expression(entry.when.as_ref(), place)?,
            action,
            with,
            text,
            command: entry.command.as_deref().map(|command| self.template(command, place)).transpose()?,
            kind: match entry.kind {
                Kind::Fix => RemedyKind::Fix,
                Kind::Mitigate => RemedyKind::Mitigate,
            },
        })
    }

    fn thresholds(&self, choices: &[Choice]) -> Result<Vec<(Option<Expression>, Threshold)>, String> {
        let compile =
            |choice: &Choice| Ok((self.expression(choice.when.as_ref(), "threshold.when")?, threshold(&choice.is)?));
        choices.iter().map(compile).collect()
    }

    fn choices<T>(
        &self,
        choices: &[Choice],
        place: &str,
        named: fn(&str) -> Option<T>,
    ) -> Result<Vec<(Option<Expression>, T)>, String> {
        let compile = |choice: &Choice| {
            let value = named(&choice.is).ok_or_else(|| format!("{place}: unknown value {}", choice.is))?;
            Ok((self.expression(choice.when.as_ref(), place)?, value))
        };
        choices.iter().map(compile).collect()
    }

    fn expression(&self, source: Option<&String>, place: &str) -> Result<Option<Expression>, String> {
        let Some(source) = source else { return Ok(None) };
        let expression = Expression::compile(source).map_err(|error| format!("{place}: {error}"))?;
        self.check_paths(expression.paths().iter().map(String::as_str), place)?;
        Ok(Some(expression))
    }

    fn bilingual(&self, english: &str, japanese: Option<&str>, place: &str) -> Result<Bilingual, String> {
        let text = Bilingual::parse(english, japanese).map_err(|error| format!("{place}: {error}"))?;
        self.check_paths(text.paths(), place)?;
        Ok(text)
    }

    fn template(&self, text: &str, place: &str) -> Result<Template, String> {
        let template = Template::parse(text).map_err(|error| format!("{place}: {error}"))?;
        self.check_paths(template.paths().into_iter(), place)?;
        Ok(template)
    }

    /// Whether each path names a field of the signal or of what stands beside it.
    fn check_paths<'p>(&self, paths: impl Iterator<Item = &'p str>, place: &str) -> Result<(), String> {
        for path in paths {
            let (of, name) = path.split_once('.').unwrap_or((path, ""));
            let beside = signals::CONTEXT.iter().copied();
            let Some(known) = std::iter::once(self.definition).chain(beside).find(|d| d.name == of) else {
                return Err(format!(
                    "{place}: unknown signal {of} in {path}; the cause reads {}",
                    self.definition.name
                ));
            };
            if name.is_empty() && of == "workload" {
                continue;
            }
            if known.field(name).is_none() {
                let fields: Vec<&str> = known.fields.iter().map(|field| field.name).collect();
                return Err(format!("{place}: unknown field {path}; {of} has {}", fields.join(", ")));
            }
        }
        Ok(())
    }
}

/// `30s`, `2m`, `1h`, or the name of a setting.
fn threshold(text: &str) -> Result<Threshold, String> {
    if let Some((_, setting)) = SETTINGS.iter().find(|(name, _)| *name == text) {
        return Ok(Threshold::Setting(*setting));
    }
    let names = SETTINGS.map(|(name, _)| name).join(", ");
    let wrong = || format!("threshold: {text:?} is neither a duration such as 30s, 2m or 1h nor a setting ({names})");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    number.parse::<i64>().map(|n| Threshold::Seconds(n * factor)).map_err(|_| wrong())
}
