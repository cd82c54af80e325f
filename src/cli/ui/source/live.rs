//! Reads a cluster like `kubectl shindan`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;

use shindan_core::api::Head;
use shindan_core::case::Thresholds;
use shindan_core::language::{Language, phrase, translate};

use super::{Answer, Args};
use crate::cli::fix::Objects;
use crate::cli::fix::trial::{State, Trial};
use crate::cli::look::{Asked, By, Gathered, Question};
use crate::cli::ui::clock;
use crate::cli::ui::view::link::Subject;
use crate::cluster::client::{self, Clients};
use crate::cluster::snapshot::Failure;

#[derive(Debug)]
pub(in crate::cli::ui) struct Live {
    clients: Clients,
    /// `None`: all namespaces.
    namespace: Option<String>,
    thresholds: Thresholds,
    limit: Duration,
    here: bool,
}

impl Live {
    pub(super) async fn connect(args: &Args) -> anyhow::Result<Self> {
        let clients = client::connect(&args.connection.target()).await?;
        clients.probe(args.connection.limit()).await?;
        Ok(Self {
            clients,
            namespace: args.namespace.clone(),
            thresholds: args.thresholds(),
            limit: args.connection.limit(),
            here: args.here || !args.rules.is_empty(),
        })
    }

    pub(super) async fn look(&self) -> anyhow::Result<Answer> {
        let now = clock();
        let namespace = self.namespace.clone();
        let question = Question::new(&self.clients, namespace, Asked::All, self.thresholds, self.limit).await?;
        let question = Question { here: self.here, ended: true, ..question };
        let Gathered { found, by, notes, .. } = question.answer(now).await.map_err(|error| self.hinted(error))?;
        let by = match by {
            By::Operator => phrase!(self.thresholds, "reported by the operator", "operator による診断"),
            By::Here => {
                phrase!(self.thresholds, "diagnosed locally, with your permissions", "ここで、あなたの権限で診断")
            }
            By::HereInstead => {
                phrase!(
                    self.thresholds,
                    "diagnosed locally: the operator is installed and has not reported it",
                    "ここで診断: operator は導入されているが、これについて何も述べていない"
                )
            }
        };
        Ok(Answer { found, when: now, by, notes })
    }

    /// What is seen of one object that has no diagnosis: the failure that is not reported yet, or one that the operator has
    /// not reported.
    pub(in crate::cli::ui) async fn look_at(&self, subject: &Subject) -> anyhow::Result<Gathered> {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        if !is_name(subject.name()) || !is_name(subject.namespace()) {
            bail!("no object can have this name");
        }
        let namespace = Some(subject.namespace().to_owned()).filter(|namespace| !namespace.is_empty());
        let name = format!("{}/{}", subject.kind(), subject.name());
        let question = Question::of_one(&self.clients, namespace, &name, self.thresholds, self.limit).await?;
        question.answer(clock()).await
    }

    /// What the API server answers to dry runs of the remedies of a subject.
    pub(in crate::cli::ui) async fn dry_runs(
        &self,
        subject: &Subject,
        head: &Head,
        language: Language,
    ) -> Vec<Option<String>> {
        let objects = Objects { client: &self.clients.write, limit: self.limit };
        let namespace = subject.namespace();
        let values = BTreeMap::new();
        let trial = Trial { objects: &objects, namespace, cause: &head.cause, values: &values, force: false };
        let mut answers = Vec::new();
        for remedy in &head.remedies {
            let state = trial.of(remedy).await.ok();
            // A command that a person runs needs no note.
            answers.push(state.filter(|state| !matches!(state, State::ToRun)).and_then(|state| state.words(language)));
        }
        answers
    }

    /// Adds a hint to an error: a user who may not list all namespaces can often list their own.
    fn hinted(&self, error: anyhow::Error) -> anyhow::Error {
        let is_forbidden = error.chain().any(|e| e.downcast_ref::<Failure>().is_some_and(Failure::is_forbidden));
        if is_forbidden && self.namespace.is_none() {
            return error.context("you are not allowed to list the pods of all namespaces: select a namespace with -n");
        }
        error
    }

    pub(super) fn place(&self) -> String {
        let namespace = self.namespace.as_ref().map(|namespace| {
            translate!(self.thresholds, ", namespace {namespace}", "、namespace {namespace}", namespace)
        });
        format!("{}{}", self.clients.server, namespace.unwrap_or_default())
    }
}
