//! `kubectl shindan fix`: applies a remedy with the rights of the user, and waits until the object has recovered.

mod change;
mod diff;
mod json_patch;
mod object;
mod steps;
pub(super) mod trial;

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal};

use anstyle::Style;
use anyhow::{Context, bail};
use kube::api::DynamicObject;
use serde_json::json;
use shindan_core::api::{Head, Remedy, WorkloadRef};
use shindan_core::facts::route::NetworkKind;
use shindan_core::facts::{is_custom_group, seconds_between};
use shindan_core::language::Language;
use shindan_core::message::text;
use shindan_core::offline;

use self::change::Operation;
pub(super) use self::object::Objects;
use self::object::Refusal;
use self::steps::{Applied, Step, Stopped};
use self::trial::{State, Trial};
use super::cause_files::EngineArgs;
use super::found::{Found, NodeOrWorkload};
use super::language::LanguageArgs;
use super::look::{Asked, Connection, LOOK_AGAIN, Question, Waited, clock, resolve, selected, wait};
use super::{Ending, Streams, sentences};
use crate::cluster::client::{self, Clients};
use crate::config::Seconds;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The object that fails: deploy/web, pod/x, a kind and a name
    #[arg(value_name = "KIND/NAME", required_unless_present_any = ["all", "selector"])]
    subjects: Vec<String>,
    /// The namespace [default: the context's]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// What fails among the pods with these labels, as in app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with_all = ["subjects", "all"])]
    selector: Option<String>,
    /// All that fails in the namespace
    #[arg(long, conflicts_with = "subjects")]
    all: bool,
    /// How many objects to change at most
    #[arg(long, value_name = "N", default_value_t = 1)]
    max: usize,
    /// The remedy to apply, by its number in the list [default: the first that can be applied]
    #[arg(long, value_name = "N")]
    remedy: Option<usize>,
    /// A value that only you know, for a placeholder such as <IMAGE>
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Apply the remedy without a question; without this flag and without a terminal, it is only tried (dry run)
    #[arg(short, long)]
    yes: bool,
    /// Change an object although Helm, Argo CD, Flux or another controller manages it and may revert the change
    #[arg(long)]
    force: bool,
    /// Undo the change if the object does not recover
    #[arg(long)]
    rollback_on_failure: bool,
    /// How long to wait for the recovery
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = Seconds::parse)]
    timeout: Seconds,
    /// How to show the change
    #[arg(short, long, value_name = "FORMAT", default_value = "diff")]
    output: Form,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// The changed lines of the object
    Diff,
    /// The changed object as YAML
    Yaml,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    Ok((name.trim_matches(['<', '>']).to_owned(), value.to_owned()))
}

/// How often an object is diagnosed again because it has changed.
const ATTEMPTS: usize = 3;

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    let runtime = super::runtime()?;
    runtime.block_on(fix(args, streams))
}

/// A failing object, and what its diagnosis advises.
#[derive(Debug)]
pub(super) struct Failing {
    /// `Deployment/web`.
    pub(super) subject: String,
    pub(super) namespace: String,
    pub(super) cause: String,
    pub(super) summary: String,
    pub(super) remedies: Vec<Remedy>,
}

/// A remedy, and what the API server answers to it.
pub(super) struct Offer<'r> {
    pub(super) remedy: &'r Remedy,
    pub(super) state: State,
}

async fn fix(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let clients = client::connect(&args.connection.target()).await?;
    clients.probe(args.connection.limit()).await?;
    let question = question(args, &clients).await?;
    let gathered = question.answer(clock()).await?;
    for note in &gathered.notes {
        writeln!(streams.err, "warning: {note}")?;
    }
    let (failing, behind): (Vec<_>, Vec<_>) =
        failing(&gathered.found, &question.asked).into_iter().partition(|of| is_meant(of, &question.asked));
    if failing.is_empty() && !behind.is_empty() {
        let names: Vec<&str> = behind.iter().map(|of| &*of.subject).collect();
        let asked = args.subjects.join(" ");
        writeln!(
            streams.err,
            "{asked} fails because of {0}. Nothing was changed; to fix it, name {0}.",
            names.join(", ")
        )?;
        return Ok(Ending::PodsFail);
    }
    if failing.is_empty() {
        if gathered.unready.is_empty() {
            writeln!(streams.err, "Nothing fails: there is nothing to fix.")?;
            return Ok(Ending::Good);
        }
        writeln!(streams.err, "Not failing yet. {}.", gathered.unready.join(". "))?;
        return Ok(Ending::PodsFail);
    }
    if let Some(name) = unused_value(&failing, args.set.iter().map(|(name, _)| name)) {
        bail!("no remedy has a value <{name}>; without --set, the remedies are listed with the values that they need");
    }
    let mut ending = Ending::Good;
    let (mut seen, mut tried) = (0, 0);
    while tried < args.max
        && let Some(object) = failing.get(seen)
    {
        let outcome = recovers(args, &clients, object, streams).await?;
        if outcome != Outcome::Recovered {
            ending = Ending::PodsFail;
        }
        seen += 1;
        tried += usize::from(outcome != Outcome::NotTried);
    }
    if let Some(more) = failing.len().checked_sub(seen).filter(|more| *more > 0) {
        let names: Vec<&str> = failing.iter().skip(seen).take(5).map(|of| &*of.subject).collect();
        let tail = if more > names.len() { ", …" } else { "" };
        writeln!(
            streams.err,
            "{more} more fail ({}{tail}): name one of them, or allow more changes with --max.",
            names.join(", ")
        )?;
        ending = Ending::PodsFail;
    }
    Ok(ending)
}

async fn question<'a>(args: &Args, clients: &'a Clients) -> anyhow::Result<Question<'a>> {
    let limit = args.connection.limit();
    let named = args.namespace.clone().filter(|name| !name.is_empty());
    let namespace = named.unwrap_or_else(|| clients.namespace.clone());
    let asked = match &args.selector {
        Some(labels) => Asked::Pods(selected(&clients.write, Some(&namespace), labels, limit).await?),
        None => resolve(&args.subjects, clients, limit).await?.0,
    };
    if asked.is_of_nodes() {
        bail!("a node is not changed from here: `kubectl shindan {}` shows what to do", args.subjects.join(" "));
    }
    diagnosed_now(Question::new(clients, Some(namespace), asked, thresholds(args), limit).await?)
}

/// The question with an answer that is made now, because remedies depend on the present object. An error if the object does
/// not exist.
pub(super) fn diagnosed_now(question: Question<'_>) -> anyhow::Result<Question<'_>> {
    question.deletion_notes(&Found::default())?;
    Ok(Question { here: true, ..question })
}

/// The first name of a value that no command has as a placeholder.
pub(super) fn unused_value<'n>(failing: &[Failing], mut names: impl Iterator<Item = &'n String>) -> Option<&'n String> {
    let commands = || failing.iter().flat_map(|of| &of.remedies).filter_map(|remedy| remedy.command.as_deref());
    names.find(|name| !commands().any(|of| of.contains(&format!("<{name}>"))))
}

/// The workloads that fail, and the failing pods that belong to none or were named.
pub(super) fn failing(found: &Found, asked: &Asked) -> Vec<Failing> {
    let of = |subject: String, namespace: &str, head: &Head| Failing {
        subject,
        namespace: namespace.to_owned(),
        cause: head.cause.clone(),
        summary: head.summary.clone(),
        remedies: head.remedies.clone(),
    };
    let workloads = found.nodes_and_workloads.iter().filter(|of| of.fails()).filter_map(|found| match &found.object {
        NodeOrWorkload::Workload(spec, status) => {
            let subject = argument(&spec.workload);
            Some(of(subject, &found.key.object.namespace, &status.head))
        }
        NodeOrWorkload::Node(..) => None,
    });
    let mut all: Vec<Failing> = workloads.collect();
    for pod in found.pods.iter().filter(|pod| pod.fails()) {
        let own = pod.spec.workload.as_ref().map(argument);
        let is_listed = |own: &String| all.iter().any(|of| of.subject == *own && *of.namespace == *pod.key.namespace);
        if own.as_ref().is_some_and(is_listed) {
            continue;
        }
        let is_named = asked.subjects().iter().any(|subject| subject.to_string() == format!("Pod {}", pod.key.name));
        let subject = own.filter(|_| !is_named).unwrap_or_else(|| format!("Pod/{}", pod.key.name));
        all.push(of(subject, &pod.key.namespace, &pod.status.head));
    }
    all
}

/// Whether a failing object may be changed. Who names only objects on the path of a request does not expect a change of the
/// workload behind them.
pub(super) fn is_meant(of: &Failing, asked: &Asked) -> bool {
    let kind = of.subject.split_once('/').map_or("", |(kind, _)| kind);
    !asked.is_only_of_routes() || NetworkKind::diagnosed().any(|known| known.as_str() == kind)
}

/// The workload as an argument: `Deployment/web`, `certificate.cert-manager.io/web`.
pub(super) fn argument(workload: &WorkloadRef) -> String {
    let group = workload.api_version.split_once('/').map_or("", |(group, _)| group);
    if is_custom_group(group) {
        return format!("{}.{group}/{}", workload.kind.to_ascii_lowercase(), workload.name);
    }
    format!("{}/{}", workload.kind, workload.name)
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Recovered,
    /// A remedy was applied or shown, and the object is not healthy.
    NotRecovered,
    /// No remedy was chosen.
    NotTried,
}

/// Applies a remedy to one object.
async fn recovers(
    args: &Args,
    clients: &Clients,
    object: &Failing,
    streams: &mut Streams<'_>,
) -> anyhow::Result<Outcome> {
    let objects = Objects { client: &clients.write, limit: args.connection.limit() };
    let values: BTreeMap<String, String> = args.set.iter().cloned().collect();
    let mut diagnosed: Option<Failing> = None;
    for _ in 0..ATTEMPTS {
        let of = diagnosed.as_ref().unwrap_or(object);
        let (namespace, cause) = (&*of.namespace, &*of.cause);
        let trial = Trial { objects: &objects, namespace, cause, values: &values, force: args.force };
        let offers = offers(&trial, &of.remedies).await?;
        print_offers(of, &offers, streams)?;
        let Some(number) = chosen(args, &offers)? else {
            writeln!(streams.err, "{}: no remedy was applied{}. Nothing was changed.", of.subject, next_step(&offers))?;
            return Ok(Outcome::NotTried);
        };
        let State::Accepted(steps) = &offers[number].state else { return Ok(Outcome::NotTried) };
        for step in steps {
            print_change(args, number, step, streams)?;
        }
        let changed = steps.iter().find_map(|step| step.after.as_ref());
        print_judgement(args, clients, of, changed, streams).await?;
        if !is_confirmed(args, number, steps, streams)? {
            return Ok(Outcome::NotRecovered);
        }
        let reason = format!("{} at {}", of.cause, clock());
        match steps::apply(&objects, steps, &reason).await? {
            Ok(applied) => {
                let has_recovered = outcome(args, clients, of, &applied, streams).await?;
                return Ok(if has_recovered { Outcome::Recovered } else { Outcome::NotRecovered });
            }
            Err(Stopped { at, refusal: Refusal::Answer(words), applied, kept }) => {
                writeln!(streams.err, "{at} was not changed: {}", text::line(&words, 1000))?;
                if let Some(file) = kept {
                    writeln!(streams.err, "{}", steps::note_of_kept(&file))?;
                }
                // Half of a remedy may be worse than none.
                roll_back(args, clients, &applied, streams).await?;
                return Ok(Outcome::NotRecovered);
            }
            Err(Stopped { at, refusal: Refusal::Changed, applied, .. }) => {
                roll_back(args, clients, &applied, streams).await?;
                writeln!(streams.err, "{at} has changed meanwhile: it is diagnosed again.")?;
                let question = Question { here: true, ..of_one(args, clients, of).await? };
                let gathered = question.answer(clock()).await?;
                let Some(first) = failing(&gathered.found, &question.asked).into_iter().next() else {
                    writeln!(streams.err, "It does not fail any more; nothing was changed.")?;
                    return Ok(Outcome::Recovered);
                };
                diagnosed = Some(first);
            }
        }
    }
    writeln!(streams.err, "{} keeps changing; nothing was changed. Try again.", object.subject)?;
    Ok(Outcome::NotRecovered)
}

fn thresholds(args: &Args) -> shindan_core::case::Thresholds {
    args.engine.thresholds().in_language(args.language.language())
}

async fn of_one<'a>(args: &Args, clients: &'a Clients, of: &Failing) -> anyhow::Result<Question<'a>> {
    let namespace = Some(of.namespace.clone());
    Question::of_one(clients, namespace, &of.subject, thresholds(args), args.connection.limit()).await
}

/// Tries each remedy with a dry run.
pub(super) async fn offers<'r>(trial: &Trial<'_>, remedies: &'r [Remedy]) -> anyhow::Result<Vec<Offer<'r>>> {
    let mut offers = Vec::new();
    for remedy in remedies {
        offers.push(Offer { remedy, state: trial.of(remedy).await? });
    }
    Ok(offers)
}

fn print_offers(of: &Failing, offers: &[Offer<'_>], streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let bold = style(Style::new().bold());
    writeln!(streams.out, "{bold}{}   {}{bold:#}\n   {}\n", of.subject, of.cause, of.summary)?;
    for (number, Offer { remedy, state }) in offers.iter().enumerate() {
        let kind = sentences::remedy(remedy.kind, Language::English);
        writeln!(streams.out, "{bold}{}{bold:#}  {kind}: {}", number + 1, remedy.text)?;
        if let Some(words) = sentences::before_command(remedy, Language::English) {
            writeln!(streams.out, "   {words}")?;
        }
        if let Some(command) = &remedy.command {
            writeln!(streams.out, "   {command}")?;
        }
        let Some(mut words) = state.words(Language::English) else { continue };
        if let State::NeedsValues(names) = state {
            words = format!("{words} ({})", flags_of(names));
        }
        if matches!(state, State::Managed { .. }) {
            words.push_str(", or use --force");
        }
        writeln!(streams.out, "   → {words}")?;
    }
    writeln!(streams.out)?;
    Ok(())
}

/// What the user can add to have a remedy applied.
fn next_step(offers: &[Offer<'_>]) -> String {
    let needs = offers.iter().enumerate().find_map(|(place, offer)| match &offer.state {
        State::NeedsValues(names) => Some((place + 1, flags_of(names))),
        _ => None,
    });
    let other = offers.iter().position(|offer| matches!(offer.state, State::Accepted(_))).map(|place| place + 1);
    match (needs, other) {
        (Some((number, flags)), Some(other)) => {
            format!(": remedy {number} needs {flags}; --remedy {other} applies another one")
        }
        (Some((number, flags)), None) => format!(": remedy {number} needs {flags}"),
        (None, Some(other)) => format!(": --remedy {other} deletes an object for good"),
        (None, None) => ", because none can be applied from here".to_owned(),
    }
}

fn flags_of(names: &[String]) -> String {
    names.iter().map(|name| format!("--set {name}=…")).collect::<Vec<_>>().join(" ")
}

/// The place of the remedy to apply. `None` if none can be.
///
/// Without `--remedy`, it is the first that can be applied. One that still needs a value is not skipped for a weaker
/// one, and nothing is deleted for good.
fn chosen(args: &Args, offers: &[Offer<'_>]) -> anyhow::Result<Option<usize>> {
    let is_accepted = |offer: &Offer<'_>| matches!(offer.state, State::Accepted(_));
    let Some(number) = args.remedy else {
        let first = offers.iter().position(|offer| match &offer.state {
            State::Accepted(steps) => !steps.iter().any(|step| step.change.deletes_for_good()),
            State::NeedsValues(_) => true,
            _ => false,
        });
        return Ok(first.filter(|place| is_accepted(&offers[*place])));
    };
    let place = number.checked_sub(1).filter(|place| *place < offers.len());
    let Some(place) = place else { bail!("there is no remedy {number}: the diagnosis has {}", offers.len()) };
    Ok(Some(place).filter(|place| is_accepted(&offers[*place])))
}

fn print_change(args: &Args, number: usize, step: &Step, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let Step { change, before, after } = step;
    let (before, after) = (before.as_ref(), after.as_ref());
    let yaml = |object: Option<&DynamicObject>| -> anyhow::Result<String> {
        object.map_or(Ok(String::new()), |object| Ok(serde_saphyr::to_string(&object::shown(object))?))
    };
    let note = if change.is_recreation() { ", which is deleted and created again" } else { "" };
    writeln!(streams.out, "Remedy {} changes {change}{note}:", number + 1)?;
    match (args.output, after) {
        (Form::Diff, Some(_)) => {
            for line in diff::lines(&yaml(before)?, &yaml(after)?, io::stdout().is_terminal()) {
                writeln!(streams.out, "  {line}")?;
            }
        }
        (Form::Yaml, Some(_)) => write!(streams.out, "{}", yaml(after)?)?,
        (_, None) => writeln!(streams.out, "  it is deleted")?,
    }
    streams.out.flush()?;
    Ok(())
}

/// Prints which nodes would take a pod of the changed template.
async fn print_judgement(
    args: &Args,
    clients: &Clients,
    of: &Failing,
    after: Option<&DynamicObject>,
    streams: &mut Streams<'_>,
) -> anyhow::Result<()> {
    let Some(spec) = after.and_then(object::template_spec) else { return Ok(()) };
    let question = of_one(args, clients, of).await?;
    let snapshot = question.snapshot().await?;
    if snapshot.dump.nodes.is_empty() || !snapshot.has_all_pods {
        return Ok(());
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judged", "namespace": of.namespace, "uid": "judged"},
        "spec": spec, "status": {"phase": "Pending"},
    });
    let Some(placement) = offline::placement(snapshot.dump, &pod.to_string(), clock(), thresholds(args)) else {
        return Ok(());
    };
    match placement.fitting.as_slice() {
        [] => writeln!(streams.out, "Note: none of the {} nodes has room for a pod of it now.", placement.total)?,
        names => {
            let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > 3 { format!(" and {} more", names.len() - 3) } else { String::new() };
            writeln!(streams.out, "A pod of it fits {shown}{more}.")?;
        }
    }
    streams.out.flush()?;
    Ok(())
}

fn is_confirmed(args: &Args, number: usize, steps: &[Step], streams: &mut Streams<'_>) -> anyhow::Result<bool> {
    if args.yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        writeln!(streams.err, "This was a dry run; nothing was changed. Add --yes to apply remedy {}.", number + 1)?;
        return Ok(false);
    }
    let objects: Vec<String> = steps.iter().map(|step| step.change.to_string()).collect();
    write!(streams.err, "Apply remedy {} to {}? [y/N] ", number + 1, objects.join(" and "))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    let is_yes = matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_yes {
        writeln!(streams.err, "Nothing was changed.")?;
    }
    Ok(is_yes)
}

/// Seconds for which the old failure may persist: the kubelet and controllers try again after up to 90 seconds.
const SETTLES: i64 = 100;

/// Waits until the object is healthy, or fails for another cause, or for the old one for too long.
async fn settled(
    question: &Question<'_>,
    timeout: i64,
    cause: &str,
    mut report: impl FnMut(&str) -> io::Result<()>,
) -> anyhow::Result<Waited> {
    let began = clock();
    loop {
        let left = timeout.saturating_sub(seconds_between(began, clock()));
        match wait(question, left, clock, &mut report).await? {
            Waited::Fails(found) if seconds_between(began, clock()) < SETTLES.min(timeout) => {
                if !failing(&found, &question.asked).iter().all(|of| of.cause == cause) {
                    return Ok(Waited::Fails(found));
                }
            }
            waited => return Ok(waited),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits for the recovery, and reports it. Whether the object has recovered.
async fn outcome(
    args: &Args,
    clients: &Clients,
    of: &Failing,
    applied: &[Applied],
    streams: &mut Streams<'_>,
) -> anyhow::Result<bool> {
    for Applied { change, .. } in applied {
        writeln!(streams.err, "{change} is {}.", change.verb())?;
    }
    let undo = steps::undo_command(applied);
    let undo_note = undo.as_ref().map(|command| format!("Undo it with:\n  {command}"));
    let deletes_itself = |applied: &Applied| {
        let change = &applied.change;
        let is_itself = of.subject == format!("{}/{}", change.kind.kind, change.name);
        is_itself && matches!(change.operation, Operation::Delete { .. })
    };
    if applied.iter().any(deletes_itself) {
        writeln!(streams.err, "Nothing creates it again: apply its corrected manifest.")?;
        return Ok(false);
    }
    let question = of_one(args, clients, of).await?;
    let Seconds(timeout) = args.timeout;
    let waited = {
        let report = |line: &str| writeln!(streams.err, "{line}");
        tokio::select! {
            waited = settled(&question, timeout, &of.cause, report) => Some(waited),
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("cannot wait for an interruption")?;
                None
            }
        }
    };
    let Some(waited) = waited else {
        writeln!(streams.err, "\nInterrupted: the change stays.")?;
        if let Some(note) = undo_note {
            writeln!(streams.err, "{note}")?;
        }
        return Ok(false);
    };
    let fails = match waited {
        Ok(Waited::Healthy) => {
            writeln!(streams.err, "Recovered: {} is healthy.", of.subject)?;
            if let Some(note) = undo_note {
                writeln!(streams.err, "{note}")?;
            }
            return Ok(true);
        }
        Ok(Waited::Fails(found)) => {
            let now = failing(&found, &question.asked).into_iter().next();
            now.map_or_else(|| "it still fails".to_owned(), |now| format!("{}: {}", now.cause, now.summary))
        }
        Err(error) => format!("{error:#}"),
    };
    writeln!(streams.err, "Not recovered: {fails}")?;
    match undo {
        Some(_) if args.rollback_on_failure => roll_back(args, clients, applied, streams).await?,
        _ => {
            if let Some(note) = undo_note {
                writeln!(streams.err, "{note}")?;
            }
        }
    }
    Ok(false)
}

/// Undoes the steps that can be undone, the last one first.
async fn roll_back(
    args: &Args,
    clients: &Clients,
    applied: &[Applied],
    streams: &mut Streams<'_>,
) -> anyhow::Result<()> {
    let objects = Objects { client: &clients.write, limit: args.connection.limit() };
    for undo in applied.iter().rev().filter_map(|applied| applied.undo.as_ref()) {
        undo.apply(&objects, ATTEMPTS).await?;
        writeln!(streams.err, "The change of {} is undone.", undo.change)?;
    }
    Ok(())
}

/// The style, if standard output is a terminal.
fn style(style: Style) -> Style {
    if io::stdout().is_terminal() { style } else { Style::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workload_behind_a_named_service_is_not_meant() {
        let asked = |word: &str| Asked::without_discovery(&[word.to_owned()]).unwrap().unwrap();
        let failing = |subject: &str| Failing {
            subject: subject.to_owned(),
            namespace: "shop".to_owned(),
            cause: String::new(),
            summary: String::new(),
            remedies: Vec::new(),
        };
        for (subject, word, is_one) in [
            ("Deployment/web", "svc/web", false),
            ("Pod/web-1", "svc/web", false),
            ("Ingress/shop", "svc/web", true),
            ("Deployment/web", "deploy/web", true),
        ] {
            assert_eq!(is_meant(&failing(subject), &asked(word)), is_one, "{subject} for {word}");
        }
    }
}
