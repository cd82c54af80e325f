//! Makes the files of a volume executable.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "default-mode",
    doc: "Sets defaultMode of the volume to 0755 (493), so that its files can be executed. Offered for volumes of \
          a ConfigMap or Secret.",
    params: &["volume"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let volume = ask.with("volume")?;
    let (field, name_field, name) = match ask.subject.pod()?.pod.volume_source(volume)? {
        VolumeSource::ConfigMap { name, .. } => ("configMap", "name", name),
        VolumeSource::Secret { name, .. } => ("secret", "secretName", name),
        _ => return None,
    };
    let fields = json!({"volumes": [{"name": volume, field: {name_field: name, "defaultMode": 0o755}}]});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
