//! Points a reference to the existing object or key whose name is nearest.

use serde_json::{Map, Value, json};

use super::{Action, Ask, Undo, edit_template};
use crate::api::ContainerType;
use crate::case::target::list_entry;
use crate::case::{Remedy, remedy};
use crate::facts::{Container, EnvRef, KeyItem, NamedKind, NamesOf, PodFacts, RefKind, VolumeSource};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "use-existing-name",
    doc: "Points all references of the template to the object of this kind whose name is nearest to `name`; with \
          `key`, to the nearest key in that ConfigMap or Secret. Offered if exactly one name is near, where names can \
          be read: in the plugin (with the rights of the user) and in dumps. The operator does not read them.",
    params: &["kind", "name", "key"],
    has_text: true,
    undo: Undo::OldValues,
    needed_names: Some(names_of),
    build,
};

fn names_of(ask: &Ask<'_>) -> Option<NamesOf> {
    let (kind, name) = (NamedKind::named_so(ask.with("kind")?)?, ask.with("name")?);
    let namespace = &ask.target.as_ref()?.namespace;
    Some(match ask.with("key") {
        Some(_) => NamesOf::keys(kind, namespace, name),
        None => NamesOf::objects(kind, namespace),
    })
}

/// A reference, and the name that it should have instead.
struct Correction<'a> {
    kind: NamedKind,
    /// The object; the one that does not exist, unless a key is meant.
    name: &'a str,
    /// The key that does not exist.
    key: Option<&'a str>,
    near: &'a str,
}

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, of, name, key) = (ask.target.as_ref()?, names_of(ask)?, ask.with("name")?, ask.with("key"));
    let near = ask.names()?.nearest(&of, key.unwrap_or(name))?;
    let correction = Correction { kind: of.kind, name, key, near };
    let (workload, kind) = (target.display(), of.kind.as_str());
    let text = match key {
        Some(key) => translate!(
            target,
            "Read key {near} of {kind} {name} in {workload}: there is no key {key}, and {near} is most like it.",
            "{workload} では {kind} {name} のキー {near} を使う: キー {key} はなく、最も近いのは {near}。",
            near,
            kind,
            name,
            workload,
            key
        ),
        None => translate!(
            target,
            "Use {kind} {near} in {workload}: {name} does not exist, and {near} is most like it.",
            "{workload} では {kind} {near} を使う: {name} は存在せず、最も近いのは {near}。",
            near,
            kind,
            name,
            workload
        ),
    };
    let remedy = Remedy { kind: ask.kind, ..remedy::fix(text) };
    let fields = match ask.subject.pod() {
        Some(case) => correction.of_pod(case.pod, |container| target.is_injected(container)),
        None => correction.of_spec(),
    };
    match fields {
        Some(fields) => Some(target.with_pod_patch(remedy, fields)),
        None => edit_template::build(&Ask {
            text: remedy.text,
            container: None,
            target: ask.target.clone(),
            with: vec![],
            ..*ask
        }),
    }
}

impl Correction<'_> {
    /// The field of the pod spec itself that has the name.
    fn of_spec(&self) -> Option<Value> {
        let field = match self.kind {
            NamedKind::ServiceAccount => "serviceAccountName",
            NamedKind::PriorityClass => "priorityClassName",
            NamedKind::RuntimeClass => "runtimeClassName",
            NamedKind::ConfigMap
            | NamedKind::Secret
            | NamedKind::PersistentVolumeClaim
            | NamedKind::PersistentVolume => return None,
        };
        Some(json!({ field: self.near }))
    }

    /// All fields that have the name. `None` if there are none, or if a patch cannot change one of them alone.
    fn of_pod(&self, pod: &PodFacts, is_injected: impl Fn(&Container) -> bool) -> Option<Value> {
        if let Some(fields) = self.of_spec() {
            return Some(fields);
        }
        let mut spec = Map::new();
        let mut add = |list: &str, entry: Value| {
            if let Value::Array(entries) = spec.entry(list).or_insert_with(|| json!([])) {
                entries.push(entry);
            }
        };
        for volume in &pod.volumes {
            if let VolumeSource::Projected { sources } = &volume.source
                && sources.iter().any(|source| self.concerns(source))
            {
                return None;
            }
            if let Some(source) = self.in_volume(&volume.source) {
                add("volumes", list_entry(&volume.name, source));
            }
        }
        let in_template =
            |container: &&Container| container.kind != ContainerType::Ephemeral && !is_injected(container);
        for container in pod.containers.iter().filter(in_template) {
            let fields = self.in_container(pod, container);
            if !fields.is_empty() {
                add(container.spec_list(), list_entry(&container.name, fields.into()));
            }
        }
        if self.kind == NamedKind::Secret
            && self.key.is_none()
            && pod.image_pull_secrets.iter().any(|of| of == self.name)
        {
            if !pod.image_pull_secrets.iter().any(|of| of == self.near) {
                add("imagePullSecrets", json!({"name": self.near}));
            }
            add("imagePullSecrets", json!({"name": self.name, "$patch": "delete"}));
        }
        (!spec.is_empty()).then(|| spec.into())
    }

    /// Whether a volume is made of the object, and of the key if one is meant.
    fn concerns(&self, source: &VolumeSource) -> bool {
        let (name, items) = match (self.kind, source) {
            (NamedKind::ConfigMap, VolumeSource::ConfigMap { name, items, .. })
            | (NamedKind::Secret, VolumeSource::Secret { name, items, .. }) => (name, items),
            (NamedKind::PersistentVolumeClaim, VolumeSource::Claim { name, ephemeral: false }) => {
                return name == self.name;
            }
            _ => return false,
        };
        name == self.name && self.key.is_none_or(|key| items.iter().any(|item| item.key == key))
    }

    fn in_volume(&self, source: &VolumeSource) -> Option<Value> {
        if !self.concerns(source) {
            return None;
        }
        let (field, name_field, items) = match source {
            VolumeSource::ConfigMap { items, .. } => ("configMap", "name", items),
            VolumeSource::Secret { items, .. } => ("secret", "secretName", items),
            VolumeSource::Claim { .. } => return Some(json!({"persistentVolumeClaim": {"claimName": self.near}})),
            _ => return None,
        };
        Some(match self.key {
            None => json!({field: {name_field: self.near}}),
            // A patch replaces the whole list.
            Some(key) => {
                let named = |item: &KeyItem| item_json(if item.key == key { self.near } else { &item.key }, item);
                json!({field: {name_field: self.name, "items": items.iter().map(named).collect::<Vec<_>>()}})
            }
        })
    }

    fn in_container(&self, pod: &PodFacts, container: &Container) -> Map<String, Value> {
        let (kind, of_variable, of_all) = match self.kind {
            NamedKind::ConfigMap => (RefKind::ConfigMap, "configMapKeyRef", "configMapRef"),
            NamedKind::Secret => (RefKind::Secret, "secretKeyRef", "secretRef"),
            _ => return Map::new(),
        };
        let is_meant = |r: &EnvRef| {
            r.kind == kind && r.name == self.name && self.key.is_none_or(|key| r.key.as_deref() == Some(key))
        };
        let mut fields = Map::new();
        let variables = container.env_refs.iter().filter(|r| is_meant(r)).filter_map(|r| {
            let (name, key) = match self.key {
                Some(_) => (self.name, self.near),
                None => (self.near, r.key.as_deref()?),
            };
            Some(json!({"name": r.variable.as_deref()?, "valueFrom": {of_variable: {"name": name, "key": key}}}))
        });
        let variables: Vec<Value> = variables.collect();
        if !variables.is_empty() {
            fields.insert("env".to_owned(), variables.into());
        }
        let sources = || container.env_refs.iter().filter(|r| r.variable.is_none());
        if sources().any(is_meant) {
            // A patch replaces the whole list.
            let sources = sources().map(|r| {
                let field = match r.kind {
                    _ if is_meant(r) => of_all,
                    RefKind::ConfigMap => "configMapRef",
                    RefKind::Secret => "secretRef",
                };
                let mut reference = json!({"name": if is_meant(r) { self.near } else { &r.name }});
                if r.optional {
                    reference["optional"] = true.into();
                }
                let mut source = json!({ field: reference });
                if !r.prefix.is_empty() {
                    source["prefix"] = json!(r.prefix);
                }
                source
            });
            fields.insert("envFrom".to_owned(), sources.collect());
        }
        if let Some(key) = self.key {
            let is_of_object = |volume: &str| match pod.volume_source(volume) {
                Some(VolumeSource::ConfigMap { name, .. }) => kind == RefKind::ConfigMap && name == self.name,
                Some(VolumeSource::Secret { name, .. }) => kind == RefKind::Secret && name == self.name,
                _ => false,
            };
            let mounts = container.mounts.iter().filter(|mount| mount.sub_path == key && is_of_object(&mount.volume));
            let mounts: Vec<Value> =
                mounts.map(|mount| json!({"mountPath": mount.path, "subPath": self.near})).collect();
            if !mounts.is_empty() {
                fields.insert("volumeMounts".to_owned(), mounts.into());
            }
        }
        fields
    }
}

/// An item of a volume with this key.
pub(super) fn item_json(key: &str, item: &KeyItem) -> Value {
    let mut json = json!({"key": key, "path": item.path});
    if let Some(mode) = item.mode {
        json["mode"] = mode.into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Health;
    use crate::facts::Lookup;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// The first remedy of a container of Deployment `web` that cannot be created, if these names exist.
    fn first(spec: &str, message: &str, of: &NamesOf, names: &[&str]) -> (String, String) {
        let mut scenario = Scenario::from_yaml(&format!(
            "kind: Pod
apiVersion: v1
metadata: {{name: web-5d9-x, namespace: shop, uid: u1, labels: {{pod-template-hash: 5d9}},
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d9, controller: true, uid: r}}]}}
spec: {{nodeName: n1, {spec}}}
status:
  phase: Pending
  startTime: '2026-11-21T09:00:00Z'
  containerStatuses: [{{name: web, state: {{waiting: {{reason: CreateContainerConfigError, message: '{message}'}}}}}}]
"
        ))
        .at("2026-11-21T10:00:00Z");
        let outcome = diagnose(&scenario.case());
        assert!(outcome.needed_lookups.contains(&Lookup::Names(of.clone())), "{:?}", outcome.needed_lookups);
        scenario.surroundings[0].names.add(of.clone(), names.iter().map(|name| (*name).into()).collect());
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        let first = found.remedies.into_iter().next().unwrap();
        (first.text, first.command.unwrap_or_default())
    }

    const MISSING: &str = "configmap \"app-confg\" not found";

    #[test]
    fn all_references_are_pointed_to_the_nearest_object() {
        let of = NamesOf::objects(NamedKind::ConfigMap, "shop");
        let spec = "containers: [{name: web, image: 'a:1', env: [{name: MODE, valueFrom: {configMapKeyRef: {name: app-confg, key: mode}}}]}], volumes: [{name: v, configMap: {name: app-confg}}]";
        let (text, command) = first(spec, MISSING, &of, &["app-config", "kube-root-ca.crt"]);
        assert!(text.starts_with("Use ConfigMap app-config in Deployment web"), "{text}");
        assert_eq!(
            command,
            r#"kubectl -n shop patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"env":[{"name":"MODE","valueFrom":{"configMapKeyRef":{"key":"mode","name":"app-config"}}}],"name":"web"}],"volumes":[{"configMap":{"name":"app-config"},"name":"v"}]}}}}'"#
        );
        let (_, command) = first(spec, MISSING, &of, &["orders"]);
        assert!(command.contains("create configmap app-confg"), "{command}");
    }

    #[test]
    fn other_sources_of_an_environment_are_kept() {
        let of = NamesOf::objects(NamedKind::ConfigMap, "shop");
        let spec = "containers: [{name: web, image: 'a:1', envFrom: [{secretRef: {name: s}, prefix: S_}, {configMapRef: {name: app-confg}}]}]";
        let (_, command) = first(spec, MISSING, &of, &["app-config"]);
        let list = r#""envFrom":[{"prefix":"S_","secretRef":{"name":"s"}},{"configMapRef":{"name":"app-config"}}]"#;
        assert!(command.contains(list), "{command}");
    }

    #[test]
    fn items_and_sub_paths_have_the_nearest_key() {
        let scenario = Scenario::from_yaml(
            "kind: Pod
metadata: {name: a, namespace: b}
spec:
  containers: [{name: web, image: 'a:1', volumeMounts: [{name: v, mountPath: /a, subPath: nginx.cfg}]}]
  volumes: [{name: v, configMap: {name: web, items: [{key: nginx.cfg, path: nginx.conf, mode: 256}, {key: b, path: c}]}}]
  imagePullSecrets: [{name: regcrde}]
",
        );
        let pod = &scenario.pods[0];
        let key = Correction { kind: NamedKind::ConfigMap, name: "web", key: Some("nginx.cfg"), near: "nginx.conf" };
        assert_eq!(
            key.of_pod(pod, |_| false),
            Some(json!({
                "containers": [{"name": "web", "volumeMounts": [{"mountPath": "/a", "subPath": "nginx.conf"}]}],
                "volumes": [{"name": "v", "configMap": {"name": "web", "items": [
                    {"key": "nginx.conf", "path": "nginx.conf", "mode": 256}, {"key": "b", "path": "c"},
                ]}}],
            }))
        );
        let secret = Correction { kind: NamedKind::Secret, name: "regcrde", key: None, near: "regcred" };
        let expected = json!({"imagePullSecrets": [{"name": "regcred"}, {"name": "regcrde", "$patch": "delete"}]});
        assert_eq!(secret.of_pod(pod, |_| false), Some(expected));
        assert_eq!(Correction { name: "other", ..secret }.of_pod(pod, |_| false), None);
    }

    #[test]
    fn nearest_key_is_read() {
        let of = NamesOf::keys(NamedKind::Secret, "shop", "db");
        let spec = "containers: [{name: web, image: 'a:1', env: [{name: P, valueFrom: {secretKeyRef: {name: db, key: PASSWORD}}}]}]";
        let message = "couldn''t find key PASSWORD in Secret shop/db";
        let (text, command) = first(spec, message, &of, &["password", "user"]);
        assert!(text.starts_with("Read key password of Secret db in Deployment web"), "{text}");
        assert!(command.contains(r#""secretKeyRef":{"key":"password","name":"db"}"#), "{command}");
    }
}
