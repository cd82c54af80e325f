//! `shindan completions`: completion scripts for shells.

use std::io::Write;

use clap_complete::Shell;

use super::Ending;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args, mut command: clap::Command, out: &mut dyn Write) -> anyhow::Result<Ending> {
    // The generator panics on a write error, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "shindan", &mut script);
    out.write_all(&script)?;
    Ok(Ending::Good)
}
