//! Makes the files of a volume executable.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "default-mode",
    doc: "Sets defaultMode of the volume to 0755 (493), so that its files can be executed. Offered for volumes of \
          a ConfigMap or Secret.",
    params: &["volume"],
    has_text: false,
    undo: Undo::OldValues,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let volume = ask.with("volume")?;
    let (field, name_field, name) = match ask.subject.pod()?.pod.volume_source(volume)? {
        VolumeSource::ConfigMap { name, .. } => ("configMap", "name", name),
        VolumeSource::Secret { name, .. } => ("secret", "secretName", name),
        _ => return None,
    };
    let (volume, name) = (yaml_string(volume), yaml_string(name));
    let fields = format!("volumes:\n- name: {volume}\n  {field}:\n    {name_field}: {name}\n    defaultMode: 493\n");
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
