//! Changes the scheme of an HTTP probe.

use serde_json::json;

use super::{Action, Ask, Undo};
use crate::case::Remedy;
use crate::facts::ProbeHandler;

pub(super) const ACTION: Action = Action {
    name: "set-probe-scheme",
    doc: "Sets httpGet.scheme of a probe to HTTP or HTTPS. Offered if it has the other.",
    params: &["probe", "scheme"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (container, kind, probe) = ask.probe()?;
    let new = ask.with("scheme")?;
    if matches!(&probe.handler, ProbeHandler::Http { scheme, .. } if scheme.eq_ignore_ascii_case(new)) {
        return None;
    }
    let fields = json!({kind.field(): {"httpGet": {"scheme": new}}});
    Some(ask.target.as_ref()?.with_container_patch(ask.remedy(), Some(container), fields))
}
