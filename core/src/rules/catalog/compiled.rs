//! A compiled catalogue: the causes of each signal, with one search for all their patterns.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::cause::Cause;
use super::compile::{self, Input};
use super::embedded::{self, HEADS};
use super::exception::Exception;
use super::file::CauseFile;
use super::words::Vocabulary;
use crate::case::{Case, Specificity, Verdict};
use crate::facts::{KindFields, Labels, Timestamp};
use crate::rules::rule::Rule;
use crate::signals::{self, Context, Definition, Signal, Source, Subject};

/// Causes of one signal, in evaluation order.
#[derive(Debug)]
pub(crate) struct OfSignal {
    pub(super) vocabulary: Vocabulary,
    pub(super) causes: Vec<Arc<Cause>>,
}

/// The embedded causes of each signal, in the order of [`signals::ALL`].
static EMBEDDED: LazyLock<Vec<Arc<OfSignal>>> = LazyLock::new(|| {
    let of_signal = signals::ALL.iter().map(|signal| Arc::new(of_signal(signal, &[])));
    of_signal.collect()
});

/// The embedded causes of a signal, merged with `added`.
fn of_signal(signal: &'static Definition, added: &[Arc<CauseFile>]) -> OfSignal {
    let embedded = HEADS.iter().filter(|(head, _)| head.signal == signal.name && !embedded::is_replaced(head, added));
    let embedded = embedded.map(|(head, whole)| (head.clone(), Some(*whole)));
    let added = added.iter().filter(|file| file.signal == signal.name).map(|file| (file.clone(), None));
    let inputs: Vec<Input> = embedded.chain(added).collect();
    compile::of_signal(signal, &inputs, &mut Vec::new())
}

/// A cause, and its threshold in seconds.
type Chosen = (&'static str, i64);

/// Keeps thresholds for the life of the process, each set once.
fn kept(chosen: Vec<Chosen>) -> &'static [Chosen] {
    static SETS: Mutex<Vec<&[Chosen]>> = Mutex::new(Vec::new());
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = sets.iter().find(|set| ***set == *chosen).copied();
    known.unwrap_or_else(|| {
        let set: &'static [Chosen] = chosen.leak();
        sets.push(set);
        set
    })
}

/// The causes that are in one list only, or that differ.
fn differing<'a>(before: &'a [Arc<CauseFile>], after: &'a [Arc<CauseFile>]) -> impl Iterator<Item = &'a str> {
    let has = |files: &[Arc<CauseFile>], file: &Arc<CauseFile>| files.iter().any(|other| is_same(other, file));
    let removed = before.iter().filter(move |file| !has(after, file));
    let added = after.iter().filter(move |file| !has(before, file));
    removed.chain(added).map(|file| file.cause.as_str())
}

/// A rule that did not change keeps its files.
fn is_same(one: &Arc<CauseFile>, other: &Arc<CauseFile>) -> bool {
    Arc::ptr_eq(one, other)
        || one.cause == other.cause && serde_json::to_value(one).ok() == serde_json::to_value(other).ok()
}

/// All causes, by signal.
#[derive(Debug)]
pub struct Catalog {
    /// In the order of [`signals::ALL`]. A signal without added causes shares the embedded ones.
    signals: Vec<Arc<OfSignal>>,
    by_name: HashMap<&'static str, Arc<Cause>>,
    added: Additions,
    /// The kinds of custom resources that the added causes name, and the fields that they read.
    fields: Arc<KindFields>,
    /// When each added cause last changed while this process ran. `None` before users' rules were read.
    changes: Option<BTreeMap<String, Timestamp>>,
}

/// What users add to the embedded causes.
#[derive(Debug, Clone, Default)]
pub struct Additions {
    pub causes: Vec<Arc<CauseFile>>,
    pub exceptions: Vec<Arc<Exception>>,
}

impl Additions {
    /// Adds others.
    pub fn extend(&mut self, other: Self) {
        self.causes.extend(other.causes);
        self.exceptions.extend(other.exceptions);
    }

    /// The kinds of custom resources that the causes name, and the fields that they read.
    pub fn fields(&self) -> KindFields {
        let mut fields = KindFields::default();
        let has_kinds = |file: &&Arc<CauseFile>| file.alternatives.0.iter().any(|of| !of.kinds.is_empty());
        for file in self.causes.iter().filter(has_kinds) {
            let signal = signals::ALL.iter().find(|signal| signal.name == file.signal);
            fields.extend(&signal.map(|signal| compile::fields(signal, file)).unwrap_or_default());
        }
        fields
    }
}

impl Default for Catalog {
    /// The embedded catalogue.
    fn default() -> Self {
        Self::with(Additions::default())
    }
}

impl Catalog {
    /// The embedded causes and `added`, which were checked. A cause with the name of an embedded one replaces it.
    pub fn with(added: Additions) -> Self {
        let causes = &added.causes;
        let is_replaced_in =
            |signal: &str| HEADS.iter().any(|(head, _)| head.signal == signal && embedded::is_replaced(head, causes));
        let signals = EMBEDDED.iter().zip(signals::ALL).map(|(embedded, signal)| {
            let is_changed = causes.iter().any(|file| file.signal == signal.name) || is_replaced_in(signal.name);
            if is_changed { Arc::new(of_signal(signal, causes)) } else { embedded.clone() }
        });
        let signals: Vec<Arc<OfSignal>> = signals.collect();
        let all = signals.iter().flat_map(|of| &of.causes);
        let by_name = all.map(|cause| (cause.name(), cause.clone())).collect();
        let fields = Arc::new(added.fields());
        Self { signals, by_name, added, fields, changes: None }
    }

    /// Notes which added causes differ from those of the catalogue that this one replaces now. The rules that are read first
    /// are no change: an earlier run had them too.
    pub(super) fn replaces(&mut self, before: &Self, now: Timestamp) {
        let mut changes = before.changes.clone();
        if let Some(changes) = &mut changes {
            changes.extend(differing(&before.added.causes, &self.added.causes).map(|cause| (cause.to_owned(), now)));
        }
        self.changes = Some(changes.unwrap_or_default());
    }

    /// When an added cause last changed while this process ran.
    pub(super) fn changed_at(&self, cause: &str) -> Option<Timestamp> {
        self.changes.as_ref()?.get(cause).copied()
    }

    /// The kinds of custom resources that the added causes name, and the fields that they read.
    pub fn fields(&self) -> &Arc<KindFields> {
        &self.fields
    }

    /// The causes that were added to the embedded ones.
    pub fn added(&self) -> &[Arc<CauseFile>] {
        &self.added.causes
    }

    /// The thresholds of the added causes.
    pub fn thresholds(&self) -> &'static [Chosen] {
        let added = self.added.causes.iter().filter_map(|file| {
            let cause = self.by_name.get(file.cause.as_str())?;
            Some((cause.name(), cause.fixed_threshold()?))
        });
        kept(added.collect())
    }

    /// The exception with which a user chose not to report a cause of an object with these labels.
    pub(crate) fn ignored_by(&self, cause: &str, namespace: &str, labels: Option<&Labels>) -> Option<&Exception> {
        self.added.exceptions.iter().map(|of| &**of).find(|exception| exception.ignores(cause, namespace, labels))
    }

    /// Whether a user restricted a cause so that it does not apply to this occurrence.
    fn excludes(&self, cause: &Cause, context: &Context<'_>) -> bool {
        self.added.exceptions.iter().any(|exception| exception.excludes(cause.name(), context))
    }

    /// Added or restricted causes with a condition that was once not evaluated, as it would have taken too long, each with the
    /// first object for which it would.
    pub fn over_budget(&self) -> BTreeMap<&str, &str> {
        let added = self.added.causes.iter().filter_map(|file| self.by_name.get(file.cause.as_str()));
        let causes = added.filter_map(|cause| Some((cause.name(), cause.over_budget()?)));
        let exceptions = self.added.exceptions.iter().filter_map(|of| Some((of.cause, of.over_budget()?)));
        causes.chain(exceptions).collect()
    }

    pub(super) fn of(&self, signal: &str) -> Option<&OfSignal> {
        let place = signals::ALL.iter().position(|known| known.name == signal)?;
        self.signals.get(place).map(|of| &**of)
    }

    /// The causes of a signal, in evaluation order.
    pub(super) fn causes(&self, signal: &str) -> &[Arc<Cause>] {
        self.of(signal).map_or(&[], |of| &of.causes)
    }

    /// The number of causes of a signal.
    pub(crate) fn count(&self, signal: &str) -> usize {
        self.causes(signal).len()
    }

    /// The name of a cause, if the catalogue has it.
    pub fn name(&self, cause: &str) -> Option<&'static str> {
        self.named(cause).map(|cause| cause.name())
    }

    /// The cause with this name.
    pub(crate) fn named(&self, cause: &str) -> Option<&Arc<Cause>> {
        self.by_name.get(cause)
    }

    /// The first cause of a signal that lists this reason.
    pub(super) fn of_reason(&self, signal: &str, reason: &str) -> Option<&Arc<Cause>> {
        self.causes(signal).iter().find(|cause| cause.names_reason(reason))
    }

    /// All causes that apply to an occurrence of a signal, in order, each with its place among the causes of the signal.
    pub(super) fn matching(&self, context: &Context<'_>) -> impl Iterator<Item = (usize, &Arc<Cause>)> {
        self.of(context.signal.definition().name).into_iter().flat_map(move |of| {
            let hits = of.vocabulary.look(context.signal.message());
            let causes = of.causes.iter().enumerate();
            causes.filter(move |(_, cause)| {
                cause.applies(&of.vocabulary, &hits, context) && !self.excludes(cause, context)
            })
        })
    }

    /// The first cause that applies.
    pub(super) fn first(&self, context: &Context<'_>) -> Option<(usize, Arc<Cause>)> {
        #[cfg(test)]
        super::tests::record_ties(self, context);
        self.matching(context).next().map(|(place, cause)| (place, cause.clone()))
    }

    /// The first cause whose condition over fields of a custom resource applies.
    pub(super) fn first_of_fields(&self, context: &Context<'_>) -> Option<(usize, Arc<Cause>)> {
        let of = self.of(context.signal.definition().name)?;
        let hits = of.vocabulary.look(context.signal.message());
        let mut causes = of.causes.iter().enumerate();
        let applies =
            |cause: &Cause| cause.applies_to_fields(&of.vocabulary, &hits, context) && !self.excludes(cause, context);
        causes.find(|(_, cause)| applies(cause)).map(|(place, cause)| (place, cause.clone()))
    }

    /// Verdicts of a signal on a pod, each with the rule of its cause and its place among the causes of the signal. For each
    /// occurrence, the first matching cause applies. `is_asked` receives the rank of the cause and the container of the
    /// occurrence.
    pub(crate) fn verdicts(
        &self,
        source: &Source,
        case: &Case<'_>,
        is_asked: impl Fn(Specificity, Option<&Arc<str>>) -> bool,
    ) -> Vec<(usize, Rule, Verdict)> {
        let occurrences = (source.read)(case);
        let verdicts = occurrences.iter().filter_map(|occurrence| {
            let signal: &dyn Signal = &**occurrence;
            let container = occurrence.container();
            let context = Context::new(Subject::Pod(case), container, signal);
            let first = self.first(&context);
            if let Err(at) = occurrence.settled() {
                let (place, cause) =
                    first.or_else(|| Some((0, self.causes(source.definition.name).first()?.clone())))?;
                return Some((place, cause.rule, Verdict::NotBefore(at)));
            }
            let (place, cause) = first?;
            let is_asked = is_asked(cause.precedence(), container.map(|container| &container.name));
            is_asked.then(|| {
                let matched = cause.matched(place, &context);
                let verdict = match occurrence.due(&matched) {
                    Ok(()) => {
                        let finding = cause.finding(&context).with_all(occurrence.evidence(&matched));
                        occurrence.complete(&matched, finding)
                    }
                    Err(at) => Verdict::NotBefore(at),
                };
                (place, cause.rule, verdict)
            })
        });
        verdicts.collect()
    }
}
