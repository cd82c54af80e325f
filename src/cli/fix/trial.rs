//! Dry runs of remedies: what the API server would answer.

use std::collections::BTreeMap;

use shindan_core::api::Remedy;
use shindan_core::language::{Language, phrase, translate};
use shindan_core::message::text;

use super::change::{Change, Command, Operation};
use super::object::{self, Mode, Objects, Refusal};
use super::steps::Step;
use crate::cli::reading::only_reads;

/// How often an object that changes meanwhile is read and tried again.
const ATTEMPTS: usize = 5;

/// The failing object for which remedies are tried.
pub(in crate::cli) struct Trial<'t> {
    pub(in crate::cli) objects: &'t Objects<'t>,
    /// No remedy leaves this namespace.
    pub(in crate::cli) namespace: &'t str,
    pub(in crate::cli) cause: &'t str,
    /// Values of placeholders.
    pub(in crate::cli) values: &'t BTreeMap<String, String>,
    /// Whether objects may be changed that a tool manages.
    pub(in crate::cli) force: bool,
}

/// What a remedy would do.
pub(in crate::cli) enum State {
    /// The API server would accept all steps.
    Accepted(Vec<Step>),
    /// The object, an admission webhook or missing rights forbid it.
    Refused(String),
    /// It would change nothing.
    NoChange,
    /// It needs these values.
    NeedsValues(Vec<String>),
    /// A tool manages the object, and reverts changes.
    Managed { object: String, source: String },
    /// A command for a person.
    ToRun,
    /// Text alone, or a command that only reads.
    ToDo,
}

impl State {
    /// The state in a sentence. `None` for a text alone.
    pub(in crate::cli) fn words(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::Accepted(_) => {
                phrase!(language, "the API server would accept it (dry run)", "API サーバーは受け入れる (dry run)")
                    .to_owned()
            }
            Self::Refused(words) => {
                translate!(language, "refused: {words}", "拒否: {words}", words = text::line(words, 1000))
            }
            Self::NoChange => phrase!(language, "it would change nothing", "何も変わらない").to_owned(),
            Self::NeedsValues(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
                translate!(
                    language,
                    "needs a value that only you know: {names}",
                    "あなただけが知る値が必要: {names}",
                    names = names.join(", ")
                )
            }
            Self::Managed { object, source } => translate!(
                language,
                "{object} is managed: change {source} instead",
                "{object} は管理されている: 代わりに {source} を変更する",
                object,
                source
            ),
            Self::ToRun => phrase!(language, "run it yourself", "自分で実行する").to_owned(),
            Self::ToDo => return None,
        })
    }
}

impl Trial<'_> {
    /// Tries a remedy.
    ///
    /// # Errors
    ///
    /// If its command cannot be read.
    pub(in crate::cli) async fn of(&self, remedy: &Remedy) -> anyhow::Result<State> {
        let Some(command) = remedy.command.as_deref().filter(|command| !only_reads(command)) else {
            return Ok(State::ToDo);
        };
        Ok(match Command::read(command, self.values)? {
            Command::ToRun => State::ToRun,
            Command::NeedsValues(names) => State::NeedsValues(names),
            Command::Changes(changes) => self.steps(changes).await,
        })
    }

    /// Tries each step. The first that is not accepted decides, unless it would only change nothing.
    async fn steps(&self, changes: Vec<Change>) -> State {
        let mut steps = Vec::new();
        let mut is_change = false;
        for change in changes {
            match self.step(change).await {
                Ok(step) => {
                    is_change |= !step.changes_nothing();
                    steps.push(step);
                }
                Err(state) => return state,
            }
        }
        if is_change { State::Accepted(steps) } else { State::NoChange }
    }

    /// Tries a step. The status of a failing object changes often, so one that changed between its read and the dry run is
    /// read again.
    async fn step(&self, change: Change) -> Result<Step, State> {
        for _ in 0..ATTEMPTS {
            if let Some(step) = self.step_once(&change).await? {
                return Ok(step);
            }
        }
        Err(State::Refused("it is being changed: try again".to_owned()))
    }

    /// `None` if the object was changed meanwhile.
    async fn step_once(&self, change: &Change) -> Result<Option<Step>, State> {
        let leaves = change.namespace.as_ref().is_some_and(|namespace| *namespace != self.namespace);
        if leaves || !change.kind.is_namespaced {
            return Err(State::ToRun);
        }
        let before = self.objects.get(change).await.map_err(|error| State::Refused(format!("{error:#}")))?;
        let is_created = matches!(change.operation, Operation::Create(_));
        if before.is_none() && !is_created {
            return Err(State::Refused(format!("{change} does not exist")));
        }
        // A pod that is deleted comes back from its controller, so its owner is no obstacle.
        let is_deleted = matches!(change.operation, Operation::Delete { .. });
        let source = before.as_ref().filter(|_| !self.force && !is_deleted).and_then(object::manager);
        if let Some(source) = source {
            return Err(State::Managed { object: change.to_string(), source });
        }
        match self.objects.change(change, before.as_ref(), self.cause, Mode::DryRun).await {
            Err(error) => Err(State::Refused(format!("{error:#}"))),
            Ok(Err(Refusal::Changed)) => Ok(None),
            Ok(Err(Refusal::Answer(words))) => Err(State::Refused(words)),
            Ok(Ok(after)) => Ok(Some(Step { change: change.clone(), before, after })),
        }
    }
}
