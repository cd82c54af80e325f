//! Compiles cause files: checks expressions, templates and patterns against the fields of the signal.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::cause::{Bilingual, Cause, CompiledRemedy, CompiledRoot, Condition, Report, Threshold, intern};
use super::compiled::OfSignal;
use super::expression::Expression;
use super::file::{CauseFile, Choice, Kind, Match, RemedyTemplate, RootTemplate};
use super::problem::{Fault, Problem};
use super::template::Template;
use super::words::Vocabulary;
use super::{command, order};
use crate::api::{Confidence, RemedyKind, Severity};
use crate::case::fields::{Path, RESOURCE};
use crate::case::roots::RootKind;
use crate::case::{Category, Thresholds};
use crate::facts::{CustomKind, KindFields};
use crate::signals::object::ObjectStatus;
use crate::signals::{Definition, FieldType};
use crate::{actions, signals};

/// A threshold setting of the operator, with its name in cause files.
type Setting = (&'static str, fn(&Thresholds) -> i64);

/// Settings that a threshold can use.
const SETTINGS: [Setting; 7] = [
    ("unschedulable", |t| t.unschedulable),
    ("neverReady", |t| t.never_ready),
    ("readinessLost", |t| t.readiness_lost),
    ("creating", |t| t.creating),
    ("creatingPulling", |t| t.creating_pulling),
    ("init", |t| t.init),
    ("eventGrace", |t| t.event_grace),
];

/// A cause file, and the embedded JSON with the texts that the file omits.
pub(super) type Input = (Arc<CauseFile>, Option<&'static [u8]>);

/// Compiles the conditions of the causes of a signal. Adds errors to `problems` and returns the causes without errors.
pub(super) fn of_signal(signal: &'static Definition, files: &[Input], problems: &mut Vec<Problem>) -> OfSignal {
    let mut compiler = Compiler::new(signal);
    let causes: Vec<Cause> = files.iter().filter_map(|(file, whole)| compiler.cause(file, *whole)).collect();
    problems.append(&mut compiler.problems);
    let vocabulary = Vocabulary::new(compiler.parts);
    let causes = order::sorted(causes, &vocabulary, problems).into_iter().map(Arc::new).collect();
    OfSignal { vocabulary, causes }
}

/// Compiles the texts of a cause. Adds errors to `problems`.
pub(super) fn report(signal: &'static Definition, file: &CauseFile, problems: &mut Vec<Problem>) -> Report {
    let mut compiler = Compiler::new(signal);
    let report = compiler.texts(file);
    problems.append(&mut compiler.problems);
    report
}

/// The kinds of custom resources that a cause names, each with the fields that its conditions and texts read.
pub(super) fn fields(signal: &'static Definition, file: &Arc<CauseFile>) -> KindFields {
    let mut compiler = Compiler::new(signal);
    compiler.cause(file, None);
    compiler.texts(file);
    let mut fields = KindFields::default();
    let names = file.alternatives.0.iter().flat_map(|of| &of.kinds);
    for kind in names.filter_map(|name| CustomKind::parse(name).ok()) {
        fields.add(&kind, compiler.fields.iter().cloned());
    }
    fields
}

/// Compiles a condition over the fields of a signal, for a cause of it. Adds errors to `problems`.
pub(super) fn condition(
    signal: &'static Definition,
    cause: &str,
    source: Option<&String>,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Expression> {
    let mut compiler = Compiler { cause: cause.to_owned(), ..Compiler::new(signal) };
    let expression = compiler.expression(source, path);
    problems.append(&mut compiler.problems);
    expression
}

/// Compiles the causes of one signal.
struct Compiler {
    definition: &'static Definition,
    /// Parts of the patterns of all causes so far.
    parts: Vec<String>,
    /// The current cause.
    cause: String,
    /// Whether the current cause is only about kinds of custom resources, so that it can read each field of them.
    has_kinds: bool,
    /// Fields of custom resources that the conditions and texts so far read.
    fields: BTreeSet<Arc<str>>,
    problems: Vec<Problem>,
}

impl Compiler {
    fn new(definition: &'static Definition) -> Self {
        Self {
            definition,
            parts: Vec::new(),
            cause: String::new(),
            has_kinds: false,
            fields: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    fn begin(&mut self, file: &CauseFile) {
        self.cause.clone_from(&file.cause);
        let alternatives = &file.alternatives.0;
        self.has_kinds = !alternatives.is_empty() && alternatives.iter().all(|of| !of.kinds.is_empty());
    }

    fn report(&mut self, path: &str, fault: Fault) {
        self.problems.push(Problem { cause: self.cause.clone(), path: path.to_owned(), fault });
    }

    /// Compiles the conditions of a cause. Returns `None` after errors, which are all reported.
    fn cause(&mut self, file: &Arc<CauseFile>, whole: Option<&'static [u8]>) -> Option<Cause> {
        let before = self.problems.len();
        self.begin(file);
        if Category::named(&file.category).is_none() {
            let known = Category::ALL.iter().map(|category| category.as_str());
            self.report("category", Fault::unknown("category", &file.category, known));
        }
        let conditions = numbered("match", &file.alternatives.0).map(|(path, of)| self.condition(of, &path)).collect();
        let threshold = self.thresholds(&file.threshold.0).into();
        let signal = self.definition;
        (self.problems.len() == before).then(|| Cause {
            rule: Cause::rule_of(file),
            file: file.clone(),
            whole,
            signal,
            conditions,
            threshold,
            report: OnceLock::new(),
        })
    }

    /// Compiles the texts of a cause.
    fn texts(&mut self, file: &CauseFile) -> Report {
        self.begin(file);
        let summary = self.summary(file);
        let root = numbered("root", &file.root.0).filter_map(|(path, entry)| self.root(entry, &path)).collect();
        let mut consequences = Vec::new();
        for (path, entry) in numbered("consequences", &file.consequences) {
            let when = self.expression(entry.when.as_ref(), &format!("{path}.when"));
            let text = self.bilingual(&entry.text, entry.ja.as_deref(), &path, &format!("{path}.ja"));
            consequences.extend(text.map(|text| (when, intern(&entry.cause), text)));
        }
        let remedies: Vec<CompiledRemedy> =
            numbered("remedies", &file.remedies).map(|(path, entry)| self.remedy(entry, &path)).collect();
        let mut of_remedies: Vec<Path> = remedies.iter().flat_map(CompiledRemedy::paths).cloned().collect();
        of_remedies.sort();
        of_remedies.dedup();
        let confidence = self.choices(
            &file.confidence.0,
            "confidence",
            &[("Certain", Confidence::Certain), ("Likely", Confidence::Likely), ("Possible", Confidence::Possible)],
        );
        let severity = self.choices(
            &file.severity.0,
            "severity",
            &[("Critical", Severity::Critical), ("Warning", Severity::Warning), ("Info", Severity::Info)],
        );
        let noted = self.expression(file.noted.as_ref(), "noted");
        Report { confidence, severity, noted, summary, root, consequences, remedies, of_remedies: of_remedies.into() }
    }

    fn summary(&mut self, file: &CauseFile) -> Vec<(Option<Expression>, Bilingual)> {
        if file.summary.is_empty() {
            self.report("summary", Fault::new("it is missing"));
        }
        let of_file = file.ja.as_ref().and_then(|ja| ja.summary.as_deref());
        let mut summary = Vec::new();
        for (path, variant) in numbered("summary", &file.summary.0) {
            let (japanese, place) = match &variant.ja {
                Some(text) => (Some(text.as_str()), format!("{path}.ja")),
                None => (of_file, "ja.summary".to_owned()),
            };
            let when = self.expression(variant.when.as_ref(), &format!("{path}.when"));
            summary.extend(self.bilingual(&variant.text, japanese, &path, &place).map(|text| (when, text)));
        }
        summary
    }

    fn root(&mut self, entry: &RootTemplate, path: &str) -> Option<CompiledRoot> {
        let kind = RootKind::named_so(&entry.kind);
        if kind.is_none() {
            let known = RootKind::ALL.iter().map(|kind| kind.as_str());
            self.report(&format!("{path}.kind"), Fault::unknown("kind of root", &entry.kind, known));
        }
        let when = self.expression(entry.when.as_ref(), &format!("{path}.when"));
        let name = self.template(&entry.name, &format!("{path}.name"));
        Some(CompiledRoot { kind: kind?, name: name?, when })
    }

    fn condition(&mut self, of: &Match, path: &str) -> Condition {
        for (key, texts) in [("any", &of.message.any), ("all", &of.message.all), ("none", &of.message.none)] {
            let is_blank = |text: &str| text.split('*').all(|part| part.trim().is_empty());
            for (place, _) in numbered(&format!("{path}.message.{key}"), texts).filter(|(_, text)| is_blank(text)) {
                self.report(&place, Fault::new("the pattern has no words, so it matches each message"));
            }
        }
        let kinds = self.kinds(&of.kinds, path);
        let mut patterns =
            |texts: &[String]| texts.iter().map(|text| Vocabulary::pattern(&mut self.parts, text)).collect();
        Condition {
            kinds,
            any: patterns(&of.message.any),
            all: patterns(&of.message.all),
            none: patterns(&of.message.none),
            when: self.expression(of.when.as_ref(), &format!("{path}.when")),
        }
    }

    fn kinds(&mut self, names: &[String], path: &str) -> Box<[CustomKind]> {
        if !names.is_empty() && self.definition.name != ObjectStatus::DEFINITION.name {
            let hint = Some(format!("write `signal: {}`", ObjectStatus::DEFINITION.name));
            let fault = Fault { hint, ..Fault::new("only the signal of custom resources has kinds") };
            self.report(&format!("{path}.kinds"), fault);
        }
        let mut kinds = Vec::new();
        for (place, name) in numbered(&format!("{path}.kinds"), names) {
            match CustomKind::parse(name) {
                Ok(kind) => kinds.push(kind),
                Err(error) => self.report(&place, Fault::new(error)),
            }
        }
        kinds.into()
    }

    fn remedy(&mut self, entry: &RemedyTemplate, path: &str) -> CompiledRemedy {
        let action = entry.action.as_deref().and_then(actions::named);
        if let (Some(name), None) = (&entry.action, action) {
            let known = actions::ACTIONS.iter().map(|action| action.name);
            self.report(&format!("{path}.action"), Fault::unknown("action", name, known));
        }
        let mut with = Vec::new();
        for (name, value) in &entry.with {
            let place = format!("{path}.with.{name}");
            let params = action.map_or(&[][..], |action| action.params);
            let param = params.iter().find(|param| *param == name);
            if param.is_none() && (action.is_some() || entry.action.is_none()) {
                self.report(&place, Fault::unknown("parameter", name, params.iter().copied()));
            }
            with.extend(self.template(value, &place).zip(param).map(|(value, param)| (*param, value)));
        }
        let text = entry.text.as_deref();
        let text = text.and_then(|text| self.bilingual(text, entry.ja.as_deref(), path, &format!("{path}.ja")));
        let has_text = entry.text.is_some() || action.is_some_and(|action| action.has_text);
        if !has_text && (action.is_some() || entry.action.is_none()) {
            self.report(path, Fault::new("a remedy needs a text"));
        }
        if entry.command.is_some() && action.is_some() {
            self.report(&format!("{path}.command"), Fault::new("an action makes its own command"));
        }
        if let Some(part) = entry.command.as_deref().and_then(command::other_than_reading) {
            let hint = Some("an action of docs/actions.md makes a command that changes something".to_owned());
            let fault = Fault { hint, ..Fault::new(format!("`{part}` is not known to only read")) };
            self.report(&format!("{path}.command"), fault);
        }
        CompiledRemedy {
            when: self.expression(entry.when.as_ref(), &format!("{path}.when")),
            action,
            with,
            text,
            command: entry.command.as_deref().and_then(|text| self.template(text, &format!("{path}.command"))),
            kind: match entry.kind {
                Kind::Fix => RemedyKind::Fix,
                Kind::Mitigate => RemedyKind::Mitigate,
                Kind::Investigate => RemedyKind::Investigate,
            },
        }
    }

    fn choices<T: Copy>(&mut self, choices: &[Choice], key: &str, known: &[(&str, T)]) -> Vec<(Option<Expression>, T)> {
        let mut out = Vec::new();
        for (path, choice) in numbered(key, choices) {
            let value = known.iter().find(|(name, _)| *name == choice.is).map(|(_, value)| *value);
            if value.is_none() {
                let names = known.iter().map(|(name, _)| *name);
                self.report(&format!("{path}.is"), Fault::unknown(key, &choice.is, names));
            }
            let when = self.expression(choice.when.as_ref(), &format!("{path}.when"));
            out.extend(value.map(|value| (when, value)));
        }
        out
    }

    fn thresholds(&mut self, choices: &[Choice]) -> Vec<(Option<Expression>, Threshold)> {
        let mut out = Vec::new();
        for (path, choice) in numbered("threshold", choices) {
            let threshold = threshold(&choice.is);
            if threshold.is_none() {
                let names = SETTINGS.map(|(name, _)| name).join(", ");
                let hint = Some(format!("write a duration such as 30s, 2m or 1h, or a setting: {names}"));
                let fault = Fault { hint, ..Fault::new(format!("not a threshold: `{}`", choice.is)) };
                self.report(&format!("{path}.is"), fault);
            }
            let when = self.expression(choice.when.as_ref(), &format!("{path}.when"));
            out.extend(threshold.map(|threshold| (when, threshold)));
        }
        out
    }

    fn expression(&mut self, source: Option<&String>, path: &str) -> Option<Expression> {
        let source = source?;
        let expression = match Expression::compile(source) {
            Ok(expression) => expression,
            Err(fault) => {
                self.report(path, fault);
                return None;
            }
        };
        if self.has_fields(expression.paths().iter(), source, path) {
            let definition = self.definition;
            let faults = expression.faults(source, &|path| field(definition, path));
            faults.into_iter().for_each(|fault| self.report(path, fault));
        }
        Some(expression.without_tree())
    }

    fn bilingual(
        &mut self,
        english: &str,
        japanese: Option<&str>,
        path: &str,
        path_of_japanese: &str,
    ) -> Option<Bilingual> {
        let english = self.template(english, &format!("{path}.text"));
        let japanese = japanese.and_then(|text| self.template(text, path_of_japanese));
        english.map(|english| Bilingual::new(english, japanese))
    }

    fn template(&mut self, text: &str, path: &str) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => {
                self.has_fields(template.paths().into_iter(), text, path);
                Some(template)
            }
            Err(fault) => {
                self.report(path, fault);
                None
            }
        }
    }

    /// Whether each path is a field of the signal or of the context.
    fn has_fields<'p>(&mut self, paths: impl Iterator<Item = &'p Path>, text: &str, key: &str) -> bool {
        let (before, definition) = (self.problems.len(), self.definition);
        for path in paths {
            if let Some(of_resource) = path.of_resource().filter(|_| self.has_kinds) {
                self.fields.insert(of_resource.into());
                continue;
            }
            let path = path.as_str();
            if field(definition, path).is_some() {
                continue;
            }
            if definition.name == ObjectStatus::DEFINITION.name && path.split('.').next() == Some(RESOURCE) {
                let fault = if self.has_kinds {
                    Fault::new("a field of the resource is missing, such as `resource.spec.replicas`")
                } else {
                    let hint = Some("add `kinds: [widgets.acme.example]` to each alternative of `match`".to_owned());
                    Fault {
                        hint,
                        ..Fault::new("the fields of a resource are read only for the kinds in `match.kinds`")
                    }
                };
                self.report(key, fault.at_part(text, path));
                continue;
            }
            let (of, name) = path.split_once('.').unwrap_or((path, ""));
            let fault = match definitions(definition).find(|known| known.name == of) {
                None => Fault::unknown("signal", of, definitions(definition).map(|known| known.name)),
                Some(known) => {
                    Fault::unknown(&format!("field of {of}"), name, known.fields.iter().map(|field| field.name))
                }
            };
            self.report(key, fault.at_part(text, path));
        }
        self.problems.len() == before
    }
}

/// List entries with their paths.
fn numbered<'f, T>(key: &str, entries: &'f [T]) -> impl Iterator<Item = (String, &'f T)> {
    entries.iter().enumerate().map(move |(at, entry)| (format!("{key}.{at}"), entry))
}

/// The signal, and the definitions that all causes can use.
fn definitions(of: &'static Definition) -> impl Iterator<Item = &'static Definition> + Clone {
    std::iter::once(of).chain(signals::CONTEXT.iter().copied())
}

/// The type of the field at a path.
fn field(of: &'static Definition, path: &str) -> Option<FieldType> {
    if path == "workload" {
        return Some(FieldType::Text);
    }
    let (of_path, name) = path.split_once('.')?;
    definitions(of).find(|known| known.name == of_path)?.field(name).map(|field| field.kind)
}

/// Parses `30s`, `2m`, `1h` or the name of a setting.
fn threshold(text: &str) -> Option<Threshold> {
    if let Some((_, setting)) = SETTINGS.iter().find(|(name, _)| *name == text) {
        return Some(Threshold::Setting(*setting));
    }
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1))?;
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.parse::<i64>().ok().map(|number| Threshold::Seconds(number * factor))
}
