//! Mounts an emptyDir in a container.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;

pub(super) const ACTION: Action = Action {
    name: "mount-empty-dir",
    doc: "Adds an emptyDir to the pod and mounts it at the path in the container. Without a path, or if a volume is \
          mounted there already, there is only the text.",
    params: &["path", "medium", "sizeLimit"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let container = ask.container?;
    let Some(path) = ask.with("path").filter(|path| container.mount_at(path).is_none()) else {
        return Some(ask.remedy());
    };
    let name = path.trim_matches('/').replace(|c: char| !c.is_ascii_alphanumeric(), "-").to_ascii_lowercase();
    let name = format!("writable-{}", name.get(..name.len().min(50)).unwrap_or_default());
    let fields = ["medium", "sizeLimit"].iter().filter_map(|field| Some(format!("{field}: {}", ask.with(field)?)));
    let fields = format!(
        "volumes:\n- name: {name}\n  emptyDir: {{{}}}\n{}:\n- name: {}\n  volumeMounts:\n  - name: {name}\n    mountPath: {}\n",
        fields.collect::<Vec<_>>().join(", "),
        container.spec_list(),
        yaml_string(&container.name),
        yaml_string(path),
        name = yaml_string(name.trim_matches('-'))
    );
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
