//! Parses pages: headings, blocks, and the commands in blocks, each with the place where it can run.
//!
//! A `console` block has commands after `$ ` with their output (a line `...` stands for omitted lines), a `sh` block has only
//! commands; other languages are data. The prefix of a command decides where it runs (`place`). A comment before the fence has
//! its prerequisites: `<!-- run: offline|cluster needs=NAME exit=2 prints=TEXT ends=never -->`. trycmd is not used because it
//! runs no shell, so no pipe, and does not detect unmarked commands.

#![allow(dead_code, reason = "two suites use it, each a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

/// Place where a command can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In `cargo test`, on files of this repository.
    Offline,
    /// Like `Offline`, with helm on the PATH: with the feature `helm`.
    Helm,
    /// In the end-to-end tests, on their cluster.
    Cluster,
    /// On that cluster with `--dry-run=server`, because it would change the operator that all tests share.
    DryRun,
    /// Not run, for this reason.
    Nowhere(&'static str),
}

/// Places by prefix of the command; the first match decides.
const PLACES: &[(&str, Place)] = &[
    ("cargo run -- run", Place::Nowhere("the operator of the end-to-end tests runs from its image")),
    ("cargo run -- crd |", Place::DryRun),
    ("cargo run -- ", Place::Offline),
    ("shindan run", Place::Nowhere("the operator of the end-to-end tests runs from its image")),
    ("shindan crd |", Place::DryRun),
    ("shindan rules rbac ", Place::DryRun),
    ("shindan ui -f", Place::Offline),
    ("shindan ui", Place::Cluster),
    ("shindan ", Place::Offline),
    ("helm uninstall", Place::Nowhere("nothing is installed by Helm in the cluster of the tests")),
    ("helm rollback", Place::Nowhere("nothing is installed by Helm in the cluster of the tests")),
    ("helm install shindan oci://", Place::Nowhere("no release is published yet; tests/chart.rs renders the chart")),
    ("kind ", Place::Nowhere("needs Docker; tests/kind/run does the same with the operator")),
    ("helm show crds ", Place::Nowhere("tests/chart/crds.rs checks what it prints; applying it needs a cluster")),
    ("helm ", Place::Helm),
    ("kubectl kustomize", Place::Offline),
    ("kubectl krew", Place::Nowhere("krew fetches from the network, and nothing is published yet")),
    (
        "kubectl apply -k deploy/overlays/mine",
        Place::Nowhere("the reader's own overlay; tests/docs/commands.rs renders it"),
    ),
    ("kubectl apply -k deploy/overlays/monitoring", Place::Offline),
    ("kubectl apply ", Place::DryRun),
    ("kubectl delete ", Place::DryRun),
    ("kubectl -n shindan-system set ", Place::DryRun),
    ("kubectl -n shindan-system create secret ", Place::Nowhere("needs a webhook of the reader's own")),
    ("kubectl -n shindan-system rollout restart", Place::Nowhere("tests/e2e/operator.rs restarts it")),
    ("kubectl label namespace monitoring", Place::Nowhere("the cluster of the tests has no Prometheus of its own")),
    ("kubectl wait diagnosisrule/", Place::Nowhere("tests/e2e/rules.rs applies a rule and waits for it")),
    ("kubectl shindan certificate", Place::Nowhere("tests/e2e/custom.rs defines the kind, and runs it")),
    ("kubectl ", Place::Cluster),
    ("opm ", Place::Nowhere("needs a registry; tests/cluster/tools/olm-validate checks the bundle")),
    ("docker ", Place::Nowhere("needs Docker; CI makes the image without it (make image)")),
    ("ln -s", Place::Nowhere("changes the reader's own PATH; the runner makes the same link in a folder of its own")),
    ("make ", Place::Nowhere("builds a cluster, or is what runs this test")),
    ("ssh ", Place::Nowhere("needs another machine")),
    ("curl localhost:", Place::Nowhere("follows a port-forward in another terminal")),
    ("deploy/release/", Place::Nowhere("builds for other platforms; tests/release/check packs a release")),
    ("cosign ", Place::Nowhere("verifies what is published, and nothing is yet")),
    ("gh attestation", Place::Nowhere("verifies what is published, and nothing is yet")),
    ("sha256sum --check", Place::Nowhere("verifies what is published; tests/release/check checks the checksums")),
    ("deploy/krew/package", Place::Nowhere("packs release binaries, which `make check` does not build")),
];

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) page: String,
    pub(crate) line: usize,
    pub(crate) language: String,
    /// Attributes of the comment before the fence.
    pub(crate) marks: BTreeMap<String, String>,
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Command {
    /// The page and the line of its block.
    pub(crate) at: String,
    pub(crate) text: String,
    /// The output that the page shows.
    pub(crate) shown: Option<String>,
    pub(crate) marks: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// All blocks of README.md and docs/, without the generated pages of causes.
pub(crate) fn blocks() -> Vec<Block> {
    let mut names: Vec<_> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
        .collect();
    names.push("README.md".to_owned());
    names.sort();
    names.iter().flat_map(|name| blocks_of(name, &fs::read_to_string(root().join(name)).unwrap())).collect()
}

fn blocks_of(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut marks = BTreeMap::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let inner = line.trim_start();
        if let Some(language) = inner.strip_prefix("```") {
            let indent = line.len() - inner.len();
            let body = lines.by_ref().map(|(_, line)| line.get(indent..).unwrap_or_default());
            blocks.push(Block {
                page: page.to_owned(),
                line: at + 1,
                language: language.to_owned(),
                marks: std::mem::take(&mut marks),
                text: body.take_while(|line| !line.starts_with("```")).map(str::to_owned).collect(),
            });
        } else if let Some(comment) = inner.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            marks.extend(marks_of(comment));
        } else if !line.is_empty() {
            marks.clear();
        }
    }
    blocks
}

/// `run: cluster needs=web` has the place and prerequisites; other comments are stored by their first word.
fn marks_of(comment: &str) -> BTreeMap<String, String> {
    let Some((name, rest)) = comment.split_once(": ") else { return BTreeMap::new() };
    if name != "run" {
        return BTreeMap::from([(name.to_owned(), rest.to_owned())]);
    }
    let words = rest.split(' ').map(|word| word.split_once('=').unwrap_or(("where", word)));
    words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl Block {
    pub(crate) fn commands(&self) -> Vec<Command> {
        let at = format!("{}:{}", self.page, self.line);
        let command = |text: String, shown| Command { at: at.clone(), text, shown, marks: self.marks.clone() };
        let mut commands: Vec<Command> = Vec::new();
        let mut continues = false;
        for line in &self.text {
            let (begins, line) = match line.strip_prefix("$ ") {
                Some(rest) if self.language == "console" => (true, rest),
                _ => (self.language == "sh", line.as_str()),
            };
            let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
            if continues {
                let last = commands.last_mut().expect("a continued line belongs to a command");
                last.text = format!("{}\n{line}", last.text);
            } else if !begins {
                if let Some(last) = commands.last_mut() {
                    let shown = last.shown.get_or_insert_default();
                    shown.push_str(line);
                    shown.push('\n');
                }
                continue;
            } else if is_blank {
                continue;
            } else {
                commands.push(command(line.to_owned(), None));
            }
            continues = ["\\", "&&", "|"].iter().any(|end| line.trim_end().ends_with(end));
        }
        commands
    }
}

impl Command {
    /// Returns where it runs; `None` if its prefix is unknown.
    pub(crate) fn place(&self) -> Option<Place> {
        match self.marks.get("where").map(String::as_str) {
            Some("offline") => return Some(Place::Offline),
            Some("cluster") if !self.is_dry() => return Some(Place::Cluster),
            _ => {}
        }
        self.place_by_prefix()
    }

    fn place_by_prefix(&self) -> Option<Place> {
        PLACES.iter().find(|(begin, _)| self.text.starts_with(begin)).map(|(_, place)| *place)
    }

    fn is_dry(&self) -> bool {
        matches!(self.place_by_prefix(), Some(Place::DryRun | Place::Nowhere(_)))
    }

    /// The command with the `shindan` on the PATH instead of `cargo run`.
    pub(crate) fn by_program(&self) -> String {
        self.text.replace("cargo run -- ", "shindan ")
    }

    /// The command with `--dry-run=server` and without its trailing comment.
    pub(crate) fn dry(&self) -> String {
        let text = self.by_program();
        let text = text.split("  #").next().unwrap_or_default().trim_end();
        format!("{text} --dry-run=server")
    }

    pub(crate) fn mark(&self, name: &str) -> &str {
        self.marks.get(name).map_or("", String::as_str)
    }
}

/// All commands, except those of scripts, which have their own tests.
pub(crate) fn commands() -> Vec<Command> {
    blocks().iter().filter(|block| !block.marks.contains_key("script")).flat_map(Block::commands).collect()
}

/// A folder with the files that pages refer to.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // kubectl kustomize follows no symbolic link out of its folder.
    let copied = Process::new("cp").arg("-r").arg(root().join("deploy")).arg(at("deploy")).status().unwrap();
    assert!(copied.success());
    for name in ["tests", "examples", "crds", "docs"] {
        std::os::unix::fs::symlink(root().join(name), at(name)).unwrap();
    }
    fs::copy(root().join("examples/broken-cluster.yaml"), at("dump.yaml")).unwrap();
    fs::create_dir(at("cluster-info-dump")).unwrap();
    fs::copy(root().join("examples/broken-cluster.yaml"), at("cluster-info-dump/pods.yaml")).unwrap();
    fs::write(at("oom.log"), "[pod/oom-66784bbf9f-2qdv9/hog] out of memory\n").unwrap();
    fs::write(at("my-values.yaml"), "image: {repository: registry.example.com/shindan}\n").unwrap();
    fs::create_dir(at("bin")).unwrap();
    for name in ["shindan", "kubectl-shindan"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_shindan"), at("bin").join(name)).unwrap();
    }
    folder
}

/// Escapes angle brackets outside of code, which would be read as tags.
pub(crate) fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text.split('`').enumerate();
    let escaped = parts.map(|(i, part)| if i % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() });
    escaped.collect::<Vec<_>>().join("`")
}

/// The anchors of the headings, as GitHub generates them.
pub(crate) fn anchors(page: &str) -> BTreeSet<String> {
    let (mut anchors, mut in_block) = (BTreeSet::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        }
        if !in_block && line.starts_with('#') {
            let kept = line.trim_start_matches('#').trim().chars();
            let kept: String = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect();
            anchors.insert(kept.to_lowercase().replace(' ', "-"));
        }
    }
    anchors
}
