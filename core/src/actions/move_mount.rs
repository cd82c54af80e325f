//! Mounts a volume at another path.

use serde_json::json;

use super::{Action, Ask, Undo, edit_template};
use crate::case::Remedy;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "move-mount",
    doc: "Mounts the volume that is mounted at the path `from` of the container at the path `to` instead, with the same \
          subPath. Done for files of ConfigMaps, Secrets and projected volumes, whose mounts are always read-only; for other \
          volumes, or if another one is mounted there already, it opens the template in an editor.",
    params: &["from", "to"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, from, to) = (ask.container?, ask.with("from")?, ask.with("to")?);
    let pod = ask.subject.pod()?.pod;
    let is_read_only = |volume: &str| {
        matches!(
            pod.volume_source(volume),
            Some(VolumeSource::ConfigMap { .. } | VolumeSource::Secret { .. } | VolumeSource::Projected { .. })
        )
    };
    let mount = container.mounts.iter().find(|mount| mount.path == from && !mount.sub_path.is_empty());
    let is_free = container.mounts.iter().all(|mount| mount.path != to);
    let Some(mount) = mount.filter(|mount| is_free && is_read_only(&mount.volume)) else {
        return edit_template::build(ask);
    };
    let new = json!({"mountPath": to, "name": mount.volume, "subPath": mount.sub_path});
    let fields = json!({"volumeMounts": [new, {"mountPath": from, "$patch": "delete"}]});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
