//! Compiled causes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::expression::Expression;
use super::file::{CauseFile, Match, Precedence, RecoveryRule};
use super::template::Template;
use super::words::{Hits, Pattern, Vocabulary};
use super::{compile, embedded};
use crate::actions::{self, Ask};
use crate::api::{Confidence, RemedyKind, Root, Severity};
use crate::case::fields::{Fields, Path, Snapshot};
use crate::case::roots::RootKind;
use crate::case::target::shell_word;
use crate::case::{Category, Finding, Operation, Recovery, Remedy, Specificity, Summary, Thresholds, remedy};
use crate::facts::{Container, CustomKind, NamesOf};
use crate::language::Language;
use crate::rules::rule::Rule;
use crate::signals::{Context, Definition, Matched, Subject, Value};

/// A compiled cause.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) rule: Rule,
    /// Without texts, if they can be read again from `whole`.
    pub(super) file: Arc<CauseFile>,
    /// The embedded file, complete and compressed.
    pub(super) whole: Option<&'static [u8]>,
    pub(crate) signal: &'static Definition,
    /// Those of the alternatives of the file. At least one must hold; without any the cause always applies.
    pub(super) conditions: Box<[Condition]>,
    pub(super) threshold: Box<[(Option<Expression>, Threshold)]>,
    /// Compiled on first use: most causes are never found, and their texts would take megabytes.
    pub(super) report: OnceLock<Box<Report>>,
}

/// Compiled texts of a cause.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) confidence: Vec<(Option<Expression>, Confidence)>,
    pub(super) severity: Vec<(Option<Expression>, Severity)>,
    pub(super) noted: Option<Expression>,
    pub(super) summary: Vec<(Option<Expression>, Bilingual)>,
    pub(super) root: Vec<CompiledRoot>,
    pub(super) consequences: Vec<(Option<Expression>, &'static str, Bilingual)>,
    pub(super) remedies: Vec<CompiledRemedy>,
    /// Paths of the fields that its remedies use.
    pub(super) of_remedies: Arc<[Path]>,
}

impl Report {
    fn of(cause: &Cause) -> Self {
        match cause.whole.and_then(embedded::complete) {
            Some(whole) => compile::report(cause.signal, &whole, &mut Vec::new()),
            None => compile::report(cause.signal, &cause.file, &mut Vec::new()),
        }
    }
}

/// Time a failure must last before it counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Threshold {
    Seconds(i64),
    /// A setting of the operator.
    Setting(fn(&Thresholds) -> i64),
}

impl Threshold {
    fn seconds(self, thresholds: &Thresholds) -> i64 {
        match self {
            Self::Seconds(seconds) => seconds,
            Self::Setting(setting) => setting(thresholds),
        }
    }
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) kinds: Box<[CustomKind]>,
    pub(super) any: Box<[Pattern]>,
    pub(super) all: Box<[Pattern]>,
    pub(super) none: Box<[Pattern]>,
    pub(super) when: Option<Expression>,
}

impl Condition {
    fn holds(&self, of: &Match, vocabulary: &Vocabulary, hits: &Hits, context: &Context<'_>) -> bool {
        let occurs = |pattern: &Pattern| vocabulary.holds(hits, pattern);
        self.is_of_kind(context)
            && (of.reasons.is_empty() || of.reasons.iter().any(|reason| reason == context.signal.reason()))
            && (self.any.is_empty() || self.any.iter().any(occurs))
            && self.all.iter().all(occurs)
            && !self.none.iter().any(occurs)
            && self.when.as_ref().is_none_or(|when| when.holds(context))
    }

    fn is_of_kind(&self, context: &Context<'_>) -> bool {
        self.kinds.is_empty()
            || context.signal.object().is_some_and(|object| self.kinds.iter().any(|kind| object.is_of(kind)))
    }

    /// Whether it is about fields of the object, so that it can hold for an object without a failed condition.
    fn reads_fields(&self) -> bool {
        self.when.as_ref().is_some_and(|when| when.paths().iter().any(Path::is_of_resource))
    }
}

#[derive(Debug)]
pub(super) struct CompiledRoot {
    pub(super) kind: RootKind,
    pub(super) name: Template,
    pub(super) when: Option<Expression>,
}

#[derive(Debug)]
pub(super) struct CompiledRemedy {
    pub(super) when: Option<Expression>,
    pub(super) action: Option<&'static actions::Action>,
    pub(super) with: Vec<(&'static str, Template)>,
    pub(super) text: Option<Bilingual>,
    pub(super) command: Option<Template>,
    pub(super) kind: RemedyKind,
}

impl CompiledRemedy {
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let when = self.when.iter().flat_map(Expression::paths);
        let with = self.with.iter().flat_map(|(_, template)| template.paths());
        let text = self.text.iter().flat_map(Bilingual::paths);
        when.chain(with).chain(text).chain(self.command.iter().flat_map(Template::paths))
    }

    /// The parameters of the action.
    fn parameters(&self, fields: &dyn Fields) -> Vec<(&'static str, Value)> {
        self.with.iter().map(|(name, value)| (*name, value.value(fields))).collect()
    }

    fn build(&self, subject: Subject<'_>, container: Option<&Container>, fields: &dyn Fields) -> Option<Remedy> {
        let language = subject.language();
        let text = self.text.as_ref().map(|text| text.render(fields, language)).unwrap_or_default();
        let Some(action) = self.action else {
            let remedy = Remedy { kind: self.kind, ..remedy::fix(text) };
            return Some(match &self.command {
                Some(command) => {
                    let uses_pod = command.paths().into_iter().any(|path| path.as_str() == "pod.name");
                    let operation = if uses_pod { Operation::UsePod } else { Operation::Other };
                    remedy::command_for(remedy, operation, command.render_with(fields, Language::English, shell_words))
                }
                None => remedy,
            });
        };
        let with = self.parameters(fields);
        (action.build)(&Ask { subject, container, target: subject.target(), text, kind: self.kind, with })
    }
}

/// A copy of a name that lives as long as the process. Names of causes are kept in records and metrics; each is stored once.
pub(super) fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

/// Formats a value as words of the shell. A list becomes several words.
fn shell_words(value: &Value) -> Cow<'_, str> {
    match value {
        Value::List(list) => list.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ").into(),
        Value::Text(text) => shell_word(text),
        other => shell_word(&other.to_string()).into_owned().into(),
    }
}

/// A text in English and, if it is translated, in Japanese.
#[derive(Debug)]
pub(super) struct Bilingual {
    english: Template,
    japanese: Option<Template>,
}

impl Bilingual {
    pub(super) fn new(english: Template, japanese: Option<Template>) -> Self {
        Self { english, japanese }
    }

    /// The template for a language, and the language that it is in.
    fn of(&self, language: Language) -> (&Template, Language) {
        match (language, &self.japanese) {
            (Language::Japanese, Some(japanese)) => (japanese, Language::Japanese),
            _ => (&self.english, Language::English),
        }
    }

    fn render(&self, fields: &dyn Fields, language: Language) -> String {
        let (template, language) = self.of(language);
        template.render(fields, language)
    }

    fn summary(&self, fields: &dyn Fields, language: Language) -> Summary {
        let (template, language) = self.of(language);
        template.summary(fields, language)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.english.paths().into_iter().chain(self.japanese.iter().flat_map(Template::paths))
    }
}

fn holds(when: Option<&Expression>, fields: &dyn Fields) -> bool {
    when.is_none_or(|when| when.holds(fields))
}

impl Cause {
    pub(crate) fn name(&self) -> &'static str {
        self.rule.cause
    }

    fn report(&self) -> &Report {
        self.report.get_or_init(|| Box::new(Report::of(self)))
    }

    /// The rule of a cause file.
    pub(super) fn rule_of(file: &CauseFile) -> Rule {
        Rule {
            cause: intern(&file.cause),
            category: Category::named(&file.category).unwrap_or(Category::Lifecycle),
            recovery: file.recovery.map_or(Recovery::NeverStarted, Recovery::from),
            specificity: match file.precedence {
                Precedence::Specific => Specificity::Specific,
                Precedence::Umbrella => Specificity::Umbrella,
                Precedence::Symptom => Specificity::Symptom,
                Precedence::LastResort => Specificity::LastResort,
            },
        }
    }

    /// What signals know of the cause when it matches an occurrence.
    pub(super) fn matched(&self, place: usize, context: &Context<'_>) -> Matched {
        Matched {
            name: self.name(),
            place,
            precedence: self.precedence(),
            threshold: self.threshold(context.subject.thresholds(), context),
            has_threshold: self.has_threshold(),
        }
    }

    /// How long the failure must last before it counts, in seconds.
    pub(crate) fn threshold(&self, thresholds: &Thresholds, fields: &dyn Fields) -> i64 {
        let chosen = self.threshold.iter().find(|(when, _)| holds(when.as_ref(), fields));
        chosen.map_or(0, |(_, threshold)| threshold.seconds(thresholds))
    }

    /// The threshold in seconds, if it is the same for each occurrence.
    pub(super) fn fixed_threshold(&self) -> Option<i64> {
        match &*self.threshold {
            [(None, Threshold::Seconds(seconds))] => Some(*seconds),
            _ => None,
        }
    }

    pub(crate) fn has_threshold(&self) -> bool {
        self.threshold.iter().any(|(_, threshold)| !matches!(threshold, Threshold::Seconds(0)))
    }

    pub(crate) fn precedence(&self) -> Specificity {
        self.rule.specificity
    }

    /// The object for which one of its conditions was not evaluated, as it would have taken too long.
    pub(super) fn over_budget(&self) -> Option<&str> {
        let conditions = self.conditions.iter().filter_map(|condition| condition.when.as_ref());
        let thresholds = self.threshold.iter().filter_map(|(when, _)| when.as_ref());
        let texts = self.report.get().into_iter().flat_map(|report| {
            let summary = report.summary.iter().filter_map(|(when, _)| when.as_ref());
            let remedies = report.remedies.iter().filter_map(|remedy| remedy.when.as_ref());
            summary.chain(remedies).chain(&report.noted)
        });
        conditions.chain(thresholds).chain(texts).find_map(Expression::over_budget)
    }

    pub(super) fn applies(&self, vocabulary: &Vocabulary, hits: &Hits, context: &Context<'_>) -> bool {
        self.conditions.is_empty()
            || self.alternatives().any(|(of, condition)| condition.holds(of, vocabulary, hits, context))
    }

    /// Whether one of its conditions that are about fields of the object holds.
    pub(super) fn applies_to_fields(&self, vocabulary: &Vocabulary, hits: &Hits, context: &Context<'_>) -> bool {
        let mut of_fields = self.alternatives().filter(|(_, condition)| condition.reads_fields());
        of_fields.any(|(of, condition)| condition.holds(of, vocabulary, hits, context))
    }

    /// The fields of the object that its conditions read.
    pub(crate) fn fields_of_conditions(&self) -> Vec<&str> {
        let all = self.conditions.iter().filter_map(|condition| condition.when.as_ref());
        let mut paths: Vec<&str> = all.flat_map(Expression::paths).filter_map(Path::of_resource).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    pub(super) fn names_reason(&self, reason: &str) -> bool {
        self.alternatives().any(|(of, _)| of.reasons.iter().any(|known| known == reason))
    }

    fn alternatives(&self) -> impl Iterator<Item = (&Match, &Condition)> {
        self.file.alternatives.0.iter().zip(&self.conditions)
    }

    /// The summary, cut to the maximum length.
    pub(crate) fn summary(&self, fields: &dyn Fields, language: Language) -> Summary {
        let chosen = self.report().summary.iter().find(|(when, _)| holds(when.as_ref(), fields));
        chosen.map_or_else(|| "".into(), |(_, text)| text.summary(fields, language))
    }

    /// The root outside the pod.
    pub(crate) fn root(&self, fields: &dyn Fields) -> Option<Root> {
        self.report().root.iter().filter(|root| holds(root.when.as_ref(), fields)).find_map(|root| {
            let name = root.name.render_if_complete(fields, Language::English)?;
            (!name.is_empty()).then(|| root.kind.named(&name))
        })
    }

    pub(crate) fn confidence(&self, fields: &dyn Fields) -> Confidence {
        let chosen = self.report().confidence.iter().find(|(when, _)| holds(when.as_ref(), fields));
        chosen.map_or(Confidence::Certain, |(_, confidence)| *confidence)
    }

    /// The severity in the cause file. `None` if it depends on the impact.
    pub(crate) fn severity(&self, fields: &dyn Fields) -> Option<Severity> {
        self.report().severity.iter().find(|(when, _)| holds(when.as_ref(), fields)).map(|(_, severity)| *severity)
    }

    /// The finding of an occurrence, with all texts of the cause file.
    pub(crate) fn finding(&self, context: &Context<'_>) -> Finding {
        let language = context.subject.language();
        let summary = self.summary(context, language);
        let mut finding = match context.container {
            Some(container) => Finding::of_container(container, summary),
            None => Finding::of_pod(summary),
        };
        finding = finding.confidence(self.confidence(context)).rooted(self.root(context));
        finding.severity = self.severity(context);
        if self.report().noted.as_ref().is_some_and(|noted| noted.holds(context)) {
            finding = finding.noted();
        }
        for (_, cause, text) in self.report().consequences.iter().filter(|(when, ..)| holds(when.as_ref(), context)) {
            let name = context.container.map(|container| &*container.name);
            finding = finding.consequence(cause, name, text.render(context, language));
        }
        finding.with_snapshot(self.snapshot(context))
    }

    /// The values that its remedies need.
    fn snapshot(&self, fields: &dyn Fields) -> Snapshot {
        let paths = &self.report().of_remedies;
        Snapshot { values: paths.iter().map(|path| fields.value(path).into_owned()).collect(), paths: paths.clone() }
    }

    /// Whether a remedy needs names of other objects.
    pub(crate) fn reads_names(&self) -> bool {
        self.report().remedies.iter().any(|remedy| remedy.action.is_some_and(|action| action.needed_names.is_some()))
    }

    /// The names of other objects that its remedies need.
    pub(crate) fn needed_names(&self, subject: Subject<'_>, fields: &dyn Fields) -> Vec<NamesOf> {
        let names = self.report().remedies.iter().filter_map(|remedy| {
            let needed_names = remedy.action?.needed_names.filter(|_| holds(remedy.when.as_ref(), fields))?;
            let with = remedy.parameters(fields);
            needed_names(&Ask {
                container: None,
                target: subject.target(),
                text: String::new(),
                kind: remedy.kind,
                subject,
                with,
            })
        });
        names.collect()
    }

    /// Remedies, most likely first.
    pub(crate) fn remedies(
        &self,
        subject: Subject<'_>,
        container: Option<&Container>,
        fields: &dyn Fields,
    ) -> Vec<Remedy> {
        let offered = self.report().remedies.iter().filter(|remedy| holds(remedy.when.as_ref(), fields));
        offered.filter_map(|remedy| remedy.build(subject, container, fields)).collect()
    }
}

impl From<RecoveryRule> for Recovery {
    fn from(rule: RecoveryRule) -> Self {
        match rule {
            RecoveryRule::NeverStarted => Self::NeverStarted,
            RecoveryRule::Restarting => Self::Restarting,
        }
    }
}
