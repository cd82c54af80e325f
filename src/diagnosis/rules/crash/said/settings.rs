//! What a program is started with and does not take, by its last line: its arguments, a file that is not there, a kind that
//! the API server does not have.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::access::missing_path;
use super::remedies::told;
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::exit_code::{go_back, log_remedy};
use crate::diagnosis::target::{self, PLACEHOLDER, shell_word};
use crate::diagnosis::{Case, Finding, remedy};
use crate::facts::{Container, VolumeSource};

/// How parsers of arguments (Go's flag and pflag, argparse, click, clap, getopt, Node) name the one that they do not know.
static ARGUMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let says = [
        r"unknown (?:long |shorthand )?(?:flag|option|argument)s?",
        r"flag provided but not defined",
        r"unrecognized (?:arguments?|options?|vm option)",
        r"(?:invalid|illegal|bad|no such) option",
        r"unexpected argument",
        r"unknown command",
    ];
    Regex::new(&format!(r#"(?i)\b(?:{})(?: --)?[: ]+["'`]?(?<what>-{{0,2}}[A-Za-z0-9][\w.-]*)"#, says.join("|"))).ok()
});

/// The argument that the program does not know, where the pod is what gives it.
pub(super) fn argument<'l>(container: &Container, line: &'l str) -> Option<&'l str> {
    let what = ARGUMENT.as_ref()?.captures(line)?.name("what")?.as_str().trim_end_matches('.');
    // `unknown shorthand flag: 'x' in -xyz`, and of a long flag without its dashes.
    let bare = what.trim_start_matches('-');
    let mut given = container.args.iter().chain(&container.command);
    given.any(|word| word.contains(what) || word.trim_start_matches('-').starts_with(bare)).then_some(what)
}

pub(super) fn arguments(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some(argument) = argument(container, &said) else { return Vec::new() };
    let target = target::of(case);
    let field = if container.args.iter().any(|word| word.contains(argument)) { "args" } else { "command" };
    let fix = remedy::fix(say!(
        case,
        "Correct `{field}` of {container} in {target}: this version of the program has no {argument}. Its --help tells what it has.",
        field,
        container = container.name,
        target = target.display(),
        argument
    ));
    let mut out = vec![target.with_container_patch(fix, Some(container), &format!("{field}: [{PLACEHOLDER}]\n"))];
    out.push(remedy::fix(say!(
        case,
        "If the image {image} is newer or older than the arguments, take the one that they are for.",
        image = container.image
    )));
    out.extend(go_back(case));
    out.push(log_remedy(case, container));
    out
}

pub(super) fn file(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some(path) = missing_path(&said) else { return Vec::new() };
    let target = target::of(case);
    let mount = container.mount_at(path);
    let mut out = Vec::new();
    match mount.map(|mount| (mount, case.pod.volume_source(&mount.volume))) {
        Some((mount, Some(source @ (VolumeSource::ConfigMap { name, .. } | VolumeSource::Secret { name, .. })))) => {
            let kind = if matches!(source, VolumeSource::Secret { .. }) { "Secret" } else { "ConfigMap" };
            let text = say!(
                case,
                "{at} is {kind} {name}: see that it has a key for {path}, and that the volume's items do not leave it out.",
                at = mount.path,
                kind,
                name,
                path
            );
            let (prefix, resource) = (target.command_prefix(), kind.to_ascii_lowercase());
            out.push(remedy::command(remedy::fix(text), format!("{prefix} describe {resource} {}", shell_word(name))));
        }
        Some((mount, _)) => out.push(remedy::fix(say!(
            case,
            "{at} is volume {volume}, which hides what the image has there: let an init container put {path} into it, or mount it elsewhere.",
            at = mount.path,
            volume = mount.volume,
            path
        ))),
        None => out.push(remedy::fix(say!(
            case,
            "No volume is mounted there, so {path} would have to be in the image: mount it from a ConfigMap or Secret, or correct the path in the arguments and variables of {container}.",
            path,
            container = container.name
        ))),
    }
    out.extend(go_back(case));
    out.push(log_remedy(case, container));
    out
}

static KIND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"no matches for kind "(?<kind>[^"]+)" in (?:version|group) "(?<version>[^"]+)""#).ok()
});

/// Kind and group/version that the API server does not have.
pub(super) fn kind(line: &str) -> Option<(String, String)> {
    let line = line.replace("\\\"", "\"");
    let found = KIND.as_ref()?.captures(&line)?;
    Some((found.name("kind")?.as_str().to_owned(), found.name("version")?.as_str().to_owned()))
}

pub(super) fn definitions(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some((kind, version)) = kind(&said) else { return Vec::new() };
    let group = version.split('/').next().unwrap_or(&version);
    let text = say!(
        case,
        "Install the CustomResourceDefinition of {kind} in {version}: it comes with the chart or manifests of {container}, or of what it works with.",
        kind,
        version,
        container = container.name
    );
    vec![
        remedy::fix(text),
        remedy::command(
            remedy::fix(phrase!(
                case,
                "See which kinds and versions of the group are there; the program may be newer or older than they."
            )),
            format!("kubectl api-resources --api-group={}", shell_word(group)),
        ),
        log_remedy(case, container),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::Scenario;

    #[test]
    fn an_argument_counts_where_the_pod_gives_it() {
        let scenario = Scenario::from_yaml(
            "{kind: Pod, metadata: {name: a, namespace: n, uid: u}, spec: {containers: [{name: app, image: 'a:1', command: [serv], args: [--metrics-addres=:8080, -x, '-XX:+UseConcMarkSweepGC']}]}}",
        );
        let case = scenario.case();
        let container = &case.pod.containers[0];
        for (line, expected) in [
            ("flag provided but not defined: -metrics-addres", Some("-metrics-addres")),
            ("Error: unknown flag: --metrics-addres", Some("--metrics-addres")),
            ("error: unexpected argument '--metrics-addres' found", Some("--metrics-addres")),
            ("app: error: unrecognized arguments: --metrics-addres=:8080", Some("--metrics-addres")),
            ("node: bad option: --metrics-addres", Some("--metrics-addres")),
            ("sh: unrecognized option '--metrics-addres'", Some("--metrics-addres")),
            ("grep: invalid option -- 'x'", Some("x")),
            ("Error: unknown command \"serv\" for \"app\"", Some("serv")),
            ("Unrecognized VM option 'UseConcMarkSweepGC'", Some("UseConcMarkSweepGC")),
            ("unknown option --folow in /etc/app.conf", None),
            ("unknown command received from peer", None),
        ] {
            assert_eq!(argument(container, line), expected, "{line}");
        }
    }

    #[test]
    fn a_kind_that_is_not_there_is_named() {
        let found = kind(r#"problem running manager: no matches for kind "Foo" in version "example.com/v1""#);
        assert_eq!(found, Some(("Foo".to_owned(), "example.com/v1".to_owned())));
    }
}
