//! Marks the ConfigMap or Secret of a volume as optional.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::VolumeSource;

pub(super) const ACTION: Action = Action {
    name: "make-volume-optional",
    doc: "Sets optional on the volume of the ConfigMap or Secret in the template. For the source of a projected \
          volume, it opens the template in an editor. Not offered if the volume is optional already.",
    params: &["configMap", "secret"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    let (config_map, secret) = (ask.with("configMap"), ask.with("secret"));
    let volume = ask.subject.pod()?.pod.volumes.iter().find_map(|volume| match &volume.source {
        VolumeSource::ConfigMap { name, optional, .. } if config_map == Some(name) => {
            Some((volume, "configMap", *optional))
        }
        VolumeSource::Secret { name, optional, .. } if secret == Some(name) => Some((volume, "secret", *optional)),
        _ => None,
    });
    match volume {
        Some((_, _, true)) => None,
        Some((volume, field, false)) => {
            let fields = json!({"volumes": [{"name": volume.name, field: {"optional": true}}]});
            Some(target.with_pod_patch(ask.remedy(), fields))
        }
        None => Some(target.with_replacement(ask.remedy())),
    }
}
