//! Runs the commands of README.md and docs/ that need no cluster; tests/e2e/docs.rs runs the others.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use crate::pages::{Command, Place, blocks, commands, folder};
use crate::root;

/// Languages of blocks without commands.
const DATA: [&str; 4] = ["yaml", "json", "text", "promql"];

#[test]
fn each_block_has_a_language() {
    let mut wrong = Vec::new();
    for block in blocks() {
        let is_known = matches!(&*block.language, "console" | "sh") || DATA.contains(&&*block.language);
        if !is_known {
            wrong.push(format!("{}:{}: a block of {:?}", block.page, block.line, block.language));
        } else if block.language == "console" && !block.text.first().is_some_and(|line| line.starts_with("$ ")) {
            wrong.push(format!("{}:{}: a console begins with `$ `", block.page, block.line));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_command_is_run_somewhere_or_has_a_reason() {
    let unknown: Vec<_> = commands().into_iter().filter(|c| c.place().is_none()).collect();
    assert!(unknown.is_empty(), "add these to tests/support/pages.rs: {unknown:#?}");
    let on_cluster = |c: &Command| c.place() == Some(Place::Cluster);
    assert!(commands().iter().filter(|c| on_cluster(c)).count() > 10, "commands are understood");
}

/// The command in a form that needs neither the sources nor a cluster.
fn offline_form(command: &Command) -> String {
    let text = command.by_program().replace("kubectl apply -k ", "kubectl kustomize ");
    let text = text.replace("helm install ", "helm template ").replace("helm upgrade ", "helm template ");
    text.replace(" --take-ownership", "").replace(" --force-conflicts", "")
}

struct Ran {
    status: Option<i32>,
    out: String,
    errors: String,
}

fn run(command: &Command, folder: &Path) -> Ran {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut process = Process::new("bash");
    process.args(["-o", "pipefail", "-c", &offline_form(command)]).current_dir(folder).env("PATH", path);
    process.env("LC_ALL", "C.UTF-8").env("COLUMNS", "120").env("KUBECONFIG", "/dev/null").stdin(Stdio::null());
    if command.mark("ends") == "never" {
        return begun(process);
    }
    let done = process.output().unwrap();
    Ran {
        status: done.status.code(),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        errors: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// The first output of a command that does not end; it is then killed.
fn begun(mut process: Process) -> Ran {
    let mut child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4096];
    let read = child.stdout.as_mut().unwrap().read(&mut first).unwrap();
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut errors = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut errors).unwrap();
    let status = ended.map_or(Some(0), |status| status.code().filter(|code| *code != 0).or(Some(-1)));
    Ran { status, out: String::from_utf8_lossy(&first[..read]).into_owned(), errors }
}

/// Whether the output is what the page shows; a line `...` there stands for any lines.
fn is_as_shown(shown: &str, out: &str) -> bool {
    let (shown, out) = (lines(shown), lines(out));
    let mut parts = shown.split(|line| *line == "...").peekable();
    let mut rest = &out[..];
    let mut is_first = true;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let at = match (is_first, is_last) {
            (true, true) if rest != part => None,
            (true, _) => rest.starts_with(part).then_some(0),
            (false, true) => rest.ends_with(part).then(|| rest.len() - part.len()),
            (false, false) => (0..=rest.len()).find(|at| rest[*at..].starts_with(part)),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
        is_first = false;
    }
    true
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().map(str::trim_end).collect()
}

#[test]
fn three_dots_leave_lines_out() {
    let out = "a\nb\nc\nd\n";
    for shown in ["a\nb\nc\nd", "a\n...", "...\nd", "a\n...\nc\n...\nd", "..."] {
        assert!(is_as_shown(shown, out), "{shown:?}");
    }
    for shown in ["a", "a\n...\nc", "b\n...", "...\na\n...\nb\n...\na"] {
        assert!(!is_as_shown(shown, out), "{shown:?}");
    }
}

fn hold(place: Place) {
    let folder = folder();
    let (mut wrong, mut done) = (Vec::new(), BTreeSet::new());
    for command in commands().into_iter().filter(|command| command.place() == Some(place)) {
        let ran = run(&command, folder.path());
        let due = command.mark("exit").parse().unwrap_or(0);
        if ran.status != Some(due) {
            wrong.push(format!("{}: {}: ends with {:?}: {}", command.at, command.text, ran.status, ran.errors));
        } else if command.shown.as_ref().is_some_and(|shown| !is_as_shown(shown, &ran.out)) {
            wrong.push(format!("{}: {}: prints otherwise:\n{}", command.at, command.text, ran.out));
        }
        done.insert(command.text);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(done.len() > 1, "commands are understood: {done:?}");
}

#[test]
fn commands_without_a_cluster_do_what_pages_show() {
    hold(Place::Offline);
}

#[test]
#[cfg(feature = "helm")]
fn commands_of_helm_do_what_pages_show() {
    hold(Place::Helm);
}

/// The texts of the operator in docs/troubleshooting.md are the first cells of tables below a comment.
#[test]
fn quoted_texts_of_the_operator_are_in_its_source() {
    let mut source = String::new();
    let mut folders = vec![root().join("src"), root().join("core/src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let lines = fs::read_to_string(path).unwrap();
                // A literal may continue in the next line.
                source.extend(lines.lines().map(|line| format!("{}\n", line.trim())));
            }
        }
    }
    let source = source.replace("\\\n", "");
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let (mut is_below, mut found) = (false, 0);
    for line in page.lines() {
        is_below = line == "<!-- texts of the source -->" || is_below && line.starts_with('|');
        let cell = line.strip_prefix("| `").filter(|_| is_below).and_then(|rest| rest.split_once("` |"));
        if let Some((text, _)) = cell {
            assert!(source.contains(text), "docs/troubleshooting.md: {text:?} is not in the source");
            found += 1;
        }
    }
    assert!(found > 10, "the tables are understood");
}

/// The overlays in pages can be built.
#[test]
fn overlays_that_pages_show_can_be_built() {
    let mut built = 0;
    for block in blocks().iter().filter(|block| block.marks.contains_key("overlay")) {
        let folder = folder();
        let mine = folder.path().join("deploy/overlays/mine");
        fs::create_dir(&mine).unwrap();
        let mut text = block.text.join("\n");
        if !text.contains("resources:") {
            text = format!("resources: [../../base]\n{text}");
        }
        fs::write(mine.join("kustomization.yaml"), text).unwrap();
        let done = Process::new("kubectl").arg("kustomize").arg(&mine).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}:{}: {errors}", block.page, block.line);
        built += 1;
    }
    assert!(built > 1, "overlays are understood");
}
