//! Builds a Kubernetes Event from an announcement, within the limits of `events.k8s.io/v1`.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Resource;
use kube::core::ObjectMeta;
use shindan_core::api::REPORTER;
use shindan_core::reconcile::{Announcement, Reference};

/// Maximum bytes of `reason`, `action` and `reportingInstance`.
const WORD_MAX: usize = 128;
/// Maximum bytes of `note`.
const NOTE_MAX: usize = 1024;

pub(super) fn event(announcement: &Announcement, instance: &str) -> Event {
    let regarding = &announcement.regarding;
    let namespace = regarding.namespace();
    Event {
        metadata: ObjectMeta {
            name: Some(announcement.key.name.to_string()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(announcement.time)),
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(instance.to_owned()),
        action: Some(cut(announcement.action.as_str(), WORD_MAX).to_owned()),
        reason: Some(cut(&announcement.reason, WORD_MAX).to_owned()),
        type_: Some(if announcement.warning { "Warning" } else { "Normal" }.to_owned()),
        note: Some(cut(&announcement.note, NOTE_MAX).to_owned()),
        regarding: Some(reference(regarding)),
        related: announcement.related.as_ref().map(reference),
        ..Event::default()
    }
}

/// URL path and body of the POST.
pub(super) fn path_and_body(event: &Event) -> Result<(String, Vec<u8>), serde_json::Error> {
    Ok((Event::url_path(&(), event.metadata.namespace.as_deref()), serde_json::to_vec(event)?))
}

fn reference(reference: &Reference) -> ObjectReference {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // The kubelet sets the UID of a node reference to the node's name. `kubectl describe node` searches for the name
    // and for the UID.
    let node_uid = || (reference.kind == "Node").then(|| reference.key.name.to_string());
    ObjectReference {
        api_version: some(&reference.api_version),
        kind: some(&reference.kind),
        namespace: some(&reference.key.namespace),
        name: some(&reference.key.name),
        uid: reference.uid.clone().or_else(node_uid),
        ..ObjectReference::default()
    }
}

pub(super) fn reporting_instance(name: &str) -> String {
    cut(name, WORD_MAX).to_owned()
}

/// Truncates to at most `most` bytes, at a character boundary.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::{ObjectKey, Timestamp};
    use shindan_core::reconcile::Action;

    use super::*;

    fn about(namespace: &str, kind: &'static str, uid: Option<&str>) -> Announcement {
        Announcement {
            key: ObjectKey::new(namespace, "web.0123456789"),
            regarding: Reference {
                api_version: "v1".into(),
                kind: kind.into(),
                key: ObjectKey::new(namespace, "web"),
                uid: uid.map(str::to_owned),
            },
            related: None,
            warning: true,
            reason: "OOMKilled".to_owned(),
            action: Action::Diagnosed,
            note: "診断".repeat(400),
            time: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_note_is_truncated_at_a_character_boundary() {
        let event = event(&about("demo", "Pod", Some("u1")), "me");
        let note = event.note.unwrap();
        assert_eq!(note.len(), 1023);
        assert!(note.ends_with('診'));
        assert_eq!(event.metadata.namespace.as_deref(), Some("demo"));
        assert_eq!(event.regarding.unwrap().uid.as_deref(), Some("u1"));
    }

    #[test]
    fn a_node_event_matches_the_selector_of_kubectl_describe() {
        let event = event(&about("", "Node", None), "me");
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        let regarding = event.regarding.unwrap();
        assert_eq!((regarding.uid.as_deref(), regarding.namespace), (Some("web"), None));
    }
}
