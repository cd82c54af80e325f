//! The command line.
//!
//! Commands write to a given `io::Write`, so that tests can check the output and a closed pipe (`| head`) ends a
//! command without an error.

mod bug_report;
mod cause_files;
mod causes;
mod complete;
mod completions;
mod crd;
mod diagnose;
mod dump;
mod explain;
mod fix;
mod found;
mod input;
mod language;
mod look;
mod man;
mod markdown;
mod mcp;
mod print;
mod reading;
mod rules;
mod run;
mod sentences;
mod tree;
mod ui;
mod variables;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::{RunArgs, file};

/// Finds out why Kubernetes pods, workloads and nodes fail.
#[derive(Debug, Parser)]
#[command(name = "shindan", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the operator: watch pods, workloads and nodes, write diagnoses and Events
    Run(Box<RunArgs>),
    /// Diagnose the pods, workloads and nodes of a dump (kubectl get all,nodes,events -A -o yaml), without a cluster
    Diagnose(Box<diagnose::Args>),
    /// Show the failures in a cluster, like `kubectl shindan`
    Look(Box<look::Args>),
    Ui(Box<ui::Args>),
    Mcp(Box<mcp::Args>),
    /// Write the objects of a namespace or of a workload for a bug report, without secrets, like `kubectl shindan dump`
    Dump(Box<bug_report::Args>),
    /// Apply a remedy to a failing object, and wait until it has recovered, like `kubectl shindan fix`
    Fix(Box<fix::Args>),
    /// Explain a cause: its meaning, how to distinguish it, and what to do
    Explain(explain::Args),
    /// List all causes
    Causes(causes::Args),
    /// List, check, test and explain the causes of the catalogue
    Rules(rules::Args),
    /// Print the CustomResourceDefinitions, to be applied to a cluster
    Crd,
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man,
    /// Completion for kubectl, called by the name of the binary
    #[command(skip)]
    Complete(Vec<String>),
}

/// The same binary under the name by which kubectl finds a plugin.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-shindan",
    bin_name = "kubectl shindan",
    about = "Shows the failures in a cluster, and what to do",
    version,
    args_conflicts_with_subcommands = true
)]
struct Plugin {
    #[command(flatten)]
    look: look::Args,
    #[command(subcommand)]
    command: Option<PluginCommand>,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Diagnose a dump (kubectl get all,nodes,events -A -o yaml), without a cluster
    Diagnose(Box<diagnose::Args>),
    Ui(Box<ui::Args>),
    Mcp(Box<mcp::Args>),
    /// Write the objects of a namespace or of a workload for a bug report, without secrets
    Dump(Box<bug_report::Args>),
    /// Apply a remedy to a failing object, and wait until it has recovered
    Fix(Box<fix::Args>),
    /// Explain a cause: its meaning, how to distinguish it, and what to do
    Explain(explain::Args),
    /// List all causes
    Causes(causes::Args),
}

/// Parses the arguments, by the name of the binary.
fn command() -> Result<Command, clap::Error> {
    let name = std::env::args_os().next().unwrap_or_default();
    let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    if stem == "kubectl_complete-shindan" {
        return Ok(Command::Complete(std::env::args().skip(1).collect()));
    }
    // Krew replaces dashes in the name of a plugin by underscores.
    if stem != "kubectl-shindan" && stem != "kubectl_shindan" {
        return cli(std::env::args_os().collect());
    }
    let Plugin { look, command } = Plugin::try_parse()?;
    Ok(match command {
        None => Command::Look(Box::new(look)),
        Some(PluginCommand::Diagnose(args)) => Command::Diagnose(args),
        Some(PluginCommand::Ui(args)) => Command::Ui(args),
        Some(PluginCommand::Mcp(args)) => Command::Mcp(args),
        Some(PluginCommand::Dump(args)) => Command::Dump(args),
        Some(PluginCommand::Fix(args)) => Command::Fix(args),
        Some(PluginCommand::Explain(args)) => Command::Explain(args),
        Some(PluginCommand::Causes(args)) => Command::Causes(args),
    })
}

/// Parses the arguments again with those of the configuration file, which have lower precedence than flags and
/// variables.
fn cli(mut args: Vec<OsString>) -> Result<Command, clap::Error> {
    let mut command = Cli::command();
    let given = command.try_get_matches_from_mut(&args).map_err(|error| variables::with_its_variable(error, &args))?;
    let mut settings = Vec::new();
    let mut taken = given.clone();
    if let Some(("run", given)) = given.subcommand() {
        let below = file::arguments(given).map_err(|why| clap::Error::raw(ErrorKind::ValueValidation, why + "\n"))?;
        // The command is the first argument: no flag comes before it.
        args.splice(2..2, below);
        taken = command.try_get_matches_from_mut(&args)?;
        settings = taken.subcommand_matches("run").map(|taken| file::settings(given, taken)).unwrap_or_default();
    }
    let mut command = Cli::from_arg_matches(&taken).map_err(|e| e.format(&mut command))?.command;
    if let Command::Run(args) = &mut command {
        args.settings = settings;
    }
    Ok(command)
}

/// How a command ended, if it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Good,
    /// The output is incomplete, and standard error has the reason.
    Partly,
    /// Pods fail, and `--exit-code` was given.
    PodsFail,
    /// A named object shows a failure that is not reported yet, and `--exit-code` was given.
    FailsSoFar,
}

/// Standard output and standard error, or their replacements in tests.
struct Streams<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
}

/// Runs the program. Exit codes: 0 success, 1 error, 2 failing pods and 3 a failure that is not reported yet with `--exit-code`.
pub fn main() -> ExitCode {
    let command = match command() {
        Ok(command) => command,
        Err(e) => {
            // clap would exit with 2 for an invalid flag, but 2 means failing pods.
            let _ = e.print();
            return if e.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    // Not locked: the MCP server writes to standard output from another thread.
    let mut out = io::BufWriter::new(io::stdout());
    let mut err = io::stderr();
    let mut streams = Streams { out: &mut out, err: &mut err };
    // The operator logs these warnings instead.
    if !matches!(command, Command::Run(_) | Command::Complete(_)) {
        for note in variables::misspelt() {
            let _ = writeln!(streams.err, "warning: {note}");
        }
    }
    let result = dispatch(command, &mut streams).and_then(|ending| {
        streams.out.flush()?;
        Ok(ending)
    });
    match result {
        Ok(Ending::Good) => ExitCode::SUCCESS,
        Ok(Ending::Partly) => ExitCode::FAILURE,
        Ok(Ending::PodsFail) => ExitCode::from(2),
        Ok(Ending::FailsSoFar) => ExitCode::from(3),
        Err(e) if is_closed_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(streams.err, "error: {}", error_chain(&e));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    match command {
        Command::Run(args) => run::run(*args),
        Command::Diagnose(args) => diagnose::run(&args, streams),
        Command::Look(args) => look::run(&args, streams),
        Command::Ui(args) => ui::run(&args, streams),
        Command::Mcp(args) => mcp::run(&args, streams),
        Command::Dump(args) => bug_report::run(&args, streams),
        Command::Fix(args) => fix::run(&args, streams),
        Command::Explain(args) => explain::run(&args, streams.out),
        Command::Causes(args) => causes::run(&args, streams.out),
        Command::Rules(args) => rules::run(&args, streams),
        Command::Crd => crd::run(streams.out),
        Command::Completions(args) => completions::run(&args, Cli::command(), streams.out),
        Command::Man => man::run(Cli::command(), streams.out),
        Command::Complete(words) => complete::run(&words, &Plugin::command(), streams.out),
    }
}

/// The runtime of a command that asks a cluster.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")
}

/// The error and its causes in one line. A cause that the text already contains is skipped.
fn error_chain(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |line, cause| {
        let words = cause.to_string();
        match line.as_str() {
            "" => words,
            before if before.contains(&words) => line,
            before => format!("{before}: {words}"),
        }
    })
}

/// Whether the reader of our output closed the pipe.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        let kind = e.downcast_ref::<io::Error>().map(io::Error::kind);
        let kind = kind.or_else(|| e.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind));
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clap_definition_is_valid() {
        Cli::command().debug_assert();
        Plugin::command().debug_assert();
    }
}
