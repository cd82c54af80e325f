//! Commands that replace a claim without a volume: its spec cannot be changed, and it holds no data.

use serde_json::Value as Json;

use crate::case::target::{recreation, shell_word};

/// The command that goes on only if the claim still has no volume, as it may have got one since the diagnosis.
fn only_if_unbound(namespace: &str, claim: &str) -> String {
    let claim = shell_word(claim);
    format!("kubectl -n {namespace} get pvc {claim} -o jsonpath='{{.status.phase}}' | grep -qx Pending")
}

/// Deletes the claim and creates it again with this patch. The new manifest is kept in a file.
pub(super) fn with_patch(namespace: &str, claim: &str, patch: &Json) -> String {
    with_word(namespace, claim, &shell_word(&patch.to_string()))
}

/// The same with a volume that you fill in. A shell rejects the whole command until then, and not only a part of it.
pub(super) fn with_volume_to_fill_in(namespace: &str, claim: &str) -> String {
    let patch = r#"'{"spec":{"volumeName":"'"$VOLUME"'"}}'"#;
    format!("VOLUME=<VOLUME> && {}", with_word(namespace, claim, patch))
}

/// The command with the patch as a word of the shell.
fn with_word(namespace: &str, claim: &str, patch: &str) -> String {
    let (prefix, guard) = (format!("kubectl -n {namespace}"), format!("{} && ", only_if_unbound(namespace, claim)));
    recreation(&prefix, ["pvc", &shell_word(claim)], "", patch, &guard)
}

/// Replaces a StatefulSet with one whose volumeClaimTemplates have another class, without its pods, and deletes the claims,
/// which the StatefulSet then creates from the new template. If a claim were replaced alone, the controller might create the
/// old one again first. `old` is empty for the empty class.
pub(super) fn with_template(namespace: &str, set: &str, claims: &[&str], old: &str, new: &str) -> String {
    let old = if old.is_empty() { "\"\"".to_owned() } else { old.replace('.', "\\.") };
    let script = format!("s/storageClassName: {old}$/storageClassName: {new}/");
    let script = shell_word(&script);
    let replace = format!(
        "kubectl -n {namespace} get statefulset {set} -o yaml | sed {script} > {set}.yaml && \
         kubectl -n {namespace} replace --force --cascade=orphan -f {set}.yaml"
    );
    // Without --wait=false, kubectl waits for ever if it misses that the claim is gone before it is created again.
    let delete = claims.iter().map(|claim| {
        let (guard, name) = (only_if_unbound(namespace, claim), shell_word(claim));
        format!("{guard} && kubectl -n {namespace} delete pvc {name} --wait=false")
    });
    std::iter::once(replace).chain(delete).collect::<Vec<_>>().join(" && ")
}
