//! `shindan crd`: the definition as it is installed.

use std::io::Write;

use anyhow::Context;

use super::Ending;

pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<Ending> {
    let text = serde_saphyr::to_string(&crate::api::crd()).context("the definition cannot be written as YAML")?;
    out.write_all(text.as_bytes())?;
    Ok(Ending::Good)
}
