//! Changes the StorageClass of a claim that has no volume.

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};
use crate::facts::ClaimClass;

pub(super) const ACTION: Action = Action {
    name: "set-storage-class",
    doc: "Sets storageClassName of a claim that names none; replaces a claim that names one, as that cannot be \
          changed. Offered for claims without a volume, which hold no data.",
    params: &["claim", "class"],
    has_text: false,
    undo: Undo::ByHand("Replace the claim with one of the old class."),
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (case, class) = (ask.subject.pod()?, ask.with("class")?);
    let claims = case.surroundings.claims.as_ref()?;
    let claim = claims.unbound.iter().find(|claim| Some(&*claim.name) == ask.with("claim"))?;
    let (namespace, name) = (&case.pod.key.namespace, shell_word(&claim.name));
    // Accept only object names: the message of an Event may hold any text, and this value becomes part of a script.
    if !class.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)) {
        return Some(ask.remedy());
    }
    let old = match &claim.class {
        ClaimClass::Unknown => return Some(ask.remedy()),
        ClaimClass::Named(old) if **old == *class => return None,
        ClaimClass::Named(old) => old.replace('.', "\\."),
        ClaimClass::Without => "\"\"".to_owned(),
        ClaimClass::Unset => {
            let body = serde_json::json!({"spec": {"storageClassName": class}}).to_string();
            let patch = format!("kubectl -n {namespace} patch pvc {name} --type=merge -p {}", shell_word(&body));
            return Some(remedy::command(ask.remedy(), patch));
        }
    };
    let script = format!("s/storageClassName: {old}$/storageClassName: {class}/");
    let replace = format!(
        "kubectl -n {namespace} get pvc {name} -o yaml | sed {} | kubectl replace --force -f -",
        shell_word(&script)
    );
    Some(remedy::command(ask.remedy(), replace))
}
