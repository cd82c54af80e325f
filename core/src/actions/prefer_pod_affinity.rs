//! Prefers nodes with certain pods instead of requiring them.

use super::{Action, Undo, prefer_anti_affinity};

pub(super) const ACTION: Action = Action {
    name: "prefer-pod-affinity",
    doc: "Turns the required podAffinity of the template into a preferred one, so that pods also run where the pods that it \
          selects do not. If a term has namespaces or other fields than labelSelector and topologyKey, it opens the \
          template in an editor.",
    params: &[],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build: |ask| prefer_anti_affinity::prefer(ask, "podAffinity", &ask.subject.pod()?.pod.pod_affinity),
};
