//! Containers that never get to run: the kubelet cannot prepare them, the runtime cannot create them, or cannot start them.
//!
//! The same fault shows in three ways: containerd meets it at the start (`RunContainerError`, then a run that ended with
//! `StartError` and 128), CRI-O when it creates the container (`CreateContainerError`), docker as `ContainerCannotRun`. The
//! words of runc or crun inside are the same, and they decide.

mod remedies;
mod rows;

use std::cell::OnceCell;

use super::signature::{self, Row, Seen};
use crate::api::Confidence;
use crate::diagnosis::language::{Sentence, phrase, say};
use crate::diagnosis::signals::termination::hook::{self, HookProof};
use crate::diagnosis::{Case, Category, Family, Finding, Language, Recovery, Rule, Scope, Verdict, evidence, text};
use crate::facts::{Container, EnvRef, EventFacts, RefKind, State, format_bytes};

const CONFIG: &[&str] = &["CreateContainerConfigError"];
/// Kubelets of old read ConfigMaps and Secrets only when they ran the container.
const ENV: &[&str] = &["CreateContainerConfigError", "RunContainerError"];
const CREATE: &[&str] = &["CreateContainerError"];
/// Reasons under which a runtime's words may stand.
const RUNTIME: &[&str] = &["CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"];

/// The waiting reasons of the kubelet's `startContainer` after the pull.
const WAITING: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// Ends of a container that never ran.
const NEVER_RAN: [&str; 2] = ["StartError", "ContainerCannotRun"];

const INIT_OOM: [Rule; 1] =
    [signature::rule(&rows::INIT_OOM, Category::Start, Recovery::NeverStarted, Scope::Pod(check_init_oom))];

pub(super) const INIT_OOM_FAMILY: Family = Family::Each(&INIT_OOM);

const RULES: [Rule; rows::ROWS.len()] = signature::rules(rows::ROWS, Category::Start, Recovery::NeverStarted);

pub(super) const FAMILY: Family = Family::Table { rules: &RULES, ask };

pub(super) fn patient() -> impl Iterator<Item = &'static str> {
    signature::patient(rows::ROWS)
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    signature::ask_containers(case, |container| {
        let seen = see(case, container).filter(|seen| !is_init_oom(seen))?;
        let (index, row) = signature::first(rows::ROWS, case, &seen)?;
        Some(match signature::counts(case, row, case.held_since(case.pod.start_time), 1) {
            Ok(()) => (index, Verdict::Yes(Box::new(finding(case, container, &seen, row)))),
            Err(at) => (index, Verdict::NotBefore(at)),
        })
    })
}

fn is_init_oom(seen: &Seen<'_>) -> bool {
    rows::INIT_OOM.words.iter().any(|all| all.iter().all(|part| seen.has(part)))
}

fn check_init_oom(case: &Case<'_>) -> Verdict {
    let told = |container| {
        let seen = see(case, container)?;
        is_init_oom(&seen).then(|| finding(case, container, &seen, &rows::INIT_OOM))
    };
    let of_container =
        case.pod.containers.iter().filter(|c| c.kind != crate::api::ContainerType::Ephemeral).find_map(told);
    if of_container.is_some() {
        return of_container.into();
    }
    crate::diagnosis::signals::sandbox::failure(case)
        .filter(|event| rows::INIT_OOM.words.iter().any(|words| text::has(&event.message, words)))
        .map(|event| sandbox_oom(case).with(evidence::event(event)))
        .into()
}

/// The sandbox has the pod's limit: that of its only container with one, where there is one.
fn sandbox_oom(case: &Case<'_>) -> Finding {
    let mut limited = case.pod.containers.iter().filter_map(|c| Some((c, c.limits.memory?)));
    match (limited.next(), limited.next()) {
        (Some((container, limit)), None) => Finding::of_container(
            container,
            say!(
                case,
                "{container}'s memory limit of {limit} is too low even to start the pod's sandbox, so no container can start",
                container = container.name,
                limit = format_bytes(limit)
            ),
        ),
        _ => Finding::of_pod(phrase!(
            case,
            "the memory limit is too low even to start the pod's sandbox, so no container can start"
        )),
    }
}

/// Why a container could not be started, while it does not run.
fn see<'a>(case: &Case<'a>, container: &'a Container) -> Option<Seen<'a>> {
    if hook::ended_before_hook(container) {
        return None;
    }
    let told = container.waiting().and_then(|(reason, message)| start_error(reason, message));
    let (reason, message, path) = match &container.state {
        State::Waiting { .. } if told.is_some() => told?,
        State::Waiting { reason, .. } => {
            // Only a wait for the next try: what it waits for otherwise is another matter.
            let again = reason == "CrashLoopBackOff" || reason.is_empty();
            match container.last.as_ref().filter(|l| again && NEVER_RAN.contains(&l.reason.as_str())) {
                Some(last) => (last.reason.as_str(), last.message.as_str(), "lastState.terminated.message"),
                None => return if again { see_hook(case, container) } else { None },
            }
        }
        State::Terminated(end) if NEVER_RAN.contains(&end.reason.as_str()) => {
            (end.reason.as_str(), end.message.as_str(), "state.terminated.message")
        }
        State::Running { .. } | State::Terminated(_) => return see_hook(case, container),
    };
    let event = if message.is_empty() { last_error(case, container) } else { None };
    let said = event.map_or(message, |e| &*e.message);
    Some(Seen {
        reason,
        text: said,
        lower: OnceCell::new(),
        path: (event.is_none() && !said.is_empty()).then_some(path),
        event,
        container: Some(container),
    })
}

/// Reason and message of a wait after a failed start, and where the message stands. Old kubelets wrote both into
/// the reason, and still older ones the error alone, with the step that failed for a message.
fn start_error<'a>(reason: &'a str, message: &'a str) -> Option<(&'a str, &'a str, &'static str)> {
    let step = match message {
        "Generate Container Config Failed" => Some("CreateContainerConfigError"),
        "Create Container Failed" => Some("CreateContainerError"),
        "Start Container Failed" => Some("RunContainerError"),
        _ => None,
    };
    if let Some(step) = step.filter(|_| reason.contains(' ')) {
        return Some((step, reason, "state.waiting.reason"));
    }
    let (known, rest) = reason.split_once(": ").unwrap_or((reason, ""));
    let told = if message.is_empty() && !rest.is_empty() {
        (known, rest, "state.waiting.reason")
    } else {
        (known, message, "state.waiting.message")
    };
    WAITING.contains(&known).then_some(told)
}

/// The kill after a failed hook leaves an ordinary end in the status.
fn see_hook<'a>(case: &Case<'a>, container: &'a Container) -> Option<Seen<'a>> {
    let end = container.last_end()?;
    let proof = hook::ended_by_hook(case, container, end).filter(|_| !container.ready)?;
    match proof {
        HookProof::Event(event) => Some(of_hook(container, Some(event))),
        HookProof::Remembered => Some(of_hook(container, None)),
        HookProof::Silent => case.expected_events_settled().is_ok().then(|| of_hook(container, None)),
    }
}

fn of_hook<'a>(container: &'a Container, event: Option<&'a EventFacts>) -> Seen<'a> {
    Seen {
        reason: "FailedPostStartHook",
        text: event.map_or("", |event| &event.message),
        lower: OnceCell::new(),
        event,
        container: Some(container),
        path: None,
    }
}

/// The last `Failed` Event of a container that is not about its image.
fn last_error<'a>(case: &Case<'a>, container: &'a Container) -> Option<&'a EventFacts> {
    let own = |e: &&EventFacts| {
        e.regarding.container.is_some() && e.message.contains("Error: ") && !e.message.contains("ImagePull")
    };
    case.container_events(container, "Failed").rev().find(own)
}

fn finding(case: &Case<'_>, container: &Container, seen: &Seen<'_>, row: &Row) -> Finding {
    let mut finding =
        Finding::of_container(container, say(case, container, seen, row.says)).rooted((row.root)(case, seen));
    // Docker may leave the words empty: then the exit code is all there is.
    if seen.text.is_empty() {
        finding = finding.confidence(Confidence::Likely);
    }
    if let Some((reason, _)) = container.waiting().filter(|(reason, _)| !reason.is_empty()) {
        finding = finding.with(evidence::field(format!("{}.state.waiting.reason", container.status_path()), reason));
    }
    if let Some(path) = &seen.path {
        finding = finding.with(evidence::field(format!("{}.{path}", container.status_path()), seen.text));
    }
    if let Some(end) = container.last_end().filter(|end| NEVER_RAN.contains(&end.reason.as_str())) {
        let path = container.last_end_path();
        finding = finding
            .with(evidence::field_at(format!("{path}.reason"), &end.reason, end.finished_at))
            .with(evidence::field(format!("{path}.exitCode"), end.exit_code.to_string()));
    }
    if let Some(event) = seen.event {
        finding = finding.with(evidence::event(event));
    }
    match row.cause {
        "ExecutableNotFound" | "ExecutablePermissionDenied" if !container.command.is_empty() => finding
            .with(evidence::field(format!("{}.command", container.spec_path()), format!("{:?}", container.command))),
        "PostStartHookError" if is_guess(case, seen) => guessed(case, container, finding),
        "PostStartHookError" if is_silent(seen) => {
            finding.confidence(Confidence::Certain).proven().with(evidence::field(
                "status.restarts.history",
                "an earlier run ended alike, and an Event said that its postStart hook had failed",
            ))
        }
        "PostStartHookError" => finding.proven(),
        _ => finding,
    }
}

/// Whether nothing that is there now tells of the hook's failure but the end of the run.
fn is_silent(seen: &Seen<'_>) -> bool {
    seen.reason == "FailedPostStartHook" && seen.event.is_none()
}

/// Whether nothing has ever told of it.
fn is_guess(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let proof = || seen.container.and_then(|container| hook::ended_by_hook(case, container, container.last_end()?));
    is_silent(seen) && matches!(proof(), Some(HookProof::Silent))
}

fn guessed(case: &Case<'_>, container: &Container, finding: Finding) -> Finding {
    let path = container.last_end_path();
    let finding = finding.confidence(Confidence::Possible);
    let finding = match container.last_end() {
        Some(end) => finding
            .with(evidence::field_at(format!("{path}.reason"), &end.reason, end.finished_at))
            .with(evidence::field(format!("{path}.exitCode"), end.exit_code.to_string())),
        None => finding,
    };
    let silence = "no Event of the pod is known; the run ended as late as one whose hook fails at its start";
    finding.with(evidence::contradicting(evidence::field("event/FailedPostStartHook", silence))).consequence(
        "SigKilledNotOom",
        Some(&container.name),
        phrase!(case, "if its hook did not fail, something else sends SIGKILL"),
    )
}

fn say(case: &Case<'_>, container: &Container, seen: &Seen<'_>, says: &'static str) -> String {
    let mut sentence = Sentence::of(case, says);
    let mut fill = |place: &str, with: &dyn Fn() -> String| sentence.fill(place, with);
    let text = seen.text;
    fill("container", &|| container.name.to_string());
    fill("namespace", &|| case.pod.key.namespace.to_string());
    fill("node", &|| case.pod.node_name.as_deref().unwrap_or("unknown").to_owned());
    fill("image", &|| signature::middle_cut(&container.image, 70));
    fill("object", &|| object(text).unwrap_or("(unnamed)").to_owned());
    fill("key", &|| key(text).unwrap_or("(unnamed)").to_owned());
    fill("use", &|| used_for(case.language(), container, text));
    fill("why", &|| why_root(case.language(), text));
    fill("volume", &|| signature::quoted_after(text, "volumeMount ").unwrap_or("(unnamed)").to_owned());
    fill("user", &|| user(text).map(|u| format!(" {u}")).unwrap_or_default());
    fill("executable", &|| {
        signature::middle_cut(executable(container, text).unwrap_or(phrase!(case, "(the image's own)")), 60)
    });
    let mount = || container.mount_over(executable(container, text)?);
    fill("place", &|| {
        mount()
            .map_or_else(|| phrase!(case, "the image").to_owned(), |m| say!(case, "volume {volume}", volume = m.volume))
    });
    fill("source", &|| match mount() {
        Some(m) => say!(
            case,
            "volume {volume}, which is mounted over {path} and hides what the image has there",
            volume = m.volume,
            path = m.path
        ),
        None => say!(case, "image {image}", image = signature::middle_cut(&container.image, 70)),
    });
    fill("why_not", &|| {
        if seen.has("is a directory") { phrase!(case, "it is a directory") } else { phrase!(case, "permission denied") }
            .to_owned()
    });
    fill("dir", &|| working_dir(container, text).unwrap_or(phrase!(case, "of the image")).to_owned());
    fill("mount", &|| mount_target(text).unwrap_or("(unknown)").to_owned());
    fill("limit", &|| {
        container.limits.memory.map(|m| say!(case, " of {limit}", limit = format_bytes(m))).unwrap_or_default()
    });
    fill("hook", &|| {
        if seen.reason != "PostStartHookError" || text.is_empty() {
            return String::new();
        }
        match missing_in_hook(text) {
            Some(command) => say!(
                case,
                ": its command {command} is not in image {image}",
                command,
                image = signature::middle_cut(&container.image, 70)
            ),
            None => format!(": {}", hook_words(text)),
        }
    });
    fill("perhaps", &|| if is_guess(case, seen) { phrase!(case, " perhaps") } else { "" }.to_owned());
    fill("short", &|| signature::innermost(text, 70));
    fill("words", &|| match signature::innermost(text.trim_start_matches("Error: "), 110) {
        words if words.is_empty() => phrase!(case, "the runtime left no message").to_owned(),
        words => words,
    });
    text::line(&sentence.told(), text::SUMMARY_MAX)
}

/// The object that the kubelet did not find.
fn object(text: &str) -> Option<&str> {
    let named = ["configmap ", "secret ", "configmaps ", "secrets "];
    named.iter().find_map(|mark| signature::quoted_after(text, mark)).or_else(|| {
        let rest = text.split_once(" in ConfigMap ").or_else(|| text.split_once(" in Secret "))?.1;
        rest.split_whitespace().next()?.rsplit('/').next()
    })
}

/// The key that the kubelet did not find.
fn key(text: &str) -> Option<&str> {
    signature::between(text, "couldn't find key ", " in ")
}

/// References of a container to the object (and key) of a message.
fn refs<'c>(container: &'c Container, text: &str) -> impl Iterator<Item = &'c EnvRef> {
    let (object, key) = (object(text).unwrap_or_default().to_owned(), key(text).map(str::to_owned));
    let kind = if text.to_ascii_lowercase().contains("configmap") { RefKind::ConfigMap } else { RefKind::Secret };
    container.env_refs.iter().filter(move |r| {
        r.kind == kind && r.name == object && !r.optional && key.as_deref().is_none_or(|k| r.key.as_deref() == Some(k))
    })
}

fn used_for(language: Language, container: &Container, text: &str) -> String {
    let variables: Vec<_> = refs(container, text).filter_map(|r| r.variable.as_deref()).collect();
    match variables.as_slice() {
        [] => phrase!(language, "its environment").to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => say!(language, "{first} and {rest} more", first, rest = rest.len()),
    }
}

fn why_root(language: Language, text: &str) -> String {
    if let Some(user) = signature::between(text, "non-numeric user (", ")") {
        return say!(language, "its image has the user name {user}, and only a number can be checked", user);
    }
    if text.contains("runAsUser") {
        phrase!(language, "its runAsUser is 0")
    } else {
        phrase!(language, "its image runs as root")
    }
    .to_owned()
}

fn user(text: &str) -> Option<&str> {
    let rest = text.split_once("unable to find user ").or_else(|| text.split_once("unable to find group "))?.1;
    rest.split([':', ' ']).next().filter(|user| !user.is_empty())
}

/// What was to be run, as the runtime names it, else as the pod does.
fn executable<'t>(container: &'t Container, text: &'t str) -> Option<&'t str> {
    named_executable(text).or_else(|| container.command.first().map(String::as_str))
}

fn named_executable(text: &str) -> Option<&str> {
    signature::quoted_after(text, "exec: ")
        .or_else(|| signature::between(text, "executable file `", "`"))
        .or_else(|| signature::between(text, "the path `", "`"))
}

fn working_dir<'t>(container: &'t Container, text: &'t str) -> Option<&'t str> {
    signature::quoted_after(text, "chdir to cwd (")
        .or_else(|| signature::between(text, "chdir to `", "`"))
        .or(container.working_dir.as_deref())
}

fn mount_target(text: &str) -> Option<&str> {
    // runc before 1.0 names the rootfs too: `mounting "A" to rootfs "B" at "C"`.
    let of_old = || signature::quoted_after(text.split_once("to rootfs ")?.1, " at ");
    signature::quoted_after(text, "to rootfs at ").or_else(|| signature::between(text, "` to `", "`")).or_else(of_old)
}

/// The command of a hook that the runtime did not find.
fn missing_in_hook(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let is_missing = lower.contains("no such file or directory") || lower.contains("executable file");
    named_executable(text).filter(|_| is_missing)
}

/// What a hook's failure comes down to: how it ended, and what it printed.
fn hook_words(text: &str) -> String {
    let said = text.split_once(" - error: ").map_or(text, |(_, said)| said);
    let said = said.replace(", message: \"\"", "").replace("\\n", " ");
    // What follows the colon is what it printed.
    signature::middle_cut(said.trim_end().trim_end_matches(':'), 110)
}
