//! `shindan run`: the operator.

use anyhow::bail;

use super::Ending;
use crate::config::RunArgs;

pub(super) fn run(args: RunArgs) -> anyhow::Result<Ending> {
    let _ = args;
    bail!("this build holds no operator yet; `shindan diagnose` works on dumps")
}
