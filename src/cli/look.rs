//! `kubectl shindan`: diagnoses a cluster for the user.

mod behind;
mod below;
mod connection;
mod gather;
mod kind;
mod own_status;
mod ready;
mod standing;
mod subject;
#[cfg(test)]
pub(in crate::cli) mod testing;
#[cfg(test)]
mod tests;
mod wait;

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::{Context, bail};

pub(super) use self::below::Below;
pub(super) use self::connection::Connection;
pub(super) use self::gather::{By, Gathered, Question, is_place, resolve, selected, types_of_rules};
pub(super) use self::ready::ReadyPods;
pub(super) use self::subject::Asked;
pub(super) use self::wait::{Waited, wait};
use shindan_core::facts::Timestamp;
use shindan_core::language::{phrase, translate};

use super::cause_files::{self, EngineArgs};
use super::found::{Form, Found};
use super::language::LanguageArgs;
use super::tree::Reading;
use super::{Ending, Streams};
use crate::cluster::client::{self, Clients};
use crate::config::Seconds;

pub(super) use self::kind::kinds;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The objects: pod/x, deploy/web, node/n1, ing/shop, certificate/web, a kind and names, or all objects of a kind
    /// [default: all failures in the namespace]
    #[arg(value_name = "KIND/NAME")]
    subjects: Vec<String>,
    /// The namespace [default: the context's]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// All namespaces, and the nodes; overrides -n
    #[arg(
        short = 'A',
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true",
        hide_default_value = true,
        hide_possible_values = true
    )]
    all_namespaces: bool,
    /// The pods with these labels, as in app=web,tier!=cache; after a kind, its objects with these labels
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "tree")]
    output: Form,
    /// Include ended diagnoses that are still kept: Recovered and Gone
    #[arg(long)]
    ended: bool,
    /// Diagnose locally with your own permissions, even if the operator is installed
    #[arg(long)]
    here: bool,
    /// Print again after each change, until interrupted
    #[arg(short, long, conflicts_with = "exit_code")]
    watch: bool,
    /// Wait until the objects are healthy or have failed, and exit with 0 or 2; pods that a rollout replaces are ignored
    #[arg(long, requires = "subjects", conflicts_with_all = ["watch", "ended"])]
    wait: bool,
    /// With --wait: the time limit
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = Seconds::parse)]
    timeout: Seconds,
    /// Exit with 2 if something fails, or with 3 if a named object shows a failure that is not reported yet
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

/// Interval at which `--watch`, `--wait` and an open page read again.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(2);

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    // Mistakes in the arguments are reported before the cluster is contacted.
    let asked = Asked::without_discovery(&args.subjects).map_err(anyhow::Error::msg)?;
    let has_names = args.subjects.len() > 1 || asked.is_some_and(|asked| !asked.subjects().is_empty());
    if args.selector.is_some() && has_names {
        bail!("-l selects objects by their labels: leave out the names, as in `pod -l app=web`");
    }
    let runtime = super::runtime()?;
    runtime.block_on(look(args, streams))
}

async fn look(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let clients = client::connect(&args.connection.target()).await?;
    clients.probe(args.connection.limit()).await?;
    let (asked, notes) = resolve(&args.subjects, &clients, args.connection.limit()).await?;
    for note in notes {
        writeln!(streams.err, "warning: {note}")?;
    }
    let mut question = question(args, asked, &clients).await?;
    if matches!(question.asked, Asked::All) && args.engine.has_rules() {
        match gather::types_of_rules(&clients.write, args.connection.limit()).await {
            Ok(types) => question.custom = types,
            Err(failure) => {
                writeln!(
                    streams.err,
                    "warning: the custom resources that the rules name are not diagnosed: {failure}"
                )?;
            }
        }
    }
    if args.watch {
        return watch(args, &question, streams).await;
    }
    if args.wait {
        return wait_for(args, &question, streams).await;
    }
    let now = clock();
    let gathered = question.answer(now).await?;
    print_answer(args, &question, &gathered, now, streams)?;
    Ok(match args.exit_code {
        true if question.asked.fails(&gathered.found) => Ending::PodsFail,
        true if gathered.fails_so_far => Ending::FailsSoFar,
        _ => Ending::Good,
    })
}

async fn question<'a>(args: &Args, asked: Asked, clients: &'a Clients) -> anyhow::Result<Question<'a>> {
    let limit = args.connection.limit();
    if args.all_namespaces && !asked.subjects().is_empty() && !asked.is_cluster_scoped() {
        bail!("a name needs a single namespace: use -n instead of -A");
    }
    let namespace =
        if args.all_namespaces { None } else { place(args.namespace.as_deref(), &asked, clients, limit).await? };
    let asked = match &args.selector {
        Some(labels) => gather::labelled(asked, &clients.write, namespace.as_deref(), labels, limit).await?,
        None => asked,
    };
    let thresholds = args.engine.thresholds().in_language(args.language.language());
    let question = Question::new(clients, namespace, asked, thresholds, limit).await?;
    Ok(Question {
        here: args.here || args.engine.has_rules(),
        ended: args.ended,
        // Objects are printed as they are stored.
        with_live_counts: !matches!(args.output, Form::Json | Form::Yaml | Form::Name),
        shows_progress: true,
        ..question
    })
}

/// The namespace of the requested objects. `None`: they have none.
pub(super) async fn place(
    named: Option<&str>,
    asked: &Asked,
    clients: &Clients,
    limit: Duration,
) -> anyhow::Result<Option<String>> {
    if asked.is_cluster_scoped() {
        return Ok(None);
    }
    // An empty value counts as not set, for scripts with an unset variable.
    let namespace = named.filter(|name| !name.is_empty()).unwrap_or(&clients.namespace);
    if asked.subjects().is_empty() {
        gather::is_place(&clients.write, namespace, limit).await?;
    }
    Ok(Some(namespace.to_owned()))
}

async fn wait_for(args: &Args, question: &Question<'_>, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let Seconds(timeout) = args.timeout;
    // An object that does not exist is an error, even if it has a diagnosis.
    question.deletion_notes(&Found::default())?;
    let waited = wait(question, timeout, clock, |text| writeln!(streams.err, "{text}")).await?;
    Ok(match waited {
        Waited::Healthy => {
            writeln!(streams.err, "{}", nothing(question, false, 0, &[]))?;
            Ending::Good
        }
        Waited::Fails(found) => {
            let gathered = Gathered {
                found,
                by: By::Here,
                notes: Vec::new(),
                pods: 0,
                unready: Vec::new(),
                fails_so_far: false,
                healthy_nodes: Vec::new(),
            };
            print_answer(args, question, &gathered, clock(), streams)?;
            Ending::PodsFail
        }
    })
}

/// Prints the answer after each change, until interrupted.
async fn watch(args: &Args, question: &Question<'_>, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let is_screen = args.output == Form::Tree && io::stdout().is_terminal();
    let mut shown = None;
    loop {
        let now = clock();
        let gathered = question.answer(now).await?;
        let mut text = Vec::new();
        {
            let mut into = Streams { out: &mut text, err: &mut io::sink() };
            print_answer(args, question, &gathered, now, &mut into)?;
        }
        if gathered.found.is_empty() && args.output == Form::Tree {
            text = format!("{}\n", nothing(question, args.ended, gathered.pods, &gathered.unready)).into_bytes();
        }
        if is_screen {
            // Clears the screen.
            write!(streams.out, "\x1b[H\x1b[2J")?;
        }
        // On a terminal, ages are updated. In a log, that would repeat the whole answer.
        let news = signature(&gathered);
        let is_news = shown.as_ref() != Some(&news);
        if is_screen || is_news {
            // In a log, a line with the time separates the answers.
            if !is_screen && args.output == Form::Tree {
                writeln!(streams.out, "{}As of {now}:", if shown.is_some() { "\n" } else { "" })?;
            }
            streams.out.write_all(&text)?;
            streams.out.flush()?;
            shown = Some(news);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            stopped = tokio::signal::ctrl_c() => {
                stopped.context("cannot wait for an interruption")?;
                return Ok(Ending::Good);
            }
        }
    }
}

/// The content of an answer without ages, to detect a change.
fn signature(gathered: &Gathered) -> Vec<String> {
    let pods = gathered.found.pods.iter().map(|pod| {
        let restarts = pod.status.restarts.as_ref().map_or(0, |restarts| restarts.count);
        format!("{} {} {} {restarts}", pod.key, pod.status.head.state, pod.status.head.cause)
    });
    let nodes_and_workloads = gathered.found.nodes_and_workloads.iter().map(|of| {
        let head = of.object.head();
        format!("{} {} {} {}", of.key, head.state, head.cause, head.summary)
    });
    pods.chain(nodes_and_workloads).collect()
}

fn print_answer(
    args: &Args,
    question: &Question<'_>,
    gathered: &Gathered,
    now: Timestamp,
    streams: &mut Streams<'_>,
) -> anyhow::Result<()> {
    let Gathered { found, by, notes, pods, unready, healthy_nodes, fails_so_far: _ } = gathered;
    for note in notes.iter().chain(&cause_files::too_expensive()) {
        writeln!(streams.err, "warning: {note}")?;
    }
    let language = args.language.language();
    let collapses_ended = question.asked.collapses_ended(found, args.ended);
    let reading = Reading { detail: question.detail(found), language, collapses_ended };
    found.write(args.output, reading, now, streams.out)?;
    // Flushes the output first, so that it appears before the messages on standard error.
    streams.out.flush()?;
    if found.is_empty() {
        writeln!(streams.err, "{}", nothing(question, args.ended, *pods, unready))?;
    }
    for node in healthy_nodes {
        let note = translate!(
            language,
            "Node {node} is healthy; these pods on it fail.",
            "ノード {node} 自体に異常はない: 示されているのはそこで失敗している Pod である。",
            node
        );
        writeln!(streams.err, "{note}")?;
    }
    if *by == By::OperatorInstead {
        let source = phrase!(
            language,
            "Reported by the operator; the local diagnosis does not find it. The operator may know a DiagnosisRule or objects of other namespaces.",
            "operator による診断。ここでの診断では見つからない。operator は DiagnosisRule や他の namespace のオブジェクトを知っていることがある。"
        );
        writeln!(streams.err, "{source}")?;
    }
    if *by == By::HereInstead {
        let doubt = phrase!(
            language,
            "Diagnosed locally: the operator is installed but has not reported this. Check that it runs, watches this namespace, and does not ignore this cause.",
            "ここで診断した: operator は導入されているが、これについて何も述べていない。動いているか、この namespace を対象としているか、このような原因を無視する設定ではないか。"
        );
        writeln!(streams.err, "{doubt}")?;
    }
    Ok(())
}

/// The message if nothing fails. `pods` is the number of pods checked, which distinguishes a healthy namespace from a
/// misspelled one. `unready` are objects that are not healthy yet.
fn nothing(question: &Question<'_>, ended: bool, pods: usize, unready: &[String]) -> String {
    let language = question.thresholds.language;
    let place = match &question.namespace {
        Some(namespace) => translate!(language, " in namespace {namespace}", "namespace {namespace} では", namespace),
        None => phrase!(language, " in the cluster", "クラスタでは").to_owned(),
    };
    let what = match &question.asked {
        Asked::All | Asked::OwnStatus => phrase!(language, "Nothing fails", "失敗しているものはない").to_owned(),
        Asked::Kind(kind) => {
            translate!(language, "Nothing is wrong with any {kind}", "どの {kind} にも問題はない", kind = kind.as_str())
        }
        Asked::These(subjects) => {
            let names: Vec<String> = subjects.iter().map(ToString::to_string).collect();
            translate!(language, "Nothing is wrong with {names}", "{names} に異常はない", names = names.join(", "))
        }
        Asked::Pods(pods) if pods.len() == 1 => {
            phrase!(language, "Nothing is wrong with the selected pod", "選択された Pod に異常はない").to_owned()
        }
        Asked::Pods(pods) => translate!(
            language,
            "Nothing is wrong with the {pods} selected pods",
            "選択された {pods} 個の Pod に異常はない",
            pods = pods.len()
        ),
    };
    let also =
        if ended { phrase!(language, ", and nothing has failed recently", "。最近もなかった") } else { "" };
    let among = match (&question.asked, pods) {
        (Asked::OwnStatus | Asked::Kind(_) | Asked::These(_) | Asked::Pods(_), _) => String::new(),
        (Asked::All, 0) => phrase!(language, ": it has no pods", " (Pod がない)").to_owned(),
        (Asked::All, 1) => phrase!(language, " (1 pod)", " (1 Pod)").to_owned(),
        (Asked::All, pods) => translate!(language, " ({pods} pods)", " ({pods} Pod)", pods),
    };
    if unready.is_empty() {
        return translate!(
            language,
            "{what}{place}{also}{among}.",
            "{place}{what}{also}{among}。",
            what,
            place,
            also,
            among
        );
    }
    translate!(
        language,
        "Not failing yet{place}{also}. {states}.",
        "{place}まだ失敗していない{also}。{states}。",
        place,
        also,
        states = unready.join(". ")
    )
}

/// The wall clock, read once for each answer.
#[allow(clippy::disallowed_methods, reason = "from here on `now` is passed")]
pub(super) fn clock() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
