//! Mounts a single file of a volume where the image has a file.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::{KeyItem, Mount, NamedKind, NamesOf, VolumeSource};

pub(super) const ACTION: Action = Action {
    name: "set-sub-path",
    doc: "Sets subPath of the mount at this path to the file of the ConfigMap or Secret volume that has the same name as \
          the path; to its only file, where keys can be read (in the plugin, with the rights of the user, and in dumps). \
          Offered for a mount without subPath whose path has the name of a file.",
    params: &["mountPath"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: Some(names_of),
    build,
};

fn mount<'a>(ask: &Ask<'a>) -> Option<&'a Mount> {
    let path = ask.with("mountPath")?;
    ask.container?.mounts.iter().find(|mount| mount.path == path && mount.sub_path.is_empty())
}

/// The ConfigMap or Secret of the volume, and its items.
fn source<'a>(ask: &Ask<'a>) -> Option<(NamedKind, &'a str, &'a [KeyItem])> {
    let volume = &mount(ask)?.volume;
    match ask.subject.pod()?.pod.volume_source(volume)? {
        VolumeSource::ConfigMap { name, items, .. } => Some((NamedKind::ConfigMap, name, items)),
        VolumeSource::Secret { name, items, .. } => Some((NamedKind::Secret, name, items)),
        _ => None,
    }
}

fn names_of(ask: &Ask<'_>) -> Option<NamesOf> {
    let (kind, name, items) = source(ask)?;
    items.is_empty().then(|| NamesOf::keys(kind, ask.subject.pod().map_or("", |case| &case.pod.key.namespace), name))
}

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (mount, (_, _, items)) = (mount(ask)?, source(ask)?);
    let last = mount.path.rsplit('/').next().filter(|name| !name.is_empty())?;
    let keys = || names_of(ask).and_then(|of| ask.names()?.get(&of));
    let files: Option<Vec<&str>> = match items {
        [] => keys().map(|keys| keys.iter().map(|key| &**key).collect()),
        items => Some(items.iter().map(|item| item.path.as_str()).collect()),
    };
    let file = match files.as_deref() {
        // The operator reads no keys: the path most likely has the name of one.
        None => last,
        Some(files) if files.contains(&last) => last,
        Some([only]) => only,
        Some(_) => return None,
    };
    let fields = json!({"volumeMounts": [{"mountPath": mount.path, "subPath": file}]});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), ask.container, fields))
}

#[cfg(test)]
mod tests {
    use super::NamesOf;
    use crate::case::Health;
    use crate::facts::NamedKind;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    /// The patch of the first remedy of a bare pod whose ConfigMap `web` is mounted over a file, with its keys if they are known.
    fn patch(volume: &str, keys: Option<&[&str]>) -> Option<String> {
        let mut scenario = Scenario::from_yaml(&format!(
            r#"kind: Pod
apiVersion: v1
metadata: {{name: web, namespace: shop, uid: u1}}
spec: {{nodeName: n1, containers: [{{name: web, image: 'a:1', volumeMounts: [{{name: v, mountPath: /etc/app.conf}}]}}], volumes: [{{name: v, {volume}}}]}}
status:
  phase: Pending
  startTime: '2026-11-21T09:00:00Z'
  containerStatuses: [{{name: web, state: {{waiting: {{reason: RunContainerError, message: 'runc create failed: unable to start container process: error during container init: error mounting "/var/lib/kubelet/pods/1/volumes/kubernetes.io~configmap/v" to rootfs at "/etc/app.conf": mount src=/var/lib/kubelet/pods/1/volumes/kubernetes.io~configmap/v, dst=/etc/app.conf, flags=MS_BIND|MS_REC: not a directory'}}}}}}]
"#
        ))
        .at("2026-11-21T10:00:00Z");
        if let Some(keys) = keys {
            let of = NamesOf::keys(NamedKind::ConfigMap, "shop", "web");
            scenario.surroundings[0].names.add(of, keys.iter().map(|key| (*key).into()).collect());
        }
        let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
        assert_eq!(found.cause, "MountFailedAtStart");
        let command = found.remedies.into_iter().next()?.command?;
        let (_, rest) = command.split_once(r#""volumeMounts":["#)?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    #[test]
    fn the_file_is_the_key_with_the_name_of_the_path_or_the_only_one() {
        let mount = |file: &str| Some(format!(r#"{{"mountPath":"/etc/app.conf","subPath":"{file}"}}"#));
        assert_eq!(patch("configMap: {name: web}", None), mount("app.conf"));
        assert_eq!(patch("configMap: {name: web}", Some(&["app.conf", "b"])), mount("app.conf"));
        assert_eq!(patch("configMap: {name: web}", Some(&["main.conf"])), mount("main.conf"));
        assert_eq!(patch("configMap: {name: web}", Some(&["a", "b"])), None);
        assert_eq!(patch("configMap: {name: web, items: [{key: k, path: main.conf}]}", None), mount("main.conf"));
        assert_eq!(patch("emptyDir: {}", None), None);
    }
}
