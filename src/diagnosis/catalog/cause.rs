//! A cause, ready to be asked.

use super::Fields;
use super::expression::Expression;
use super::file::{CauseFile, Precedence, RecoveryRule};
use super::template::Template;
use super::words::{Hits, Pattern, Vocabulary};
use crate::api::{Confidence, Remedy, RemedyKind, Root, Severity};
use crate::diagnosis::actions::{self, Ask};
use crate::diagnosis::checks::Check;
use crate::diagnosis::language::Language;
use crate::diagnosis::roots::RootKind;
use crate::diagnosis::rule::{Category, Explain, Recovery, Rule, Specificity};
use crate::diagnosis::signals::{Context, Subject, Value};
use crate::diagnosis::target::shell_word;
use crate::diagnosis::{Case, Finding, Thresholds, remedy, text};
use crate::facts::Container;

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
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let cause = finding.snapshot.cause;
    cause.map_or_else(Vec::new, |cause| cause.remedies(Subject::Pod(case), container, &finding.snapshot))
}

/// A cause, ready to be asked.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(super) file: &'static CauseFile,
    /// One of them must hold; without any it always applies.
    pub(super) conditions: Vec<Condition>,
    pub(super) threshold: Vec<(Option<Expression>, Threshold)>,
    pub(super) confidence: Vec<(Option<Expression>, Confidence)>,
    pub(super) severity: Vec<(Option<Expression>, Severity)>,
    pub(super) noted: Option<Expression>,
    pub(super) summary: Vec<(Option<Expression>, Bilingual)>,
    pub(super) root: Vec<CompiledRoot>,
    pub(super) consequences: Vec<(Option<Expression>, &'static str, Bilingual)>,
    pub(super) remedies: Vec<CompiledRemedy>,
    /// Paths of the fields that its remedies name.
    pub(super) of_remedies: Vec<String>,
}

/// How long a failure must last before it counts.
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
    pub(super) reasons: &'static [String],
    pub(super) any: Vec<Pattern>,
    pub(super) all: Vec<Pattern>,
    pub(super) none: Vec<Pattern>,
    pub(super) when: Option<Expression>,
    pub(super) check: Option<&'static Check>,
}

impl Condition {
    fn holds(&self, vocabulary: &Vocabulary, hits: &Hits, context: &Context<'_>) -> bool {
        let occurs = |pattern: &Pattern| vocabulary.holds(hits, pattern);
        (self.reasons.is_empty() || self.reasons.iter().any(|reason| reason == context.signal.reason()))
            && (self.any.is_empty() || self.any.iter().any(occurs))
            && self.all.iter().all(occurs)
            && !self.none.iter().any(occurs)
            && self.when.as_ref().is_none_or(|when| when.holds(context))
            && self.check.is_none_or(|check| (check.holds)(context))
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
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let when = self.when.iter().flat_map(|when| when.paths().iter().map(String::as_str));
        let with = self.with.iter().flat_map(|(_, template)| template.paths());
        let text = self.text.iter().flat_map(Bilingual::paths);
        when.chain(with).chain(text).chain(self.command.iter().flat_map(Template::paths))
    }

    fn build(&self, subject: Subject<'_>, container: Option<&Container>, fields: &dyn Fields) -> Option<Remedy> {
        let language = subject.language();
        let text = self.text.as_ref().map(|text| text.render(fields, language)).unwrap_or_default();
        let Some(action) = self.action else {
            let remedy = Remedy { kind: self.kind, ..remedy::fix(text) };
            return Some(match &self.command {
                Some(command) => remedy::command(remedy, command.render_with(fields, Language::English, &shell_words)),
                None => remedy,
            });
        };
        let with = self.with.iter().map(|(name, value)| (*name, value.render(fields, Language::English))).collect();
        (action.build)(&Ask { subject, container, target: subject.target(), text, kind: self.kind, with })
    }
}

/// A value as words of the shell; a list becomes several.
fn shell_words(value: &Value) -> String {
    match value {
        Value::List(list) => list.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
        other => shell_word(&other.to_string()).into_owned(),
    }
}

/// A text in English, and in Japanese where it has been translated.
#[derive(Debug)]
pub(super) struct Bilingual {
    english: Template,
    japanese: Option<Template>,
}

impl Bilingual {
    pub(super) fn new(english: Template, japanese: Option<Template>) -> Self {
        Self { english, japanese }
    }

    fn render(&self, fields: &dyn Fields, language: Language) -> String {
        match (language, &self.japanese) {
            (Language::Japanese, Some(japanese)) => japanese.render(fields, Language::Japanese),
            _ => self.english.render(fields, Language::English),
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.english.paths().into_iter().chain(self.japanese.iter().flat_map(Template::paths))
    }
}

fn holds(when: Option<&Expression>, fields: &dyn Fields) -> bool {
    when.is_none_or(|when| when.holds(fields))
}

impl Cause {
    pub(crate) fn name(&self) -> &'static str {
        &self.file.cause
    }

    pub(super) fn rule(&'static self) -> Rule {
        let explain = &self.file.explain;
        Rule {
            cause: self.name(),
            category: Category::named(&self.file.category).unwrap_or(Category::Lifecycle),
            recovery: self.file.recovery.map_or(Recovery::NeverStarted, Recovery::from),
            specificity: self.precedence(),
            remedies,
            explain: Explain {
                meaning: &explain.meaning,
                told_apart: &explain.distinguish,
                action: &explain.action,
                source: &explain.source,
            },
        }
    }

    /// For how many seconds it must last before it counts, whatever the fields are.
    pub(crate) fn threshold(&self, thresholds: &Thresholds) -> i64 {
        self.threshold.iter().find(|(when, _)| when.is_none()).map_or(0, |(_, threshold)| threshold.seconds(thresholds))
    }

    /// For how many seconds it must last before it counts, with these fields.
    pub(crate) fn threshold_with(&self, thresholds: &Thresholds, fields: &dyn Fields) -> i64 {
        let chosen = self.threshold.iter().find(|(when, _)| holds(when.as_ref(), fields));
        chosen.map_or(0, |(_, threshold)| threshold.seconds(thresholds))
    }

    pub(crate) fn has_threshold(&self) -> bool {
        self.threshold.iter().any(|(_, threshold)| !matches!(threshold, Threshold::Seconds(0)))
    }

    pub(crate) fn precedence(&self) -> Specificity {
        match self.file.precedence {
            Precedence::Specific => Specificity::Specific,
            Precedence::Umbrella => Specificity::Umbrella,
            Precedence::Symptom => Specificity::Symptom,
            Precedence::LastResort => Specificity::LastResort,
        }
    }

    pub(super) fn applies(&self, vocabulary: &Vocabulary, hits: &Hits, context: &Context<'_>) -> bool {
        self.conditions.is_empty() || self.conditions.iter().any(|c| c.holds(vocabulary, hits, context))
    }

    pub(super) fn names_reason(&self, reason: &str) -> bool {
        self.conditions.iter().any(|condition| condition.reasons.iter().any(|known| known == reason))
    }

    /// The summary, of at most as many characters as a summary may have.
    pub(crate) fn summary(&self, fields: &dyn Fields, language: Language) -> String {
        let chosen = self.summary.iter().find(|(when, _)| holds(when.as_ref(), fields));
        text::line(&chosen.map(|(_, text)| text.render(fields, language)).unwrap_or_default(), text::SUMMARY_MAX)
    }

    /// The object outside the pod in which it lies.
    pub(crate) fn root(&self, fields: &dyn Fields) -> Option<Root> {
        self.root.iter().filter(|root| holds(root.when.as_ref(), fields)).find_map(|root| {
            let name = root.name.render_if_complete(fields, Language::English)?;
            (!name.is_empty()).then(|| root.kind.named(&name))
        })
    }

    pub(crate) fn confidence(&self, fields: &dyn Fields) -> Confidence {
        let chosen = self.confidence.iter().find(|(when, _)| holds(when.as_ref(), fields));
        chosen.map_or(Confidence::Certain, |(_, confidence)| *confidence)
    }

    /// The severity that the file gives; `None` where it follows from the impact.
    pub(crate) fn severity(&self, fields: &dyn Fields) -> Option<Severity> {
        self.severity.iter().find(|(when, _)| holds(when.as_ref(), fields)).map(|(_, severity)| *severity)
    }

    /// The finding of an occurrence, with all that the file says of it.
    pub(crate) fn finding(&'static self, context: &Context<'_>) -> Finding {
        let language = context.subject.language();
        let summary = self.summary(context, language);
        let mut finding = match context.container {
            Some(container) => Finding::of_container(container, summary),
            None => Finding::of_pod(summary),
        };
        finding = finding.confidence(self.confidence(context)).rooted(self.root(context));
        finding.severity = self.severity(context);
        if self.noted.as_ref().is_some_and(|noted| noted.holds(context)) {
            finding = finding.noted();
        }
        for (_, cause, text) in self.consequences.iter().filter(|(when, ..)| holds(when.as_ref(), context)) {
            let name = context.container.map(|container| &*container.name);
            finding = finding.consequence(cause, name, text.render(context, language));
        }
        finding.with_snapshot(self.snapshot(context))
    }

    /// The values that its remedies need.
    fn snapshot(&'static self, fields: &dyn Fields) -> Snapshot {
        let values = self.of_remedies.iter().map(|path| (path.as_str(), fields.get(path).unwrap_or(Value::None)));
        Snapshot { cause: Some(self), values: values.collect() }
    }

    /// What helps, most likely first.
    pub(crate) fn remedies(
        &self,
        subject: Subject<'_>,
        container: Option<&Container>,
        fields: &dyn Fields,
    ) -> Vec<Remedy> {
        let offered = self.remedies.iter().filter(|remedy| holds(remedy.when.as_ref(), fields));
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
