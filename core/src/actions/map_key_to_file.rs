//! Gives a file of a volume the name that the program opens.

use serde_json::json;

use super::use_existing_name::item_json;
use super::{Action, Ask, Undo};
use crate::case::{Remedy, remedy};
use crate::facts::{KeyItem, NamedKind, NamesOf, VolumeSource};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "map-key-to-file",
    doc: "Gives the key of a ConfigMap or Secret volume that is nearest to the missing file the name of this file, \
          and keeps all other files. Offered if exactly one key is near, where keys can be read: in the plugin (with \
          the rights of the user) and in dumps.",
    params: &["volume", "mountPath", "file"],
    has_text: true,
    undo: Undo::OldValues,
    needed_names: Some(names_of),
    build,
};

/// The ConfigMap or Secret of the volume, and its items.
fn source<'a>(ask: &'a Ask<'_>) -> Option<(NamedKind, &'a str, &'a [KeyItem])> {
    match ask.subject.pod()?.pod.volume_source(ask.with("volume")?)? {
        VolumeSource::ConfigMap { name, items, .. } => Some((NamedKind::ConfigMap, name, items)),
        VolumeSource::Secret { name, items, .. } => Some((NamedKind::Secret, name, items)),
        _ => None,
    }
}

fn names_of(ask: &Ask<'_>) -> Option<NamesOf> {
    let (kind, name, _) = source(ask)?;
    Some(NamesOf::keys(kind, &ask.target.as_ref()?.namespace, name))
}

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (target, (kind, name, items)) = (ask.target.as_ref()?, source(ask)?);
    let file = ask.with("file")?.strip_prefix(ask.with("mountPath")?.trim_end_matches('/'))?.trim_start_matches('/');
    let (of, names) = (names_of(ask)?, ask.names()?);
    let near = names.nearest(&of, file)?;
    let new = KeyItem { key: near.to_owned(), path: file.to_owned(), mode: None };
    // A volume with items has only these files.
    let keys = names.get(&of)?.iter().filter(|_| items.is_empty());
    let keys = keys.map(|key| KeyItem { key: key.to_string(), path: key.to_string(), mode: None });
    let kept: Vec<KeyItem> = items.iter().cloned().chain(keys).collect();
    let all: Vec<_> = kept.iter().chain([&new]).map(|item| item_json(&item.key, item)).collect();
    let (field, name_field) = match kind {
        NamedKind::Secret => ("secret", "secretName"),
        _ => ("configMap", "name"),
    };
    let (volume, kind, workload) = (ask.with("volume")?, kind.as_str(), target.display());
    let text = translate!(
        target,
        "Add key {near} of {kind} {name} as {file} to volume {volume} of {workload} (items): the program opens that name.",
        "{workload} のボリューム {volume} に、{kind} {name} のキー {near} を {file} として加える (items): プログラムはその名前で開く。",
        near,
        kind,
        name,
        file,
        volume,
        workload
    );
    let fields = json!({"volumes": [{"name": volume, field: {name_field: name, "items": all}}]});
    Some(target.with_pod_patch(Remedy { kind: ask.kind, ..remedy::fix(text) }, fields))
}
