//! Raises the size limit of an emptyDir volume.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::{VolumeSource, format_bytes};

pub(super) const ACTION: Action = Action {
    name: "raise-size-limit",
    doc: "Doubles sizeLimit of an emptyDir. Offered if it has one.",
    params: &["volume"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let volume = ask.with("volume")?;
    let Some(VolumeSource::EmptyDir { size_limit: Some(limit), .. }) = ask.subject.pod()?.pod.volume_source(volume)
    else {
        return None;
    };
    let raised = format_bytes(limit.saturating_mul(2));
    let fields = json!({"volumes": [{"name": volume, "emptyDir": {"sizeLimit": raised}}]});
    Some(ask.target.as_ref()?.with_pod_patch(ask.remedy(), fields))
}
