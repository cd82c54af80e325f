//! Mounts an emptyDir in a container.

use serde_json::{Map, json};

use super::{Action, Ask, Undo};
use crate::case::Remedy;

pub(super) const ACTION: Action = Action {
    name: "mount-empty-dir",
    doc: "Adds an emptyDir to the pod and mounts it at the path in the container. Without a path, or if a volume is \
          mounted there already, there is only the text.",
    params: &["path", "medium", "sizeLimit"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container?;
    let Some(path) = ask.with("path").filter(|path| container.mount_at(path).is_none()) else {
        return Some(ask.remedy());
    };
    let name = path.trim_matches('/').replace(|c: char| !c.is_ascii_alphanumeric(), "-").to_ascii_lowercase();
    let name = format!("writable-{}", name.get(..name.len().min(50)).unwrap_or_default());
    let name = name.trim_matches('-');
    let empty_dir: Map<_, _> =
        ["medium", "sizeLimit"].iter().filter_map(|field| Some(((*field).into(), ask.with(field)?.into()))).collect();
    let fields = json!({
        "volumes": [{"name": name, "emptyDir": empty_dir}],
        container.spec_list(): [{"name": container.name, "volumeMounts": [{"name": name, "mountPath": path}]}],
    });
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
