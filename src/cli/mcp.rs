//! `shindan mcp`: answers agents over the Model Context Protocol, on standard input and output, with the permissions of the
//! user.
//!
//! Data flows one way: `cluster` or `dump` (reads, with the engine of `kubectl shindan` and `shindan diagnose`) -> `overview`,
//! `explanation`, `cause`, `fixes` (pure: the answer of a tool) -> `server` (the protocol).

mod answer;
mod arguments;
mod cause;
mod cluster;
mod dump;
mod error;
mod explanation;
mod fixes;
mod healthy;
mod overview;
mod server;
mod tokens;

use std::io::IsTerminal;

use anyhow::{Context, bail};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

use self::cluster::Cluster;
use self::dump::Dumps;
use self::server::Server;
use super::cause_files::EngineArgs;
use super::dump::MaxInput;
use super::look::Connection;
use super::{Ending, Streams};

/// Answer an agent's questions about failures, as a Model Context Protocol server
///
/// An MCP client starts this process and talks to it over standard input and output. It opens no port, changes nothing, and has
/// your own permissions in the cluster. Errors and warnings go to standard error.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Answer for this namespace only, without the nodes [default: all that you have access to]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Diagnose locally with your own permissions, even if the operator is installed
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    max_input: MaxInput,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    if std::io::stdin().is_terminal() {
        writeln!(
            streams.err,
            "This is a Model Context Protocol server: let an MCP client start it. Press Ctrl-D to stop."
        )?;
    }
    let runtime = super::runtime()?;
    let ended = runtime.block_on(serve(args));
    // Do not wait for a file that is being read.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &Args) -> anyhow::Result<Ending> {
    let server = Server::new(Cluster::of(args), Dumps::of(args));
    let running = match server.serve(stdio()).await {
        Ok(running) => running,
        // The client has closed the connection, such as one that only checks whether the program starts.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Ending::Good),
        Err(error) => bail!("the client did not initialize the connection: {error}"),
    };
    running.waiting().await.context("the server stopped")?;
    Ok(Ending::Good)
}
