//! Extracts objects, keys, users, programs and directories from the messages of kubelet and runtimes.

use crate::facts::{Container, EnvRef, RefKind};
use crate::message::{Message, between, quoted_after, text};

/// The ConfigMap or Secret that does not exist or lacks a key.
pub(super) fn object(text: &str) -> Option<&str> {
    let named = ["configmap ", "secret ", "configmaps ", "secrets "];
    named.iter().find_map(|mark| quoted_after(text, mark)).or_else(|| {
        let rest = text.split_once(" in ConfigMap ").or_else(|| text.split_once(" in Secret "))?.1;
        rest.split_whitespace().next()?.rsplit('/').next()
    })
}

/// The missing key.
pub(super) fn key(text: &str) -> Option<&str> {
    between(text, "couldn't find key ", " in ")
}

/// References of a container to the object (and key) in a message.
pub(super) fn references<'c>(container: &'c Container, text: &str) -> impl Iterator<Item = &'c EnvRef> {
    let (object, key) = (object(text).unwrap_or_default().to_owned(), key(text).map(str::to_owned));
    let kind = if text.to_ascii_lowercase().contains("configmap") { RefKind::ConfigMap } else { RefKind::Secret };
    container.env_refs.iter().filter(move |r| {
        r.kind == kind && r.name == object && !r.optional && key.as_deref().is_none_or(|k| r.key.as_deref() == Some(k))
    })
}

/// The environment variables that use the object (and key) in a message.
pub(super) fn variables<'c>(container: Option<&'c Container>, text: &str) -> impl Iterator<Item = &'c str> {
    container.into_iter().flat_map(|c| references(c, text)).filter_map(|reference| reference.variable.as_deref())
}

pub(super) fn user(text: &str) -> Option<&str> {
    let rest = text.split_once("unable to find user ").or_else(|| text.split_once("unable to find group "))?.1;
    rest.split([':', ' ']).next().filter(|user| !user.is_empty())
}

/// Numeric IDs of users that images commonly define.
const USERS: [(&str, i64); 5] =
    [("nonroot", 65532), ("nobody", 65534), ("node", 1000), ("nginx", 101), ("www-data", 33)];

/// The numeric ID of a user; 0 if it is not a common one.
pub(super) fn user_id(name: &str) -> i64 {
    USERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, id)| *id)
}

/// The program in the message, or else that of the container.
pub(super) fn executable<'t>(container: Option<&'t Container>, text: &'t str) -> Option<&'t str> {
    named_executable(text).or_else(|| container?.command.first().map(String::as_str))
}

fn named_executable(text: &str) -> Option<&str> {
    quoted_after(text, "exec: ")
        .or_else(|| between(text, "executable file `", "`"))
        .or_else(|| between(text, "the path `", "`"))
        .or_else(|| between(text, "exec container process (missing dynamic library?) `", "`"))
        .or_else(|| between(text, "exec container process `", "`"))
        .or_else(|| between(text, "container init: exec /", ": exec format error").map(|_| exec_path(text)))
}

/// The path after runc's `exec `.
fn exec_path(text: &str) -> &str {
    between(text, "exec ", ": exec format error").and_then(|path| path.rsplit(' ').next()).unwrap_or_default()
}

/// The words of a command that was written as a single string with blanks, as a JSON list.
pub(super) fn split_command(container: Option<&Container>) -> Option<String> {
    let is_split = |program: &&String| program.trim().contains(' ') && !program.ends_with('\r');
    let program = container?.command.first().filter(is_split)?;
    serde_json::to_string(&program.split_whitespace().collect::<Vec<_>>()).ok()
}

/// The command with `sh` instead of `bash`, if the script uses nothing that only bash has.
pub(super) fn without_bash(container: &Container) -> Option<Vec<String>> {
    const ONLY_BASH: [&str; 12] =
        ["[[", "((", "<<<", "<(", ">(", "&>", "pipefail", "declare ", "shopt ", "function ", "source ", "mapfile "];
    let (program, rest) = container.command.split_first()?;
    let shell = match program.as_str() {
        "bash" => "sh",
        "/bin/bash" | "/usr/bin/bash" | "/usr/local/bin/bash" => "/bin/sh",
        _ => return None,
    };
    let words: Vec<&String> = rest.iter().chain(&container.args).collect();
    let runs_script = words.iter().any(|word| *word == "-c");
    let is_plain = |word: &&String| !ONLY_BASH.iter().any(|of_bash| word.contains(of_bash)) && !word.contains("=(");
    let is_short_option = |word: &&String| !word.starts_with("--") && !word.starts_with("-l");
    let is_for_sh = runs_script && words.iter().all(|word| is_plain(word) && is_short_option(word));
    is_for_sh.then(|| std::iter::once(shell.to_owned()).chain(rest.iter().cloned()).collect())
}

/// The command prefixed with `sh`, or `sh` and the program if that is not part of the command, as a JSON list.
pub(super) fn shell_command(container: Option<&Container>, text: &str) -> Option<String> {
    let program = executable(container, text)?;
    let command = container.map_or(&[][..], |c| &c.command);
    let rest = command.split_first().filter(|(first, _)| *first == program).map_or(&[][..], |(_, rest)| rest);
    let words: Vec<&str> = ["sh", program].into_iter().chain(rest.iter().map(String::as_str)).collect();
    serde_json::to_string(&words).ok()
}

/// The AppArmor or seccomp profile in the message.
pub(super) fn profile(text: &str) -> Option<&str> {
    let named = || text.split_once("apparmor profile not found ").map(|(_, name)| name.split([' ', ':']).next());
    quoted_after(text, "AppArmor profile ")
        .or_else(|| between(text, "writing \"exec ", "\""))
        .or_else(|| between(text, "load local profile: open ", ": "))
        .or_else(|| quoted_after(text, "load local profile "))
        .or_else(|| named().flatten())
}

/// What the kernel reports as used up.
pub(super) fn exhausted(text: &str) -> &'static str {
    const RESOURCES: [(&str, &str); 6] = [
        ("session key", "keys"),
        ("no space left on device", "disk"),
        ("disk quota exceeded", "disk"),
        ("too many open files", "files"),
        ("resource temporarily unavailable", "processes"),
        ("cannot allocate memory", "memory"),
    ];
    RESOURCES.iter().find(|(words, _)| text::has(text, &[words])).map_or("", |(_, resource)| resource)
}

pub(super) fn working_dir<'t>(container: Option<&'t Container>, text: &'t str) -> Option<&'t str> {
    quoted_after(text, "chdir to cwd (")
        .or_else(|| between(text, "chdir to `", "`"))
        .or_else(|| container?.working_dir.as_deref())
}

/// The command of a hook that the runtime did not find.
pub(super) fn missing_in_hook(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let is_missing = lower.contains("no such file or directory") || lower.contains("executable file");
    named_executable(text).filter(|_| is_missing)
}

/// How a hook failed, with its output.
pub(super) fn hook_error(text: &str) -> String {
    let error = text.split_once(" - error: ").map_or(text, |(_, error)| error);
    // The hook's output follows: `command 'x' exited with 1: out, message: "err"`.
    let error = error.replace(", message: \"\"", "").replace(": , message: ", ": ");
    Message::parse(&error).summary(110, &[])
}
