//! Lets the kubelet create the directory of a hostPath volume.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "set-host-path-type",
    doc: "Sets type of a hostPath volume of the template. Offered if the pod has the volume.",
    params: &["volume", "type"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (name, kind) = (ask.with("volume")?, ask.with("type")?);
    let source = ask.subject.pod()?.pod.volume_source(name)?;
    if !matches!(source, VolumeSource::HostPath { .. }) {
        return None;
    }
    let fields = json!({"volumes": [{"name": name, "hostPath": {"type": kind}}]});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
