//! `shindan crd`: prints the CustomResourceDefinitions.

use std::io::Write;

use anyhow::Context;
use shindan_core::api::crds;

use super::Ending;

pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<Ending> {
    for (place, definition) in crds().iter().enumerate() {
        if place > 0 {
            writeln!(out, "---")?;
        }
        let text = serde_saphyr::to_string(definition).context("the definition cannot be written as YAML")?;
        out.write_all(text.as_bytes())?;
    }
    Ok(Ending::Good)
}
