//! Makes a StorageClass the default.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};

pub(super) const ACTION: Action = Action {
    name: "set-default-storage-class",
    doc: "Marks a StorageClass as the default. Offered if it is not the default.",
    params: &["class"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let class = ask.with("class")?;
    let mut classes = ask.subject.pod()?.surroundings.claims.as_ref()?.classes.iter().flat_map(|all| &**all);
    if classes.any(|known| *known.name == *class && known.is_default) {
        return None;
    }
    let annotation = "storageclass.kubernetes.io/is-default-class=true";
    let command = format!("kubectl annotate storageclass {} {annotation} --overwrite", shell_word(class));
    Some(remedy::command(ask.remedy(), command))
}
