//! Reads the cluster like `kubectl shindan`.

use std::collections::BTreeMap;
use std::time::Duration;

use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use tokio::sync::Mutex;

use super::Args;
use super::answer;
use super::arguments::{self, CheckFix, ExplainFailure, ListFailures};
use super::error::{Unknown, Wrong};
use super::overview::{self, Seen};
use super::{explanation, fixes};
use crate::cli::fix::trial::Trial;
use crate::cli::fix::{self, Objects};
use crate::cli::look::{self, Asked, Gathered, Question, clock, resolve, types_of_rules};
use crate::cluster::client::{self, Clients, Target};
use crate::cluster::snapshot::Failure;

#[derive(Debug)]
pub(super) struct Cluster {
    target: Target,
    limit: Duration,
    thresholds: Thresholds,
    here: bool,
    has_rules: bool,
    /// The only namespace that is answered for.
    only: Option<String>,
    /// Kept after the first request that succeeds.
    clients: Mutex<Option<Clients>>,
}

impl Cluster {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            target: args.connection.target().without_prompts(),
            limit: args.connection.limit(),
            thresholds: args.engine.thresholds().in_language(Language::English),
            here: args.here,
            has_rules: args.engine.has_rules(),
            only: args.namespace.clone().filter(|name| !name.is_empty()),
            clients: Mutex::default(),
        }
    }

    /// The clients, after a request that succeeded. After an error the kubeconfig is read again, because the user may have
    /// logged in meanwhile.
    async fn clients(&self) -> anyhow::Result<Clients> {
        let mut known = self.clients.lock().await;
        let clients = match known.take() {
            Some(clients) => clients,
            None => client::connect(&self.target).await?,
        };
        clients.probe(self.limit).await?;
        Ok(known.insert(clients).clone())
    }

    pub(super) async fn list_failures(&self, asked: &ListFailures) -> anyhow::Result<String> {
        let filter = asked.filter()?;
        let namespace = self.place(asked.namespace()?)?;
        let kind: Vec<String> = asked.kind()?.map(ToOwned::to_owned).into_iter().collect();
        let clients = self.clients().await?;
        let asked = self.resolved(&kind, &clients).await?;
        let namespace = self.place_of(&asked, namespace)?;
        if let Some(namespace) = &namespace {
            look::is_place(&clients.write, namespace, self.limit).await.map_err(is_unknown)?;
        }
        let mut notes = Vec::new();
        let mut question = self.question(&clients, namespace, asked).await?;
        if matches!(question.asked, Asked::All) && self.has_rules {
            match types_of_rules(&clients.write, self.limit).await {
                Ok(types) => question.custom = types,
                Err(failure) => {
                    notes.push(format!("the custom resources that the rules name are not diagnosed: {failure}"));
                }
            }
        }
        let now = clock();
        let gathered = question.answer(now).await?;
        notes.extend(gathered.notes.iter().cloned());
        overview::answer(seen(&gathered, now, &notes), &filter)
    }

    pub(super) async fn explain_failure(&self, asked: &ExplainFailure) -> anyhow::Result<String> {
        let object = arguments::object(&asked.object)?;
        let namespace = self.place(arguments::namespace(asked.namespace.as_deref())?)?;
        let clients = self.clients().await?;
        let asked = self.resolved(std::slice::from_ref(&object), &clients).await?;
        let namespace = namespace.unwrap_or_else(|| clients.namespace.clone());
        let namespace = self.place_of(&asked, Some(namespace))?;
        let question = self.question(&clients, namespace, asked).await?;
        let now = clock();
        let is_gone = !question.gone.is_empty();
        let gathered = question.answer(now).await.map_err(|error| if is_gone { is_unknown(error) } else { error })?;
        explanation::answer(seen(&gathered, now, &gathered.notes), &object, &gathered.unready)
    }

    pub(super) async fn check_fix(&self, asked: &CheckFix) -> anyhow::Result<String> {
        let object = arguments::object(&asked.object)?;
        let namespace = self.place(arguments::namespace(asked.namespace.as_deref())?)?;
        let clients = self.clients().await?;
        let values: BTreeMap<String, String> = asked
            .values
            .iter()
            .map(|(name, value)| (name.trim_matches(['<', '>']).to_owned(), value.clone()))
            .collect();
        let asked = self.resolved(std::slice::from_ref(&object), &clients).await?;
        if asked.is_of_nodes() {
            return Err(Wrong("no remedy of a node can be tried; explain_failure has them".to_owned()).into());
        }
        let namespace = namespace.unwrap_or_else(|| clients.namespace.clone());
        let namespace = self.place_of(&asked, Some(namespace))?;
        let question = self.question(&clients, namespace, asked).await?;
        let question = fix::diagnosed_now(question).map_err(is_unknown)?;
        let now = clock();
        let gathered = question.answer(now).await?;
        let failing = fix::failing(&gathered.found, &question.asked);
        let Some(of) = failing.iter().find(|of| fix::is_meant(of, &question.asked)) else {
            // What fails because of another object is not fixed here: the explanation names that object.
            return explanation::answer(seen(&gathered, now, &gathered.notes), &object, &gathered.unready);
        };
        if let Some(name) = fix::unused_value(std::slice::from_ref(of), values.keys()) {
            return Err(
                Wrong(format!("values: no remedy has a placeholder <{name}>; leave out values to see them")).into()
            );
        }
        let objects = Objects { client: &clients.write, limit: self.limit };
        let (namespace, cause) = (&*of.namespace, &*of.cause);
        let trial = Trial { objects: &objects, namespace, cause, values: &values, force: false };
        let offers = fix::offers(&trial, &of.remedies).await?;
        fixes::answer(of, &offers)
    }

    async fn resolved(&self, words: &[String], clients: &Clients) -> anyhow::Result<Asked> {
        match resolve(words, clients, self.limit).await {
            Ok((asked, _)) => Ok(asked),
            // Without a failed request, the kind is wrong.
            Err(error) if error.downcast_ref::<Failure>().is_none() => Err(Wrong(error.to_string()).into()),
            Err(error) => Err(error),
        }
    }

    async fn question<'c>(
        &self,
        clients: &'c Clients,
        namespace: Option<String>,
        asked: Asked,
    ) -> anyhow::Result<Question<'c>> {
        let question = Question::new(clients, namespace, asked, self.thresholds, self.limit).await?;
        Ok(Question { here: self.here || self.has_rules, ..question })
    }

    /// The namespace to read. An error if it is not the only one that is answered for.
    fn place(&self, asked: Option<String>) -> Result<Option<String>, Wrong> {
        match (&self.only, asked) {
            (Some(only), Some(asked)) if *only != asked => {
                Err(Wrong(format!("namespace: this server answers for namespace {only} only")))
            }
            (Some(only), _) => Ok(Some(only.clone())),
            (None, asked) => Ok(asked),
        }
    }

    /// The namespace of these objects. `None` for all, and for objects without a namespace.
    fn place_of(&self, asked: &Asked, namespace: Option<String>) -> Result<Option<String>, Wrong> {
        match &self.only {
            Some(only) if asked.is_cluster_scoped() => {
                Err(Wrong(format!("this server answers for namespace {only} only, and these objects have none")))
            }
            _ => Ok(namespace.filter(|_| !asked.is_cluster_scoped())),
        }
    }
}

fn seen<'g>(gathered: &'g Gathered, now: Timestamp, notes: &'g [String]) -> Seen<'g> {
    Seen { found: &gathered.found, reported_by: answer::reported_by(gathered.by), now, notes }
}

/// An error that states that an object does not exist, unless a request failed.
fn is_unknown(error: anyhow::Error) -> anyhow::Error {
    let has_failed = error.chain().any(<dyn std::error::Error>::is::<Failure>);
    if has_failed { error } else { Unknown(error.to_string()).into() }
}
