//! `shindan dump`: writes the objects that a bug report needs, without secrets.

mod collection;
mod comparison;
mod document;
#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use shindan_core::facts::Timestamp;
use shindan_core::redact::{Names, Words, related};

use self::collection::Collection;
use self::comparison::{Line, answer, differences, without_names};
use self::document::{Document, Head};
use super::cause_files::EngineArgs;
use super::dump::spans_namespaces;
use super::found::Found;
use super::input::Size;
use super::look::{self, Asked, Connection, Question, resolve};
use super::{Ending, Streams};
use crate::cluster::client;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The objects: deploy/web, pod/x, a kind and names [default: all of the namespace]
    #[arg(value_name = "KIND/NAME")]
    subjects: Vec<String>,
    /// The namespace [default: the context's]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The file to write; it must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the names of objects, hosts and images, IP addresses and UIDs, each by the same everywhere. Names of containers stay
    #[arg(long)]
    replace_names: bool,
    /// Maximum size. Pods of other namespaces are left out first, then Events
    #[arg(long, value_name = "SIZE", default_value = "20Mi", value_parser = Size::parse)]
    max_size: Size,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    // Mistakes in the arguments are reported before the cluster is contacted.
    if let Some(asked) = Asked::without_discovery(&args.subjects).map_err(anyhow::Error::msg)? {
        check(&asked)?;
    }
    if let Some(file) = args.output.as_deref().filter(|file| file.exists()) {
        bail!("{} exists: name another file, or remove it", file.display());
    }
    let runtime = super::runtime()?;
    runtime.block_on(dump(args, streams))
}

/// Returns an error if a kind was requested without names.
fn check(asked: &Asked) -> anyhow::Result<()> {
    if !matches!(asked, Asked::All | Asked::These(_)) {
        bail!("give the names of the objects too, as in deploy/web");
    }
    Ok(())
}

async fn dump(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let limit = args.connection.limit();
    let clients = client::connect(&args.connection.target()).await?;
    let kubernetes = clients.probe(limit).await?;
    let (asked, notes) = resolve(&args.subjects, &clients, limit).await?;
    for note in notes {
        writeln!(streams.err, "warning: {note}")?;
    }
    let namespace = look::place(args.namespace.as_deref(), &asked, &clients, limit).await?;
    let question = Question::new(&clients, namespace, asked, args.engine.thresholds(), limit).await?;
    let now = look::clock();
    let Size(most) = args.max_size;
    let settings = Settings { kubernetes, replaces_names: args.replace_names, most };
    let question = Question { shows_progress: true, ..question };
    let Dumped { document, warnings } = document(&question, &settings, now).await?;
    for warning in &warnings {
        writeln!(streams.err, "warning: {warning}")?;
    }
    match &args.output {
        Some(file) => {
            create(file, document.text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            let (objects, file) = (document.objects, file.display());
            writeln!(streams.err, "Wrote {objects} objects to {file}. Read the file before you share it.")?;
        }
        None => streams.out.write_all(document.text.as_bytes())?,
    }
    Ok(Ending::Good)
}

/// Writes a new file.
fn create(file: &Path, content: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(content)
}

/// What the user has chosen, and the version of the API server.
#[derive(Debug)]
struct Settings {
    kubernetes: String,
    replaces_names: bool,
    /// Maximum size in bytes.
    most: usize,
}

/// A dump, and what its user must know.
#[derive(Debug)]
struct Dumped {
    document: Document,
    warnings: Vec<String>,
}

/// Reads the cluster, and makes a dump of it that has the same diagnosis.
async fn document(question: &Question<'_>, settings: &Settings, now: Timestamp) -> anyhow::Result<Dumped> {
    check(&question.asked)?;
    question.deletion_notes(&Found::default())?;
    let collection = Collection::new(question.namespace.as_deref());
    let snapshot = question.snapshot_with(&|item| collection.add(item)).await?;
    let mut warnings: Vec<String> = snapshot.lacking.iter().map(ToString::to_string).collect();
    let (found, unknown_names) = question.diagnose(snapshot.dump.clone(), snapshot.has_all_pods, now);
    let names = question.names(unknown_names).await;
    let found = if names.is_empty() {
        found
    } else {
        let mut dump = snapshot.dump;
        dump.names.extend(names.clone());
        question.diagnose(dump, snapshot.has_all_pods, now).0
    };
    let mut objects = collection.into_objects();
    objects.extend(collection::named(&names));
    let head = Head {
        kubernetes: settings.kubernetes.clone(),
        now,
        asked: question.asked.subjects().iter().map(ToString::to_string).collect(),
        left_out: warnings.clone(),
        has_replaced_names: settings.replaces_names,
    };
    let maker = Maker { question, head, most: settings.most, now };
    let expected = answer(&found);
    let Smallest { objects, mut document, answer } = maker.smallest(objects, &expected)?;
    warnings.extend(differences(&expected, &answer).map(|of| format!("the dump has another diagnosis: {of}")));
    if settings.replaces_names {
        let expected = without_names(&maker.all(&document));
        document = maker.without_names(&objects, &expected)?;
        if without_names(&maker.all(&document)) != expected {
            warnings.push("the diagnosis depends on names: with replaced names it is another one".to_owned());
        }
    }
    warnings.extend(document.note.clone());
    Ok(Dumped { document, warnings })
}

/// Makes the file, and diagnoses it as `shindan diagnose` does.
struct Maker<'q> {
    question: &'q Question<'q>,
    head: Head,
    most: usize,
    now: Timestamp,
}

/// The objects of a dump, its file, and the diagnoses of the requested objects in the file.
struct Smallest {
    objects: Vec<Value>,
    document: Document,
    answer: Vec<Line>,
}

impl Maker<'_> {
    /// What belongs to the requested objects, if their diagnosis depends on nothing else. A pod that waits for another
    /// depends on more.
    fn smallest(&self, objects: Vec<Value>, expected: &[Line]) -> anyhow::Result<Smallest> {
        let namespace = self.question.namespace.as_deref();
        if matches!(self.question.asked, Asked::These(_)) {
            let belongs = related(&objects, |object| self.is_asked(object));
            let part: Vec<Value> =
                objects.iter().zip(belongs).filter(|(_, belongs)| *belongs).map(|(object, _)| object.clone()).collect();
            let document = Document::new(&self.head, &part, namespace, self.most)?;
            let answer = answer(&self.requested(&document));
            if document.left_out > 0 || answer == *expected {
                return Ok(Smallest { objects: part, document, answer });
            }
        }
        let document = Document::new(&self.head, &objects, namespace, self.most)?;
        let answer = answer(&self.requested(&document));
        Ok(Smallest { objects, document, answer })
    }

    fn is_asked(&self, object: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_in_place = match (&self.question.namespace, object["metadata"]["namespace"].as_str()) {
            (Some(namespace), Some(of)) => namespace == of,
            _ => true,
        };
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let name = text(&object["metadata"]["name"]);
        is_in_place && self.question.asked.subjects().iter().any(|of| of.is_object(&api_version, &kind, &name))
    }

    /// The file with replaced names. Plain words are replaced in all texts if the diagnoses stay as expected, else only where
    /// a text marks them as names.
    fn without_names(&self, objects: &[Value], expected: &[String]) -> anyhow::Result<Document> {
        let with = |words| {
            let mut names = Names::of(objects, words);
            let mut objects = objects.to_vec();
            objects.iter_mut().for_each(|object| names.replace(object));
            let mut head = self.head.clone();
            head.asked.iter_mut().chain(&mut head.left_out).for_each(|text| names.replace_text(text, false));
            let mut namespace = self.question.namespace.clone();
            namespace.iter_mut().for_each(|text| names.replace_text(text, false));
            Document::new(&head, &objects, namespace.as_deref(), self.most)
        };
        let document = with(Words::Everywhere)?;
        if without_names(&self.all(&document)) == expected {
            return Ok(document);
        }
        with(Words::InContext)
    }

    /// The diagnoses of the requested objects.
    fn requested(&self, document: &Document) -> Found {
        let dump = document.read();
        let has_all_pods = spans_namespaces(&dump);
        self.question.diagnose(dump, has_all_pods, self.now).0
    }

    /// The diagnoses of all objects.
    fn all(&self, document: &Document) -> Found {
        let dump = document.read();
        let has_all_pods = spans_namespaces(&dump);
        comparison::diagnose(dump, has_all_pods, self.question.thresholds, self.now)
    }
}
