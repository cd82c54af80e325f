//! Parses configuration errors: arguments, kinds of the API server, heap settings of language runtimes.

use std::sync::LazyLock;

use regex::Regex;

use crate::facts::Container;

/// Errors for unknown arguments of common parsers: Go's flag and pflag, argparse, click, clap, getopt, Node.
static ARGUMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"unknown (?:long |shorthand )?(?:flag|option|argument)s?",
        r"flag provided but not defined",
        r"unrecognized (?:arguments?|options?|vm option)",
        r"(?:invalid|illegal|bad|no such) option",
        r"unexpected argument",
        r"unknown command",
    ];
    Regex::new(&format!(
        r#"(?i)(?-u:\b)(?:{})(?: --)?[: ]+["'`]?(?<what>-{{0,2}}[A-Za-z0-9][0-9A-Za-z_.-]*)"#,
        patterns.join("|")
    ))
    .ok()
});

/// The unknown argument, if the pod's spec contains it.
pub(super) fn argument<'l>(container: &Container, line: &'l str) -> Option<&'l str> {
    let what = ARGUMENT.as_ref()?.captures(line)?.name("what")?.as_str().trim_end_matches('.');
    // `unknown shorthand flag: 'x' in -xyz`; for a long flag the dashes are missing.
    let bare = what.trim_start_matches('-');
    let mut given = container.args.iter().chain(&container.command);
    given.any(|word| word.contains(what) || word.trim_start_matches('-').starts_with(bare)).then_some(what)
}

/// Resources of the core group, which have no group in the API server's answer, and others that programs read at their
/// start. Clients print some in the singular.
static OBJECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let core =
        "configmaps?|secrets?|namespaces?|serviceaccounts?|services?|endpoints|nodes?|pods?|persistentvolumeclaims?";
    let pattern = format!(
        r#"(?-u:\b)(?<resource>{core}|[a-z]+\.[a-z0-9-]+\.[a-z0-9.-]+) \\?"(?<name>[a-z0-9][a-z0-9.-]*)\\?" not found[.")'\]]*$"#
    );
    Regex::new(&pattern).ok()
});

/// Resource and name of an object that the API server does not have.
pub(super) fn missing_object(line: &str) -> Option<(&str, &str)> {
    let found = OBJECT.as_ref()?.captures(line)?;
    Some((found.name("resource")?.as_str(), found.name("name")?.as_str()))
}

static KIND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"no matches for kind "(?<kind>[^"]+)" in (?:version|group) "(?<version>[^"]+)""#).ok()
});

/// Kind and group/version that the API server does not have.
pub(super) fn missing_kind(line: &str) -> Option<(String, String)> {
    let line = line.replace("\\\"", "\"");
    let found = KIND.as_ref()?.captures(&line)?;
    Some((found.name("kind")?.as_str().to_owned(), found.name("version")?.as_str().to_owned()))
}

/// The heap setting of a language runtime, derived from its error in lower case.
pub(super) fn heap_setting(line: &str) -> &'static str {
    let settings = [
        ("javascript heap", "--max-old-space-size (NODE_OPTIONS)"),
        ("metaspace", "-XX:MaxMetaspaceSize (JAVA_TOOL_OPTIONS)"),
        ("object heap", "-XX:MaxRAMPercentage or -Xmx (JAVA_TOOL_OPTIONS)"),
        ("java", "-XX:MaxRAMPercentage or -Xmx (JAVA_TOOL_OPTIONS)"),
        ("allowed memory size", "memory_limit in php.ini"),
    ];
    settings.iter().find(|(words, _)| line.contains(words)).map_or("", |(_, setting)| setting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scenario;

    #[test]
    fn argument_counts_only_if_the_pod_spec_contains_it() {
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
    fn missing_object_of_the_api_server_is_parsed() {
        for (line, expected) in [
            (r#"configmap "argocd-cm" not found"#, Some(("configmap", "argocd-cm"))),
            (r#"unable to get: secrets \"webhook-cert\" not found"#, Some(("secrets", "webhook-cert"))),
            (r#"storageclasses.storage.k8s.io "fast" not found"#, Some(("storageclasses.storage.k8s.io", "fast"))),
            (r#"database "shop" not found"#, None),
            (r#"module "pods" not found"#, None),
        ] {
            assert_eq!(missing_object(line), expected, "{line}");
        }
    }

    #[test]
    fn missing_kind_is_parsed() {
        let found = missing_kind(r#"problem running manager: no matches for kind "Foo" in version "example.com/v1""#);
        assert_eq!(found, Some(("Foo".to_owned(), "example.com/v1".to_owned())));
    }
}
