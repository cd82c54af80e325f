//! The change that a command of a remedy makes, as requests to the API server.
//!
//! Remedies state their change as a command of kubectl, because people paste it. The commands that change one object are
//! read here; all others are only shown.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// A kind of object that a remedy can change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApiKind {
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    group: &'static str,
    pub(super) version: &'static str,
    /// Further names that kubectl accepts.
    names: &'static [&'static str],
    pub(super) is_namespaced: bool,
}

macro_rules! kinds {
    ($($kind:literal $plural:literal $group:literal $names:expr, $is_namespaced:literal;)*) => {
        &[$(ApiKind { kind: $kind, plural: $plural, group: $group, version: "v1", names: &$names, is_namespaced: $is_namespaced }),*]
    };
}

const KINDS: &[ApiKind] = kinds![
    "Pod" "pods" "" ["po"], true;
    "Deployment" "deployments" "apps" ["deploy"], true;
    "StatefulSet" "statefulsets" "apps" ["sts"], true;
    "DaemonSet" "daemonsets" "apps" ["ds"], true;
    "ReplicaSet" "replicasets" "apps" ["rs"], true;
    "Job" "jobs" "batch" [], true;
    "CronJob" "cronjobs" "batch" ["cj"], true;
    "PersistentVolumeClaim" "persistentvolumeclaims" "" ["pvc"], true;
    "Service" "services" "" ["svc"], true;
    "ConfigMap" "configmaps" "" ["cm"], true;
    "Secret" "secrets" "" [], true;
    "ServiceAccount" "serviceaccounts" "" ["sa"], true;
    "ControllerRevision" "controllerrevisions" "apps" [], true;
    "Ingress" "ingresses" "networking.k8s.io" ["ing"], true;
    "Gateway" "gateways" "gateway.networking.k8s.io" ["gtw"], true;
    "HTTPRoute" "httproutes" "gateway.networking.k8s.io" [], true;
    "GRPCRoute" "grpcroutes" "gateway.networking.k8s.io" [], true;
    "Node" "nodes" "" ["no"], false;
];

impl ApiKind {
    /// The kind of a name as for kubectl: `deploy`, `deployments.apps`. A name of another group is another kind.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let (name, group) = name.split_once('.').map_or((&*name, None), |(name, group)| (name, Some(group)));
        KINDS.iter().find(|of| {
            let is_named = of.kind.eq_ignore_ascii_case(name) || of.plural == name || of.names.contains(&name);
            is_named && group.is_none_or(|group| group == of.group)
        })
    }

    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(super) fn resource(&self) -> kube::core::ApiResource {
        kube::core::ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}

/// A change of one object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) kind: &'static ApiKind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) operation: Operation,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operation {
    /// A strategic merge patch.
    Strategic(Value),
    /// A JSON merge patch.
    Merge(Value),
    /// The operations of a JSON patch (RFC 6902).
    Json(Vec<Value>),
    /// Sets fields of a container, wherever the object has it.
    InContainer {
        container: String,
        fields: Value,
    },
    /// Back to this revision of the template.
    Undo {
        revision: Revision,
    },
    Delete {
        grace_seconds: Option<u32>,
    },
    Create(Value),
    /// Deletes the object and creates it again in another form, because its spec cannot be changed.
    Recreate(Replacement),
}

/// The form in which an object is created again.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Replacement {
    /// With fields of a container set, and a strategic merge patch.
    Patched { container: Option<(String, Value)>, patch: Value },
    /// As this object.
    Of(Value),
}

/// A revision of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Revision {
    Number(i64),
    /// The ControllerRevision with this name.
    Named(String),
}

impl Change {
    pub(super) fn is_of_same_object(&self, other: &Self) -> bool {
        (self.kind, &self.namespace, &self.name) == (other.kind, &other.namespace, &other.name)
    }

    /// Whether no controller and no later step brings the object back.
    pub(super) fn deletes_for_good(&self) -> bool {
        matches!(self.operation, Operation::Delete { .. }) && self.kind.kind != "Pod"
    }

    pub(super) fn is_recreation(&self) -> bool {
        matches!(self.operation, Operation::Recreate(_))
    }

    /// What happens to the object.
    pub(super) fn verb(&self) -> &'static str {
        match self.operation {
            Operation::Delete { .. } => "deleted",
            Operation::Create(_) => "created",
            Operation::Recreate(_) => "deleted and created again",
            _ => "changed",
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.name)
    }
}

/// What the command of a remedy is.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    /// Changes of one object each, in order.
    Changes(Vec<Change>),
    /// It has placeholders that only the user can fill in: `IMAGE`.
    NeedsValues(Vec<String>),
    /// It changes more than one object at once, or is none of the known ones.
    ToRun,
}

impl Command {
    /// Reads a command. `values` replace its placeholders.
    pub(super) fn read(command: &str, values: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let Some(words) = shlex::split(command) else { return Ok(Self::ToRun) };
        let words = without_guard(with_named_revision(words));
        let mut missing = Vec::new();
        let filled: Vec<String> = words.iter().map(|word| filled(word, values, &mut missing)).collect();
        let is_recreation = is_recreation(&words);
        let is_shell = |word: &String| matches!(word.as_str(), "||" | "|" | ";" | ">" | "<") || word.contains("$(");
        if !is_recreation && words.iter().any(is_shell) {
            return Ok(Self::ToRun);
        }
        if !missing.is_empty() {
            return Ok(Self::NeedsValues(missing));
        }
        let words = filled;
        if is_recreation {
            return Ok(recreation(&words)?.map_or(Self::ToRun, |change| Self::Changes(vec![change])));
        }
        let mut changes = Vec::new();
        for words in words.split(|word| word == "&&") {
            let Some(change) = change(words)? else { return Ok(Self::ToRun) };
            changes.push(change);
        }
        Ok(Self::Changes(changes))
    }
}

/// The words with the name of a ControllerRevision instead of the command that reads its number.
fn with_named_revision(mut words: Vec<String>) -> Vec<String> {
    const READS: [&str; 2] = ["get", "controllerrevision"];
    const ENDS: [&str; 2] = ["-o", "jsonpath={.revision})"];
    let Some(at) = words.iter().position(|word| word == "--to-revision=$(kubectl") else { return words };
    let command: Vec<&str> = words[at + 1..].iter().take(7).map(String::as_str).collect();
    if let ["-n", _, get, kind, name, o, path] = *command.as_slice()
        && [get, kind] == READS
        && [o, path] == ENDS
    {
        let named = format!("--to-revision-name={name}");
        words.splice(at..at + 8, [named]);
    }
    words
}

/// The words without the check that a claim has no volume yet, as `get pvc` does before the claim is replaced:
/// [`super::object`] checks it too.
fn without_guard(mut words: Vec<String>) -> Vec<String> {
    const CHECK: [&str; 6] = ["-o", "jsonpath={.status.phase}", "|", "grep", "-qx", "Pending"];
    let is_check = |part: &[String]| match part {
        [kubectl, n, _, get, kind, _, check @ .., and] => {
            [kubectl, n, get, kind, and] == ["kubectl", "-n", "get", "pvc", "&&"] && check == CHECK
        }
        _ => false,
    };
    if let Some(at) = words.windows(CHECK.len() + 7).position(is_check) {
        words.drain(at..at + CHECK.len() + 7);
    }
    words
}

/// The word with its placeholders `<LIKE-THIS>` replaced.
fn filled(word: &str, values: &BTreeMap<String, String>, missing: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let name = after.split_once('>').filter(|(name, _)| is_placeholder(name));
        let Some((name, after)) = name else {
            out.push('<');
            rest = after;
            continue;
        };
        match values.get(name) {
            Some(value) => out.push_str(value),
            None if missing.iter().any(|known| known == name) => {}
            None => missing.push(name.to_owned()),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_placeholder(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-')
}

/// Flags and other words of a command.
struct Words<'w> {
    plain: Vec<&'w str>,
    flags: Vec<(&'w str, &'w str)>,
}

impl<'w> Words<'w> {
    fn of(words: &'w [String]) -> Self {
        let (mut plain, mut flags) = (Vec::new(), Vec::new());
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some("n" | "p" | "f" | "c" | "o") => flags.push((&word[1..], words.next().unwrap_or_default())),
                Some(flag) => flags
                    .push(flag.trim_start_matches('-').split_once('=').unwrap_or((flag.trim_start_matches('-'), ""))),
                None => plain.push(word),
            }
        }
        Self { plain, flags }
    }

    fn flag(&self, name: &str) -> Option<&'w str> {
        self.flags.iter().find(|(flag, _)| *flag == name).map(|(_, value)| *value)
    }

    fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'w str> + 's {
        self.flags.iter().filter(move |(flag, _)| *flag == name).map(|(_, value)| *value)
    }
}

/// Whether the words are those of the pipe that deletes an object and creates it again from a changed manifest:
/// `kubectl get ... | kubectl patch --local ... > FILE && kubectl replace --force -f FILE`.
fn is_recreation(words: &[String]) -> bool {
    let has = |word: &str| words.iter().filter(|of| *of == word).count();
    has("&&") == 1 && has(">") == 1 && has("--local") >= 1 && has("--force") == 1 && has("|") == has("--local")
}

/// The change of such a pipe. `None` if a part of it is not known.
fn recreation(words: &[String]) -> anyhow::Result<Option<Change>> {
    let parts: Vec<Words<'_>> = words.split(|word| matches!(word.as_str(), "|" | "&&")).map(Words::of).collect();
    let (Some(get), Some(replace), Some(edits)) = (parts.first(), parts.last(), parts.get(1..parts.len() - 1)) else {
        return Ok(None);
    };
    let ["kubectl", "get", kind, name] = *get.plain.as_slice() else { return Ok(None) };
    if replace.plain != ["kubectl", "replace"] || replace.flag("n") != get.flag("n") {
        return Ok(None);
    }
    let Some(kind) = ApiKind::of(kind) else { return Ok(None) };
    let (mut container, mut patch) = (None, None);
    for edit in edits {
        match edit.plain.as_slice() {
            ["kubectl", "patch", ..] => patch = Some(json(edit.flag("p").unwrap_or_default())?),
            ["kubectl", "set", what, pair] => container = fields_of_container(what, pair, edit),
            _ => return Ok(None),
        }
    }
    Ok(patch.map(|patch| Change {
        kind,
        namespace: get.flag("n").map(ToOwned::to_owned),
        name: name.to_owned(),
        operation: Operation::Recreate(Replacement::Patched { container, patch }),
    }))
}

/// The container that `kubectl set image` or `kubectl set env` changes, and the fields that it sets.
fn fields_of_container(what: &str, pair: &str, words: &Words<'_>) -> Option<(String, Value)> {
    let (name, value) = pair.split_once('=')?;
    match what {
        "image" => Some((name.to_owned(), json!({ "image": value }))),
        "env" => Some((words.flag("c")?.to_owned(), json!({"env": [{"name": name, "value": value}]}))),
        _ => None,
    }
}

fn json(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).context("the patch of the remedy is no JSON")
}

/// The change of a command without placeholders. `None` if it changes nothing, or not just one object.
fn change(words: &[String]) -> anyhow::Result<Option<Change>> {
    let words = Words::of(words);
    let [tool, verb, rest @ ..] = words.plain.as_slice() else { return Ok(None) };
    if *tool != "kubectl" {
        return Ok(None);
    }
    let object = |words: &[&str]| -> Option<(&'static ApiKind, String, usize)> {
        let first = words.first()?;
        match first.split_once('/') {
            Some((kind, name)) => Some((ApiKind::of(kind)?, name.to_owned(), 1)),
            None => Some((ApiKind::of(first)?, (*words.get(1)?).to_owned(), 2)),
        }
    };
    let on = |of: Option<(&'static ApiKind, String, usize)>, operation: Operation| {
        of.map(|(kind, name, _)| Change {
            kind,
            namespace: words.flag("n").filter(|_| kind.is_namespaced).map(ToOwned::to_owned),
            name,
            operation,
        })
    };
    Ok(match (*verb, rest) {
        ("patch", rest) => {
            let patch = json(words.flag("p").unwrap_or_default())?;
            let operation = match words.flag("type") {
                None | Some("strategic") => Operation::Strategic(patch),
                Some("merge") => Operation::Merge(patch),
                Some("json") => match patch {
                    Value::Array(operations) => Operation::Json(operations),
                    _ => bail!("the JSON patch of the remedy is no list of operations"),
                },
                Some(other) => bail!("unknown type of patch {other}"),
            };
            on(object(rest), operation)
        }
        ("set", [what @ ("image" | "env"), rest @ ..]) => {
            let Some(of) = object(rest) else { return Ok(None) };
            let fields = rest.get(of.2).and_then(|pair| fields_of_container(what, pair, &words));
            fields.and_then(|(container, fields)| on(Some(of), Operation::InContainer { container, fields }))
        }
        ("set", ["resources", rest @ ..]) => {
            let Some(container) = words.flag("c") else { return Ok(None) };
            let mut resources = json!({});
            for field in ["requests", "limits"] {
                let amounts = words.flag(field).unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
                for (resource, amount) in amounts {
                    resources[field][resource] = amount.into();
                }
            }
            let fields = json!({ "resources": resources });
            on(object(rest), Operation::InContainer { container: container.to_owned(), fields })
        }
        ("scale", rest) => {
            let replicas: i64 = words.flag("replicas").unwrap_or_default().parse().context("--replicas")?;
            on(object(rest), Operation::Merge(json!({"spec": {"replicas": replicas}})))
        }
        ("rollout", ["undo", rest @ ..]) => {
            let number = words.flag("to-revision").and_then(|n| n.parse().ok()).map(Revision::Number);
            let revision =
                number.or_else(|| words.flag("to-revision-name").map(|name| Revision::Named(name.to_owned())));
            revision.and_then(|revision| on(object(rest), Operation::Undo { revision }))
        }
        ("rollout", ["resume", rest @ ..]) => on(object(rest), Operation::Merge(json!({"spec": {"paused": null}}))),
        ("delete", rest) if rest.len() <= 2 && words.flag("l").is_none() => {
            let grace_seconds = words.flag("grace-period").and_then(|n| n.parse().ok());
            on(object(rest), Operation::Delete { grace_seconds })
        }
        ("create", ["configmap", name]) => created("ConfigMap", name, &words, json!({"data": literals(&words)})),
        ("create", ["secret", "generic", name]) => {
            created("Secret", name, &words, json!({"type": "Opaque", "stringData": literals(&words)}))
        }
        ("create", ["serviceaccount", name]) => created("ServiceAccount", name, &words, json!({})),
        _ => None,
    })
}

fn literals(words: &Words<'_>) -> BTreeMap<String, String> {
    words
        .all("from-literal")
        .filter_map(|pair| pair.split_once('='))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

fn created(kind: &str, name: &str, words: &Words<'_>, mut object: Value) -> Option<Change> {
    let kind = ApiKind::of(kind)?;
    let namespace = words.flag("n").map(ToOwned::to_owned);
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object["metadata"] = json!({"name": name, "namespace": namespace});
    Some(Change { kind, namespace, name: name.to_owned(), operation: Operation::Create(object) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Command {
        Command::read(command, &BTreeMap::from([("IMAGE".to_owned(), "nginx:1.27".to_owned())])).unwrap()
    }

    fn change(command: &str) -> (String, Option<String>, Operation) {
        match read(command) {
            Command::Changes(changes) => {
                let [change] = <[Change; 1]>::try_from(changes).unwrap();
                (change.to_string(), change.namespace, change.operation)
            }
            other => panic!("{command}: {other:?}"),
        }
    }

    #[test]
    fn commands_that_change_one_object_are_read() {
        let shop = || Some("shop".to_owned());
        let patch = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "it's"}}}}});
        for (command, object, namespace, operation) in [
            (
                r#"kubectl -n shop patch deployment web -p '{"spec":{"template":{"spec":{"nodeSelector":{"a":"it'\''s"}}}}}'"#,
                "Deployment web",
                shop(),
                Operation::Strategic(patch),
            ),
            (
                r#"kubectl -n shop patch pod web --type=merge -p '{"metadata":{"finalizers":null}}'"#,
                "Pod web",
                shop(),
                Operation::Merge(json!({"metadata": {"finalizers": null}})),
            ),
            (
                r#"kubectl -n shop patch httproute.gateway.networking.k8s.io/web --type=json -p '[{"op":"remove","path":"/spec/rules/0"}]'"#,
                "HTTPRoute web",
                shop(),
                Operation::Json(vec![json!({"op": "remove", "path": "/spec/rules/0"})]),
            ),
            (
                "kubectl -n shop set image deployment/web app=<IMAGE>",
                "Deployment web",
                shop(),
                Operation::InContainer { container: "app".into(), fields: json!({"image": "nginx:1.27"}) },
            ),
            (
                "kubectl -n shop set env deployment/web -c app HOST=<IMAGE>",
                "Deployment web",
                shop(),
                Operation::InContainer {
                    container: "app".into(),
                    fields: json!({"env": [{"name": "HOST", "value": "nginx:1.27"}]}),
                },
            ),
            (
                "kubectl -n shop set resources deployment/web -c app --limits=memory=64Mi,cpu=1",
                "Deployment web",
                shop(),
                Operation::InContainer {
                    container: "app".into(),
                    fields: json!({"resources": {"limits": {"memory": "64Mi", "cpu": "1"}}}),
                },
            ),
            (
                "kubectl -n shop rollout undo statefulset/db --to-revision=$(kubectl -n shop get controllerrevision db-7f -o jsonpath='{.revision}')",
                "StatefulSet db",
                shop(),
                Operation::Undo { revision: Revision::Named("db-7f".into()) },
            ),
            (
                "kubectl -n shop scale statefulset/db --replicas=2",
                "StatefulSet db",
                shop(),
                Operation::Merge(json!({"spec": {"replicas": 2}})),
            ),
            (
                "kubectl -n shop rollout undo deployment/web --to-revision=4",
                "Deployment web",
                shop(),
                Operation::Undo { revision: Revision::Number(4) },
            ),
            ("kubectl -n shop delete pod web-0", "Pod web-0", shop(), Operation::Delete { grace_seconds: None }),
            (
                "kubectl -n shop create configmap app --from-literal=HOST=<IMAGE>",
                "ConfigMap app",
                shop(),
                Operation::Create(json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "shop"},
                    "data": {"HOST": "nginx:1.27"},
                })),
            ),
        ] {
            assert_eq!(change(command), (object.to_owned(), namespace, operation), "{command}");
        }
    }

    #[test]
    fn a_chain_of_commands_is_several_changes() {
        let commands = "kubectl -n shop patch statefulset db -p '{\"spec\":{}}' && kubectl -n shop delete pod db-0";
        let Command::Changes(changes) = read(commands) else { panic!("{commands}") };
        let objects: Vec<String> = changes.iter().map(|change| format!("{change} {}", change.verb())).collect();
        assert_eq!(objects, ["StatefulSet db changed", "Pod db-0 deleted"]);
        assert_eq!(changes[0].operation, Operation::Strategic(json!({"spec": {}})));
    }

    #[test]
    fn an_object_that_is_created_again_is_one_change() {
        for (set, container) in [
            ("", None),
            ("kubectl set image --local -o json -f - app=<IMAGE> | ", Some(json!({"image": "nginx:1.27"}))),
            (
                "kubectl set env --local -o json -f - -c app HOST=<IMAGE> | ",
                Some(json!({"env": [{"name": "HOST", "value": "nginx:1.27"}]})),
            ),
        ] {
            let command = format!(
                "kubectl -n shop get pod web -o json | {set}kubectl patch --local -f - -p '{{\"spec\":{{\"nodeName\":null}}}}' \
                 -o json > web.json && kubectl -n shop replace --force -f web.json"
            );
            let container = container.map(|fields| ("app".to_owned(), fields));
            let form = Replacement::Patched { container, patch: json!({"spec": {"nodeName": null}}) };
            let expected = ("Pod web".to_owned(), Some("shop".to_owned()), Operation::Recreate(form));
            assert_eq!(change(&command), expected, "{command}");
        }
    }

    #[test]
    fn a_claim_is_replaced_after_the_check_that_it_has_no_volume() {
        let check = "kubectl -n shop get pvc data -o jsonpath='{.status.phase}' | grep -qx Pending && ";
        let command = format!(
            "kubectl -n shop get pvc data -o json | kubectl patch --local -f - -p '{{\"spec\":{{\"volumeName\":\"a\"}}}}' -o \
             json > data.json && {check}kubectl -n shop replace --force -f data.json"
        );
        let form = Replacement::Patched { container: None, patch: json!({"spec": {"volumeName": "a"}}) };
        let expected = ("PersistentVolumeClaim data".to_owned(), Some("shop".to_owned()), Operation::Recreate(form));
        assert_eq!(change(&command), expected);
    }

    #[test]
    fn placeholders_and_other_commands_change_nothing() {
        let missing = |names: &[&str]| Command::NeedsValues(names.iter().map(ToString::to_string).collect());
        assert_eq!(read("kubectl -n shop create secret generic a --from-literal=K=<VALUE>"), missing(&["VALUE"]));
        for command in [
            "kubectl -n shop logs web -c app --previous --tail=50",
            "kubectl -n shop rollout history deployment/web",
            "kubectl -n shop patch statefulset db -p '{}' && kubectl -n shop logs db-0",
            "kubectl -n shop get pvc data -o yaml | kubectl replace --force -f -",
            "kubectl -n shop get pod web -o json | kubectl patch --local -f - -p '{}' -o json > a.json && kubectl -n other replace --force -f a.json",
            "kubectl -n shop get pod web -o json | sed --local s/a/b/ > a.json && kubectl -n shop replace --force -f a.json",
            "kubectl -n shop delete service.serving.knative.dev/web",
            "kubectl -n shop delete pods --field-selector=status.phase=Failed -l app=web",
            "rm -rf /",
        ] {
            assert_eq!(read(command), Command::ToRun, "{command}");
        }
    }
}
