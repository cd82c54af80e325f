//! `shindan rules`: list, check, test and explain the causes of the catalogue.

mod check;
mod list;
mod rbac;
mod test;

use super::{Ending, Streams, explain};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the causes of the catalogue, with the signal that each reads
    List(list::Args),
    /// Report every error of cause files: FILE:LINE:COLUMN, and a suggestion. Exits with 1 if there are errors
    Check(check::Args),
    /// Diagnose fixtures and compare the results with the causes that their heads expect. Exits with 1 if they differ
    Test(test::Args),
    /// Print the ClusterRole and its binding that let the operator diagnose custom resources (`shindan run --kinds`, rules)
    Rbac(rbac::Args),
    /// Explain a cause: what it means, how it differs from similar causes, and what to do
    Explain(explain::Args),
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    match &args.command {
        Command::List(args) => list::run(args, streams.out),
        Command::Check(args) => check::run(args, streams.out),
        Command::Test(args) => test::run(args, streams),
        Command::Rbac(args) => rbac::run(args, streams.out),
        Command::Explain(args) => explain::run(args, streams.out),
    }
}

/// `1 error`, `2 errors`, `no errors`.
fn counted(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {}", plural(what)),
        1 => format!("1 {what}"),
        number => format!("{number} {}", plural(what)),
    }
}

fn plural(what: &str) -> String {
    if what.ends_with("ss") { format!("{what}es") } else { format!("{what}s") }
}
