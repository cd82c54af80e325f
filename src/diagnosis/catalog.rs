//! The catalogue: each cause is data, one file in `catalog/`. Read once, compiled once, asked for each signal.

mod expression;
pub mod file;
mod order;
mod template;
mod words;

use std::sync::LazyLock;

use self::expression::Expression;
use self::file::{CauseFile, Kind, Precedence, RecoveryRule, RemedyTemplate};
use self::template::Template;
use self::words::{Hits, Pattern, Vocabulary};
use super::actions::{self, Ask};
use super::language::Language;
use super::roots::RootKind;
use super::rule::{Category, Explain, Recovery, Rule, Scope, Specificity};
use super::signals::{self, Definition, OfPod, Signal, Value};
use super::target::shell_word;
use super::{Case, Finding, remedy, target, text};
use crate::api::{Remedy, RemedyKind, Root};
use crate::facts::Container;

/// Values by the paths that expressions and templates name: `imagePull.registry`.
pub(crate) trait Fields {
    /// `None` where there is no such field.
    fn get(&self, path: &str) -> Option<Value>;
}

/// A cause that was found, and the values that its remedies need.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    cause: Option<&'static Cause>,
    values: Vec<(&'static str, Value)>,
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.cause.map(Cause::name) == other.cause.map(Cause::name) && self.values == other.values
    }
}

impl Fields for Snapshot {
    fn get(&self, path: &str) -> Option<Value> {
        self.values.iter().find(|(known, _)| *known == path).map(|(_, value)| value.clone())
    }
}

/// What helps against a finding of the catalogue.
fn remedies(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    finding.snapshot.cause.map_or_else(Vec::new, |cause| cause.remedies(case, finding))
}

/// A cause, ready to be asked.
#[derive(Debug)]
pub(crate) struct Cause {
    file: &'static CauseFile,
    /// One of them must hold; without any it always applies.
    conditions: Vec<Condition>,
    /// Seconds.
    threshold: i64,
    summary: Vec<(Option<Expression>, Bilingual)>,
    root: Vec<CompiledRoot>,
    remedies: Vec<CompiledRemedy>,
    /// Paths of the fields that its remedies name.
    of_remedies: Vec<String>,
}

#[derive(Debug)]
struct Condition {
    reasons: &'static [String],
    any: Vec<Pattern>,
    all: Vec<Pattern>,
    none: Vec<Pattern>,
    when: Option<Expression>,
}

impl Condition {
    fn holds(&self, of: &OfSignal, signal: &dyn Signal, hits: &Hits, fields: &dyn Fields) -> bool {
        let holds = |pattern: &Pattern| of.vocabulary.holds(hits, pattern);
        (self.reasons.is_empty() || self.reasons.iter().any(|reason| reason == signal.reason()))
            && (self.any.is_empty() || self.any.iter().any(holds))
            && self.all.iter().all(holds)
            && !self.none.iter().any(holds)
            && self.when.as_ref().is_none_or(|when| when.holds(fields))
    }
}

#[derive(Debug)]
struct CompiledRoot {
    kind: RootKind,
    name: Template,
    when: Option<Expression>,
}

#[derive(Debug)]
struct CompiledRemedy {
    when: Option<Expression>,
    action: Option<&'static actions::Action>,
    with: Vec<(&'static str, Template)>,
    text: Option<Bilingual>,
    command: Option<Template>,
    kind: RemedyKind,
}

/// A text in English, and in Japanese where it has been translated.
#[derive(Debug)]
struct Bilingual {
    english: Template,
    japanese: Option<Template>,
}

impl Bilingual {
    fn parse(english: &str, japanese: Option<&str>) -> Result<Self, String> {
        Ok(Self { english: Template::parse(english)?, japanese: japanese.map(Template::parse).transpose()? })
    }

    fn render(&self, fields: &dyn Fields, language: Language) -> String {
        match (language, &self.japanese) {
            (Language::Japanese, Some(japanese)) => japanese.render(fields, Language::Japanese),
            _ => self.english.render(fields, Language::English),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.english.paths().into_iter().chain(self.japanese.iter().flat_map(Template::paths))
    }
}

/// The causes of one signal, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct OfSignal {
    signal: &'static str,
    vocabulary: Vocabulary,
    causes: Vec<Cause>,
}

/// All causes, by their signals.
static CATALOG: LazyLock<Vec<OfSignal>> = LazyLock::new(|| {
    let mut problems = Vec::new();
    let compiled = compile(embedded(), &mut problems);
    debug_assert!(problems.is_empty(), "{problems:#?}");
    compiled
});

/// The files of `catalog/`, as `build.rs` read them.
fn embedded() -> &'static [CauseFile] {
    static FILES: LazyLock<Vec<CauseFile>> = LazyLock::new(|| {
        const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/catalog.json"));
        serde_json::from_str(JSON).unwrap_or_default()
    });
    &FILES
}

/// Every text of the catalogue that is explained in Japanese as well.
pub(super) fn explained_in_japanese() -> impl Iterator<Item = (&'static str, &'static str)> {
    embedded().iter().flat_map(|file| {
        let ja = file.ja.as_ref().and_then(|ja| ja.explain.as_ref());
        let pairs = ja.map(|ja| {
            [
                (&file.explain.meaning, &ja.meaning),
                (&file.explain.distinguish, &ja.distinguish),
                (&file.explain.action, &ja.action),
            ]
        });
        pairs.into_iter().flatten().filter_map(|(english, japanese)| Some((english.as_str(), japanese.as_deref()?)))
    })
}

/// The rules of each signal's causes.
static RULES: LazyLock<Vec<(&'static str, Vec<Rule>)>> =
    LazyLock::new(|| CATALOG.iter().map(|of| (of.signal, of.causes.iter().map(Cause::rule).collect())).collect());

/// The rules of a signal's causes, in the order in which they are asked.
pub(super) fn rules(signal: &str) -> &'static [Rule] {
    RULES.iter().find(|(of, _)| *of == signal).map_or(&[], |(_, rules)| rules.as_slice())
}

fn of(signal: &str) -> Option<&'static OfSignal> {
    CATALOG.iter().find(|of| of.signal == signal)
}

/// Causes of a signal that count only after a while.
pub(super) fn patient(signal: &str) -> impl Iterator<Item = &'static str> {
    of(signal).into_iter().flat_map(|of| of.causes.iter()).filter(|c| c.threshold > 0).map(Cause::name)
}

/// The first cause of a signal that applies to an occurrence of it, and its place among the rules of the signal.
pub(super) fn first(
    case: &Case<'_>,
    container: Option<&Container>,
    signal: &dyn Signal,
) -> Option<(usize, &'static Cause)> {
    let of = of(signal.definition().name)?;
    let fields = OfPod { case, container, signal };
    let hits = of.vocabulary.look(signal.message());
    of.causes.iter().enumerate().find(|(_, cause)| cause.applies(of, signal, &hits, &fields))
}

impl Cause {
    pub(super) fn name(&self) -> &'static str {
        &self.file.cause
    }

    fn rule(&'static self) -> Rule {
        let explain = &self.file.explain;
        Rule {
            cause: self.name(),
            category: Category::named(&self.file.category).unwrap_or(Category::Lifecycle),
            recovery: self.file.recovery.map_or(Recovery::NeverStarted, Recovery::from),
            specificity: self.precedence(),
            scope: Scope::Family,
            remedies,
            explain: Explain {
                meaning: &explain.meaning,
                told_apart: &explain.distinguish,
                action: &explain.action,
                source: &explain.source,
            },
        }
    }

    /// For how many seconds it must last before it counts.
    pub(super) fn threshold(&self) -> i64 {
        self.threshold
    }

    pub(super) fn precedence(&self) -> Specificity {
        match self.file.precedence {
            Precedence::Specific => Specificity::Specific,
            Precedence::Umbrella => Specificity::Umbrella,
            Precedence::Symptom => Specificity::Symptom,
            Precedence::LastResort => Specificity::LastResort,
        }
    }

    fn applies(&self, of: &OfSignal, signal: &dyn Signal, hits: &Hits, fields: &dyn Fields) -> bool {
        self.conditions.is_empty() || self.conditions.iter().any(|c| c.holds(of, signal, hits, fields))
    }

    /// The summary, of at most as many characters as a summary may have.
    pub(super) fn summary(&self, fields: &dyn Fields, language: Language) -> String {
        let holds = |when: &Option<Expression>| when.as_ref().is_none_or(|when| when.holds(fields));
        let chosen = self.summary.iter().find(|(when, _)| holds(when));
        text::line(&chosen.map(|(_, text)| text.render(fields, language)).unwrap_or_default(), text::SUMMARY_MAX)
    }

    /// The object outside the pod in which it lies.
    pub(super) fn root(&self, fields: &dyn Fields) -> Option<Root> {
        self.root.iter().filter(|root| root.when.as_ref().is_none_or(|when| when.holds(fields))).find_map(|root| {
            let name = root.name.render_if_complete(fields, Language::English)?;
            (!name.is_empty()).then(|| root.kind.named(&name))
        })
    }

    /// The values that its remedies need.
    pub(super) fn snapshot(&'static self, fields: &dyn Fields) -> Snapshot {
        let values = self.of_remedies.iter().map(|path| (path.as_str(), fields.get(path).unwrap_or(Value::None)));
        Snapshot { cause: Some(self), values: values.collect() }
    }

    /// A finding of a container, or of the pod as a whole, with summary, root and what the remedies need.
    pub(super) fn finding(
        &'static self,
        case: &Case<'_>,
        container: Option<&Container>,
        signal: &dyn Signal,
    ) -> Finding {
        let fields = OfPod { case, container, signal };
        let summary = self.summary(&fields, case.language());
        let finding = match container {
            Some(container) => Finding::of_container(container, summary),
            None => Finding::of_pod(summary),
        };
        finding.rooted(self.root(&fields)).with_snapshot(self.snapshot(&fields))
    }

    /// What helps against a finding.
    pub(super) fn remedies(&self, case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
        let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
        let fields = &finding.snapshot;
        let language = case.language();
        let offered = self.remedies.iter().filter(|remedy| remedy.when.as_ref().is_none_or(|when| when.holds(fields)));
        offered
            .filter_map(|template| {
                let text = template.text.as_ref().map(|text| text.render(fields, language)).unwrap_or_default();
                let with = template.with.iter().map(|(name, value)| (*name, value.render(fields, Language::English)));
                let Some(action) = template.action else {
                    let remedy = Remedy { kind: template.kind, ..remedy::fix(text) };
                    let quote = |value: String| shell_word(&value).into_owned();
                    let command = template.command.as_ref();
                    return Some(match command.map(|c| c.render_with(fields, Language::English, &quote)) {
                        Some(command) => remedy::command(remedy, command),
                        None => remedy,
                    });
                };
                (action.build)(&Ask {
                    case,
                    finding,
                    container,
                    target: target::of(case),
                    text,
                    kind: template.kind,
                    with: with.collect(),
                })
            })
            .collect()
    }
}

/// Compiles files; what is wrong with them is added to `problems`, and the causes without an error are there.
fn compile(files: &'static [CauseFile], problems: &mut Vec<String>) -> Vec<OfSignal> {
    let mut out: Vec<OfSignal> = Vec::new();
    for definition in signals::ALL {
        let mut parts = Vec::new();
        let mut causes = Vec::new();
        for file in files.iter().filter(|file| file.on == definition.name) {
            match compile_cause(file, definition, &mut parts) {
                Ok(cause) => causes.push(cause),
                Err(problem) => problems.push(format!("{}: {problem}", file.cause)),
            }
        }
        let vocabulary = Vocabulary::new(parts);
        let causes = order::sorted(causes, &vocabulary, problems);
        out.push(OfSignal { signal: definition.name, vocabulary, causes });
    }
    out
}

fn compile_cause(
    file: &'static CauseFile,
    definition: &'static Definition,
    parts: &mut Vec<String>,
) -> Result<Cause, String> {
    let checked = |paths: &[String], place: &str| check_paths(definition, paths.iter().map(String::as_str), place);
    let condition = |when: Option<&String>, place: &str| -> Result<Option<Expression>, String> {
        let Some(source) = when else { return Ok(None) };
        let expression = Expression::compile(source).map_err(|error| format!("{place}: {error}"))?;
        checked(expression.paths(), place)?;
        Ok(Some(expression))
    };
    let bilingual = |english: &str, japanese: Option<&str>, place: &str| -> Result<Bilingual, String> {
        let text = Bilingual::parse(english, japanese).map_err(|error| format!("{place}: {error}"))?;
        check_paths(definition, text.paths(), place)?;
        Ok(text)
    };
    let template = |text: &str, place: &str| -> Result<Template, String> {
        let template = Template::parse(text).map_err(|error| format!("{place}: {error}"))?;
        check_paths(definition, template.paths().into_iter(), place)?;
        Ok(template)
    };
    let mut patterns = |texts: &[String]| texts.iter().map(|text| Vocabulary::pattern(parts, text)).collect::<Vec<_>>();
    let mut conditions = Vec::new();
    for alternative in &file.alternatives.0 {
        let words = &alternative.message;
        conditions.push(Condition {
            reasons: &alternative.reasons,
            any: patterns(&words.any),
            all: patterns(&words.all),
            none: patterns(&words.none),
            when: condition(alternative.when.as_ref(), "match.when")?,
        });
    }
    let ja = file.ja.as_ref();
    let mut summary = Vec::new();
    for variant in &file.summary.0 {
        let japanese = variant.ja.as_deref().or_else(|| ja?.summary.as_deref());
        let text = bilingual(&variant.text, japanese, "summary")?;
        summary.push((condition(variant.when.as_ref(), "summary.when")?, text));
    }
    let mut root = Vec::new();
    for entry in &file.root.0 {
        let kind = RootKind::named_so(&entry.kind).ok_or_else(|| format!("root: unknown kind {}", entry.kind))?;
        let when = condition(entry.when.as_ref(), "root.when")?;
        root.push(CompiledRoot { kind, name: template(&entry.name, "root.name")?, when });
    }
    let mut remedies = Vec::new();
    for (number, entry) in file.remedies.iter().enumerate() {
        let place = format!("remedies[{number}]");
        remedies.push(compile_remedy(entry, &place, &condition, &bilingual, &template)?);
    }
    let mut of_remedies: Vec<String> = remedies.iter().flat_map(CompiledRemedy::paths).map(str::to_owned).collect();
    of_remedies.sort();
    of_remedies.dedup();
    let threshold = file.threshold.as_deref().map_or(Ok(0), seconds)?;
    Ok(Cause { file, conditions, threshold, summary, root, remedies, of_remedies })
}

fn compile_remedy(
    entry: &'static RemedyTemplate,
    place: &str,
    condition: &dyn Fn(Option<&String>, &str) -> Result<Option<Expression>, String>,
    bilingual: &dyn Fn(&str, Option<&str>, &str) -> Result<Bilingual, String>,
    template: &dyn Fn(&str, &str) -> Result<Template, String>,
) -> Result<CompiledRemedy, String> {
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
        with.push((name.as_str(), template(value, &format!("{place}.with.{name}"))?));
    }
    let text = entry.text.as_deref().map(|text| bilingual(text, entry.ja.as_deref(), place)).transpose()?;
    let has_text = text.is_some() || action.is_some_and(|action| action.has_text);
    if !has_text {
        return Err(format!("{place}: it has no text"));
    }
    if entry.command.is_some() && action.is_some() {
        return Err(format!("{place}: an action makes its own command"));
    }
    Ok(CompiledRemedy {
        when: condition(entry.when.as_ref(), place)?,
        action,
        with,
        text,
        command: entry.command.as_deref().map(|command| template(command, place)).transpose()?,
        kind: match entry.kind {
            Kind::Fix => RemedyKind::Fix,
            Kind::Mitigate => RemedyKind::Mitigate,
        },
    })
}

impl CompiledRemedy {
    fn paths(&self) -> impl Iterator<Item = &str> {
        let when = self.when.iter().flat_map(|when| when.paths().iter().map(String::as_str));
        let with = self.with.iter().flat_map(|(_, template)| template.paths());
        let text = self.text.iter().flat_map(Bilingual::paths);
        when.chain(with).chain(text).chain(self.command.iter().flat_map(Template::paths))
    }
}

/// Whether each path names a field of the signal or of what stands beside it.
fn check_paths<'p>(definition: &Definition, paths: impl Iterator<Item = &'p str>, place: &str) -> Result<(), String> {
    for path in paths {
        let (of, name) = path.split_once('.').unwrap_or((path, ""));
        let known = std::iter::once(definition).chain(signals::POD_CONTEXT.iter().copied()).find(|d| d.name == of);
        let Some(known) = known else {
            return Err(format!("{place}: unknown signal {of} in {path}; the cause reads {}", definition.name));
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

/// `30s`, `2m`, `1h`.
fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || format!("threshold: {text:?} is no duration such as 30s, 2m or 1h");
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    number.parse::<i64>().map(|n| n * factor).map_err(|_| wrong())
}

impl From<RecoveryRule> for Recovery {
    fn from(rule: RecoveryRule) -> Self {
        match rule {
            RecoveryRule::NeverStarted => Self::NeverStarted,
            RecoveryRule::Restarting => Self::Restarting,
        }
    }
}
