//! Doubles the size limit of an emptyDir volume.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;
use crate::facts::{VolumeSource, format_bytes};

pub(super) const ACTION: Action = Action {
    name: "raise-empty-dir-limit",
    doc: "Doubles sizeLimit of the emptyDir volume in the template. Offered where the volume has such a limit. \
          Undo: set the old sizeLimit.",
    params: &["volume"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let volume = ask.with("volume")?;
    let VolumeSource::EmptyDir { size_limit: Some(limit), .. } = ask.subject.pod()?.pod.volume_source(volume)? else {
        return None;
    };
    let raised = format_bytes(limit.saturating_mul(2));
    let fields = format!("volumes:\n- name: {}\n  emptyDir:\n    sizeLimit: {raised}\n", yaml_string(volume));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
