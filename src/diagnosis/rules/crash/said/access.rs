//! What a program may not do, by its last line: rights in the cluster, permissions of files, credentials, certificates.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::remedies::{told, with_empty_dir};
use super::words;
use crate::api::Remedy;
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::signals::termination::exit_code::log_remedy;
use crate::diagnosis::target::{self, PLACEHOLDER, shell_word};
use crate::diagnosis::{Case, Finding, remedy};
use crate::facts::{Container, RefKind, VolumeSource};

/// The API server's refusal, in the words of its authorization: `cannot list resource "pods" in API group "" in the
/// namespace "shop"`.
static REFUSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let resource = r#"resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)""#;
    Regex::new(&format!(
        r#"[Uu]ser "(?<user>[^"]+)" cannot (?<verb>[a-z]+) {resource}(?: in the namespace "(?<namespace>[^"]+)"| at the cluster scope)"#
    ))
    .ok()
});

/// A right that somebody lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    /// Namespace and name of the ServiceAccount.
    account: Option<(String, String)>,
    user: String,
    verb: String,
    /// As `kubectl create role` takes it: `deployments.apps`, `pods/log`.
    resource: String,
    /// `None`: at the cluster scope.
    namespace: Option<String>,
}

pub(super) fn refused(line: &str) -> Option<Refused> {
    // Within a line of key=value the quotes are escaped.
    let line = line.replace("\\\"", "\"");
    let found = REFUSED.as_ref()?.captures(&line)?;
    let part = |name: &str| found.name(name).map(|part| part.as_str().to_owned());
    let (user, group, resource) = (part("user")?, part("group")?, part("resource")?);
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let account = account.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
    let resource = match resource.split_once('/') {
        _ if group.is_empty() => resource,
        Some((resource, part)) => format!("{resource}.{group}/{part}"),
        None => format!("{resource}.{group}"),
    };
    Some(Refused { account, user, verb: part("verb")?, resource, namespace: part("namespace") })
}

impl Refused {
    /// `ServiceAccount web may not list pods in namespace shop`.
    pub(super) fn told(&self, language: Language) -> String {
        let who = self.account.as_ref().map_or_else(|| self.user.clone(), |(_, name)| format!("ServiceAccount {name}"));
        let (verb, resource) = (&self.verb, &self.resource);
        match &self.namespace {
            Some(namespace) => {
                say!(
                    language,
                    "{who} may not {verb} {resource} in namespace {namespace}",
                    who,
                    verb,
                    resource,
                    namespace
                )
            }
            None => say!(language, "{who} may not {verb} {resource} in the whole cluster", who, verb, resource),
        }
    }

    /// Commands that give the right. Who lists or watches does the other as well.
    fn grant(&self) -> Option<String> {
        let (of, name) = self.account.as_ref()?;
        let verbs = if matches!(&*self.verb, "list" | "watch") { "get,list,watch" } else { &self.verb };
        let plain = self.resource.replace(['.', '/'], "-");
        let (role, resource) = (shell_word(&format!("{name}-{plain}")).into_owned(), shell_word(&self.resource));
        Some(match &self.namespace {
            Some(namespace) => format!(
                "kubectl -n {namespace} create role {role} --verb={verbs} --resource={resource} && kubectl -n {namespace} create rolebinding {role} --role={role} --serviceaccount={of}:{name}"
            ),
            None => format!(
                "kubectl create clusterrole {role} --verb={verbs} --resource={resource} && kubectl create clusterrolebinding {role} --clusterrole={role} --serviceaccount={of}:{name}"
            ),
        })
    }
}

pub(super) fn rights(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some(refused) = refused(&said) else { return Vec::new() };
    let mut out = Vec::new();
    let target = target::of(case);
    if let Some((_, name)) = refused.account.as_ref().filter(|(_, name)| name == "default") {
        let text = say!(
            case,
            "{target} runs as ServiceAccount {name}, which has no rights: set serviceAccountName to the one that was made for it, if there is one.",
            target = target.display(),
            name
        );
        out.push(target.with_pod_patch(remedy::fix(text), &format!("serviceAccountName: {PLACEHOLDER}\n")));
    }
    let grant = remedy::fix(phrase!(
        case,
        "Give it the right, by the role of its own manifests or chart where there is one; else by a new one."
    ));
    out.push(match refused.grant() {
        Some(command) => remedy::command(grant, command),
        None => grant,
    });
    let list = remedy::fix(phrase!(
        case,
        "See what it may do already; a role that is bound in another namespace does not count here."
    ));
    let at = refused.namespace.as_deref().unwrap_or(&case.pod.key.namespace);
    out.push(remedy::command(
        list,
        format!("kubectl auth can-i --list --namespace={at} --as={}", shell_word(&refused.user)),
    ));
    out.push(log_remedy(case, container));
    out
}

/// Words of a network, of a program that is to be run, or of rights within a database: there the permission is of no file.
const NO_FILE: [&str; 12] = [
    "bind",
    "listen",
    "connect",
    "dial ",
    "socket",
    "exec",
    "publickey",
    "for table",
    "for schema",
    "for relation",
    "iptables",
    "ip6tables",
];

/// The file or folder that the line says there is no permission for. The kernel's own are a matter of capabilities.
pub(super) fn forbidden_path(line: &str) -> Option<&str> {
    let lower = line.to_ascii_lowercase();
    if NO_FILE.iter().any(|word| lower.contains(word)) {
        return None;
    }
    path_beside(
        line,
        &lower,
        &["permission denied", "eacces", "access denied", "not writable", "accessdenied", "is denied"],
    )
}

/// The file or folder that the line says is not there.
pub(super) fn missing_path(line: &str) -> Option<&str> {
    const OTHER: [&str; 6] = ["connect", "dial ", "socket", "exec", "shared object", "modprobe"];
    let lower = line.to_ascii_lowercase();
    if OTHER.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let words = ["no such file or directory", "enoent", "could not find file", "filenotfound", "nosuchfile"];
    path_beside(line, &lower, &words)
}

/// The path that stands nearest before these words, else the first after them: before may stand the script that ran into it.
fn path_beside<'l>(line: &'l str, lower: &str, marks: &[&str]) -> Option<&'l str> {
    let at = marks.iter().find_map(|mark| lower.find(mark))?;
    let (before, after) = (line.get(..at)?, line.get(at..)?);
    let path = words::paths(before).last().or_else(|| words::paths(after).next())?;
    let of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|root| path.starts_with(root));
    (!of_kernel).then_some(path)
}

/// `claim data`, `volume conf`, `its image`: where a path of the container lies.
pub(super) fn place(case: &Case<'_>, container: &Container, path: &str) -> String {
    let Some(mount) = container.mount_at(path) else { return phrase!(case, "its image").to_owned() };
    match case.pod.volume_source(&mount.volume) {
        Some(VolumeSource::Claim { name, .. }) => say!(case, "claim {name}", name),
        Some(VolumeSource::ConfigMap { name, .. }) => format!("ConfigMap {name}"),
        Some(VolumeSource::Secret { name, .. }) => format!("Secret {name}"),
        _ => say!(case, "volume {volume}", volume = mount.volume),
    }
}

pub(super) fn files(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some(path) = forbidden_path(&said) else { return Vec::new() };
    let target = target::of(case);
    let mount = container.mount_at(path);
    let mut out = match mount.map(|mount| (mount, case.pod.volume_source(&mount.volume))) {
        Some((mount, Some(VolumeSource::HostPath { path: of_node }))) => vec![remedy::fix(say!(
            case,
            "{path} is {of_node} of the node, and fsGroup does not change it: give it to the user of {container} there (chown), or in an init container that runs as root.",
            path = mount.path,
            of_node,
            container = container.name
        ))],
        Some((mount, source)) => {
            let is_config = matches!(
                source,
                Some(VolumeSource::ConfigMap { .. } | VolumeSource::Secret { .. } | VolumeSource::Projected { .. })
            );
            let group = container.run_as_user.filter(|user| *user > 0);
            let text = say!(
                case,
                "Let the files of volume {volume} belong to a group of {container}: securityContext.fsGroup of the pod, with the group or user that its program runs as.",
                volume = mount.volume,
                container = container.name
            );
            let group = group.map_or_else(|| PLACEHOLDER.to_owned(), |group| group.to_string());
            let fix = target.with_pod_patch(remedy::fix(text), &format!("securityContext:\n  fsGroup: {group}\n"));
            let other = if is_config {
                phrase!(
                    case,
                    "Or see the volume's defaultMode (or the item's mode): others than root must be allowed to read, and nobody may write there."
                )
            } else {
                phrase!(
                    case,
                    "Where the volume's driver does not heed fsGroup (NFS, some CSI drivers), change the owner on the server, or in an init container that runs as root."
                )
            };
            vec![fix, remedy::fix(other)]
        }
        None => {
            let at = words::folder(path).unwrap_or(path);
            let scratch = remedy::fix(say!(
                case,
                "Or mount an emptyDir at {at} in {container}, if it need not keep what it writes, and needs nothing of what the image has there.",
                at,
                container = container.name
            ));
            vec![
                remedy::fix(say!(
                    case,
                    "{path} is a part of the image, and belongs to another user than {container} runs as: run as the image's own user (runAsUser), or use an image that is made for any user.",
                    path,
                    container = container.name
                )),
                with_empty_dir(case, container, at, scratch),
            ]
        }
    };
    out.push(log_remedy(case, container));
    out
}

pub(super) fn credentials(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let target = target::of(case);
    let mut secrets: Vec<&str> =
        container.env_refs.iter().filter(|r| r.kind == RefKind::Secret).map(|r| r.name.as_str()).collect();
    secrets.sort_unstable();
    secrets.dedup();
    let check = if secrets.is_empty() {
        remedy::fix(say!(
            case,
            "Compare the user and the password that {container} is given (env, files, a connection string) with what the server has.",
            container = container.name
        ))
    } else {
        let names: Vec<_> = secrets.iter().map(|name| shell_word(name)).collect();
        remedy::command(
            remedy::fix(say!(
                case,
                "Compare the user and the password that {container} is given (Secret {secrets}) with what the server has; a line break at the end of a value counts.",
                container = container.name,
                secrets = secrets.join(", ")
            )),
            format!("{} describe secret {}", target.command_prefix(), names.join(" ")),
        )
    };
    let again = remedy::fix(phrase!(
        case,
        "After a change of the Secret make new pods: variables are read at the start only. A database keeps the password that it was first set up with, whatever its Secret says since."
    ));
    let again = match target.restart_command() {
        Some(command) => remedy::command(again, command),
        None => again,
    };
    vec![check, again, log_remedy(case, container)]
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distrust {
    Expired,
    OtherName,
    UnknownAuthority,
}

pub(super) fn distrust(line: &str) -> Distrust {
    let lower = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["expired", "not yet valid", "notafter", "not_yet_valid"]) {
        return Distrust::Expired;
    }
    let of_name = [
        "is valid for ",
        "is not valid for ",
        "altname",
        "hostname mismatch",
        "doesn't contain any ip sans",
        "legacy common name",
        "no subject alternative",
        "namemismatch",
        "does not match target host",
    ];
    if has(&of_name) { Distrust::OtherName } else { Distrust::UnknownAuthority }
}

impl Distrust {
    pub(super) fn told(self, language: Language) -> &'static str {
        match self {
            Self::Expired => phrase!(language, "it has expired, or is not valid yet"),
            Self::OtherName => phrase!(language, "it is for another name"),
            Self::UnknownAuthority => phrase!(language, "its authority is not known"),
        }
    }
}

pub(super) fn certificate(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let name = &container.name;
    let mut out = match distrust(&said) {
        Distrust::Expired => vec![
            remedy::fix(phrase!(
                case,
                "Renew the server's certificate (with cert-manager: kubectl get certificates -A), and let the server load it."
            )),
            remedy::fix(phrase!(case, "If it is valid, the clock of the node is wrong.")),
        ],
        Distrust::OtherName => vec![
            remedy::fix(say!(case, "Let {name} use a name that the certificate has.", name)),
            remedy::fix(phrase!(case, "Or have a certificate made with the name that is used (subjectAltName).")),
        ],
        Distrust::UnknownAuthority => vec![
            remedy::fix(say!(
                case,
                "Give {name} the certificate of the authority that signed the server's: mount it from a ConfigMap, and name it (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE, a truststore).",
                name
            )),
            remedy::fix(say!(
                case,
                "If the authority is a public one, the image of {name} has no authorities (ca-certificates), or a proxy stands between.",
                name
            )),
        ],
    };
    out.push(log_remedy(case, container));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_that_is_lacking_is_read_and_given() {
        let pods = refused(r#"pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" in API group "" in the namespace "shop""#).unwrap();
        assert_eq!(pods.told(Language::English), "ServiceAccount web may not list pods in namespace shop");
        assert_eq!(
            pods.grant().unwrap(),
            "kubectl -n shop create role web-pods --verb=get,list,watch --resource=pods && kubectl -n shop create rolebinding web-pods --role=web-pods --serviceaccount=shop:web"
        );
        let scale = refused(r#"err="deployments.apps \"a\" is forbidden: User \"system:serviceaccount:shop:web\" cannot update resource \"deployments/scale\" in API group \"apps\" at the cluster scope""#).unwrap();
        assert_eq!(
            scale.told(Language::English),
            "ServiceAccount web may not update deployments.apps/scale in the whole cluster"
        );
        assert!(scale.grant().unwrap().contains(" --verb=update --resource=deployments.apps/scale "));
        assert_eq!(refused("403 Forbidden"), None);
    }

    #[test]
    fn the_path_that_is_meant_is_told_from_others() {
        for (line, path) in [
            ("mkdir: cannot create directory '/bitnami/mysql': Permission denied", Some("/bitnami/mysql")),
            (
                "nginx: [emerg] mkdir() \"/var/cache/nginx/client_temp\" failed (13: Permission denied)",
                Some("/var/cache/nginx/client_temp"),
            ),
            ("/docker-entrypoint.sh: line 5: /data/x: Permission denied", Some("/data/x")),
            ("PermissionError: [Errno 13] Permission denied: '/data/db.sqlite'", Some("/data/db.sqlite")),
            ("Error: EACCES: permission denied, open '/app/logs/a.log'", Some("/app/logs/a.log")),
            ("GF_PATHS_DATA='/var/lib/grafana' is not writable.", Some("/var/lib/grafana")),
            (
                "java.nio.file.AccessDeniedException: /usr/share/elasticsearch/data/nodes",
                Some("/usr/share/elasticsearch/data/nodes"),
            ),
            ("listen unix /var/run/app.sock: bind: permission denied", None),
            ("dial unix /var/run/docker.sock: connect: permission denied", None),
            ("open /proc/sys/kernel/core_pattern: permission denied", None),
            ("ERROR: permission denied for table users", None),
        ] {
            assert_eq!(forbidden_path(line), path, "{line}");
        }
        for (line, path) in [
            ("Error: ENOENT: no such file or directory, open '/config/config.json'", Some("/config/config.json")),
            ("open /etc/app/config.yaml: no such file or directory", Some("/etc/app/config.yaml")),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/data/model.bin'", Some("/data/model.bin")),
            (
                "java.io.FileNotFoundException: /etc/app/app.properties (No such file or directory)",
                Some("/etc/app/app.properties"),
            ),
            (
                "System.IO.FileNotFoundException: Could not find file '/app/appsettings.Prod.json'.",
                Some("/app/appsettings.Prod.json"),
            ),
            ("dial unix /var/run/docker.sock: connect: no such file or directory", None),
            (
                "error while loading shared libraries: libfoo.so: cannot open shared object file: No such file or directory",
                None,
            ),
        ] {
            assert_eq!(missing_path(line), path, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_told_apart() {
        for (line, expected) in [
            ("x509: certificate signed by unknown authority", Distrust::UnknownAuthority),
            (
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ...",
                Distrust::Expired,
            ),
            ("x509: certificate is valid for db.prod, not db", Distrust::OtherName),
            (
                "Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames",
                Distrust::OtherName,
            ),
            (
                "PKIX path building failed: unable to find valid certification path to requested target",
                Distrust::UnknownAuthority,
            ),
        ] {
            assert_eq!(distrust(line), expected, "{line}");
        }
    }
}
