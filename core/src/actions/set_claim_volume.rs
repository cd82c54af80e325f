//! Changes the PersistentVolume that an unbound claim asks for by name.

use serde_json::json;

use super::{Action, Ask, Undo, replace_claim, set_storage_class};
use crate::case::{Remedy, remedy};
use crate::facts::{NamedKind, NamesOf};
use crate::language::translate;

pub(super) const ACTION: Action = Action {
    name: "set-claim-volume",
    doc: "Replaces a claim that asks for a PersistentVolume by name with one that asks for the volume whose name is nearest, \
          where names can be read (in the plugin, with the rights of the user, and in dumps); else you fill in the name. \
          Offered for claims without a volume, which hold no data: the command checks that the claim is still Pending. Not \
          offered for claims that are created from a template.",
    params: &["claim", "volume"],
    has_text: false,
    undo: Undo::ByHand("Replace the claim with one that asks for the old volume."),
    needed_names: Some(|ask| ask.with("volume").map(|_| volumes())),
    build,
};

fn volumes() -> NamesOf {
    NamesOf::objects(NamedKind::PersistentVolume, "")
}

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, claim, wrong) = (ask.subject.pod()?, ask.with("claim")?, ask.with("volume")?);
    let claims = case.surroundings.claims.as_ref()?;
    claims.unbound.iter().find(|of| *of.name == *claim && of.volume.as_deref() == Some(wrong))?;
    let target = ask.target.as_ref()?;
    if set_storage_class::is_created_from_a_template(case, target, claim) {
        return Some(ask.remedy());
    }
    let namespace = &case.pod.key.namespace;
    let near = ask.names().and_then(|names| names.nearest(&volumes(), wrong));
    let Some(near) = near else {
        return Some(remedy::command(ask.remedy(), replace_claim::with_volume_to_fill_in(namespace, claim)));
    };
    let text = translate!(
        target,
        "Replace claim {claim} with one that asks for PersistentVolume {near}: {wrong} does not exist, and {near} is most like it. The claim has no data yet.",
        "claim {claim} を、PersistentVolume {near} を求めるものに置き換える: {wrong} は存在せず、最も近いのは {near}。claim にまだデータはない。",
        claim,
        near,
        wrong
    );
    let command = replace_claim::with_patch(namespace, claim, &json!({"spec": {"volumeName": near}}));
    Some(remedy::command(Remedy { text, ..ask.remedy() }, command))
}
