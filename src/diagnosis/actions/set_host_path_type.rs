//! Lets the kubelet create the path of a hostPath volume.

use super::{Action, Ask};
use crate::api::Remedy;
use crate::diagnosis::target::yaml_string;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "set-host-path-type",
    doc: "Sets type of a hostPath volume of the template. Offered where the pod has the volume. Undo: set the old type.",
    params: &["volume", "type"],
    has_text: false,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (name, kind) = (ask.with("volume")?, ask.with("type")?);
    let source = ask.subject.pod()?.pod.volume_source(name)?;
    if !matches!(source, VolumeSource::HostPath { .. }) {
        return None;
    }
    let fields = format!("volumes:\n- name: {}\n  hostPath:\n    type: {kind}\n", yaml_string(name));
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), &fields))
}
