//! Reads a cluster like `kubectl shindan`.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::Mutex;

use anyhow::bail;

use shindan_core::api::Head;
use shindan_core::case::Thresholds;
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::{Language, phrase, translate};

use super::custom::CustomKinds;
use super::{Answer, Args};
use crate::cli::error_chain;
use crate::cli::fix::Objects;
use crate::cli::fix::trial::{State, Trial};
use crate::cli::found::Found;
use crate::cli::look::{Asked, By, Gathered, Question, ReadyPods};
use crate::cli::ui::clock;
use crate::cli::ui::view::link::Subject;
use crate::cluster::client::{self, Clients};
use crate::cluster::snapshot::Failure;

/// Seconds after which the objects that the operator does not diagnose are read again. They depend on Services and pods, so
/// that the whole cluster is listed.
const OTHERS_AGE: i64 = 30;
/// Seconds after which the numbers of ready pods are read again. An open page reads the diagnoses more often.
const READY_AGE: i64 = 10;

#[derive(Debug)]
pub(in crate::cli::ui) struct Live {
    clients: Clients,
    /// `None`: all namespaces.
    namespace: Option<String>,
    thresholds: Thresholds,
    limit: Duration,
    here: bool,
    custom: Mutex<CustomKinds>,
    others: Mutex<Option<Others>>,
    ready: Mutex<Option<(Timestamp, ReadyPods)>>,
}

/// Objects that the operator does not diagnose: those of the path of a request, and custom resources that it does not watch.
#[derive(Debug, Clone)]
struct Others {
    at: Timestamp,
    found: Found,
    notes: Vec<String>,
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
            here: args.here || args.engine.has_rules(),
            custom: Mutex::new(CustomKinds::of(&args.kinds)),
            others: Mutex::default(),
            ready: Mutex::default(),
        })
    }

    pub(super) async fn look(&self) -> anyhow::Result<Answer> {
        let now = clock();
        let question = Question { here: self.here, ended: true, ..self.question(Asked::All).await? };
        let gathered = question.answer(now).await.map_err(|error| self.hinted(error))?;
        let Gathered { mut found, by, mut notes, .. } = gathered;
        if by == By::Operator {
            let ready = self.ready(&found, now).await;
            ready.apply(&mut found);
            let others = self.others(now).await;
            found.add(others.found);
            let is_new = |note: &String| !notes.contains(note);
            let more: Vec<_> = others.notes.into_iter().filter(is_new).collect();
            notes.extend(more);
        }
        notes.extend(self.custom.lock().await.notes());
        let by = match by {
            By::Operator | By::OperatorInstead => {
                phrase!(self.thresholds, "reported by the operator", "operator による診断")
            }
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

    /// The present numbers of ready pods of the workloads.
    async fn ready(&self, found: &Found, now: Timestamp) -> ReadyPods {
        let mut known = self.ready.lock().await;
        if let Some((_, ready)) = known.as_ref().filter(|(at, _)| seconds_between(*at, now) < READY_AGE) {
            return ready.clone();
        }
        let ready = ReadyPods::read(found, &self.clients.write, self.namespace.as_deref(), self.limit).await;
        known.insert((now, ready)).1.clone()
    }

    /// The question, with the objects that are not workloads.
    async fn question(&self, asked: Asked) -> anyhow::Result<Question<'_>> {
        let custom = self.custom.lock().await.types(&self.clients.write, self.limit).await;
        let namespace = self.namespace.clone();
        let question = Question::new(&self.clients, namespace, asked, self.thresholds, self.limit).await?;
        Ok(Question { with_routes: true, custom, ..question })
    }

    /// The diagnoses of the objects that the operator does not diagnose. If they cannot be made, a note states why.
    async fn others(&self, now: Timestamp) -> Others {
        let mut known = self.others.lock().await;
        if let Some(known) = known.as_ref().filter(|known| seconds_between(known.at, now) < OTHERS_AGE) {
            return known.clone();
        }
        let answer = async {
            let question = Question { here: true, ..self.question(Asked::OwnStatus).await? };
            question.answer(now).await
        };
        let others = match answer.await {
            Ok(Gathered { found, notes, .. }) => Others { at: now, found, notes },
            Err(error) => {
                let why = error_chain(&error);
                let note =
                    format!("Ingresses, Services and other objects on the path of a request are not checked: {why}");
                Others { at: now, found: Found::default(), notes: vec![note] }
            }
        };
        known.insert(others).clone()
    }

    /// What is seen of one object that has no diagnosis: the failure that is not reported yet, or one that the operator has
    /// not reported.
    pub(in crate::cli::ui) async fn look_at(&self, subject: &Subject) -> anyhow::Result<Gathered> {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        if !is_name(subject.name()) || !is_name(subject.namespace()) {
            bail!("no object can have this name");
        }
        let namespace = Some(subject.namespace().to_owned()).filter(|namespace| !namespace.is_empty());
        let argument = subject.argument();
        let question = Question::of_one(&self.clients, namespace, &argument, self.thresholds, self.limit).await?;
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

    /// The name of the context in the kubeconfig.
    pub(in crate::cli::ui) fn context(&self) -> Option<&str> {
        self.clients.context.as_deref()
    }

    pub(super) fn place(&self) -> String {
        let namespace = self.namespace.as_ref().map(|namespace| {
            translate!(self.thresholds, ", namespace {namespace}", "、namespace {namespace}", namespace)
        });
        format!("{}{}", self.clients.server, namespace.unwrap_or_default())
    }
}
