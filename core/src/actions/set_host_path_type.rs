//! Lets the kubelet create the directory of a hostPath volume.

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::case::target::yaml_string;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "set-host-path-type",
    doc: "Sets type of a hostPath volume of the template. Offered if the pod has the volume.",
    params: &["volume", "type"],
    has_text: false,
    undo: Undo::OldValues,
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
