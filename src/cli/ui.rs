//! `shindan ui`: serves diagnoses as a local web page, with the permissions of the user.
//!
//! Data flows one way: `source` (the cluster, or files) -> `board` (the last answer) -> `view` (pure: what a page shows) ->
//! `pages` (HTTP), behind `guard`.

mod board;
mod browser;
mod guard;
mod pages;
mod source;
mod view;

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use shindan_core::case::Thresholds;
use shindan_core::facts::{CustomKind, Timestamp};
use tokio::net::TcpListener;

use self::board::Board;
use self::guard::Guard;
use self::source::Source;
use super::cause_files::EngineArgs;
use super::dump::DumpArgs;
use super::language::LanguageArgs;
use super::look::Connection;
use super::{Ending, Streams};
use crate::http::connections::{self, Limits};

/// Each open page keeps a connection for its updates, and a browser uses up to six in all.
const LIMITS: Limits = Limits { connections: 64, header: Duration::from_secs(10) };

/// Show the failures in a cluster or a dump as a local web page
///
/// This process serves the page on 127.0.0.1 with your own permissions while it runs. It exposes and changes nothing in the
/// cluster. The printed URL contains a token: everyone who has it can see the page. Open the URL yourself, or use --open. Press
/// Ctrl-C to stop.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show a dump instead of a cluster: a file, a folder, or - for standard input; may be repeated. Files are read again after
    /// a change
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", conflicts_with_all = ["Connection", "here"])]
    files: Vec<PathBuf>,
    /// Open the page in your browser
    #[arg(long)]
    open: bool,
    /// The port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// This namespace only [default: all of them, and the nodes]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Diagnose locally with your own permissions, even if the operator is installed
    #[arg(long)]
    here: bool,
    /// Also show these custom resources, by plural and group: certificates.cert-manager.io; may be repeated or separated by
    /// commas [default: those that the operator reports]
    #[arg(long, visible_alias = "kind", value_name = "PLURAL.GROUP", value_delimiter = ',', value_parser = CustomKind::parse, conflicts_with = "files")]
    kinds: Vec<CustomKind>,
    #[command(flatten)]
    dump: DumpArgs,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

impl Args {
    fn thresholds(&self) -> Thresholds {
        self.engine.thresholds().in_language(self.language.language())
    }
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    let runtime = super::runtime()?;
    let ended = runtime.block_on(serve(args, streams));
    // Do not wait for a file that is being read.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let listener = listen(args.port).await?;
    let mut source = Source::of(args).await?;
    // An error of the first read ends the command instead of appearing on the page.
    let first = source.look().await?;
    let guard = Guard::new(listener.local_addr().context("the port is unknown")?.port());
    for note in &first.notes {
        writeln!(streams.err, "warning: {note}")?;
    }
    writeln!(streams.out, "{}", guard.url())?;
    streams.out.flush()?;
    let opened = args.open.then(|| guard.url_for_once());
    let what = if args.open { "Opening it in your browser." } else { "Open this URL in a browser on this machine." };
    writeln!(streams.err, "{what} Press Ctrl-C to stop.")?;

    let board = Board::new(source.place(), source.is_live(), args.language.language(), first);
    let board = Arc::new(board.with_cluster(source.cluster()));
    let router = pages::router(Arc::clone(&board), Arc::new(guard));
    tokio::select! {
        () = connections::serve(listener, router, LIMITS, std::future::pending()) => {}
        () = board::keep(&board, &mut source) => {}
        failed = browser::open(opened, streams.err) => {
            failed.context("cannot write to standard error")?;
        }
        stopped = tokio::signal::ctrl_c() => stopped.context("cannot wait for an interruption")?,
    }
    Ok(Ending::Good)
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("port {port} is in use: set another with --port, or omit --port to use a free one")
        }
        io::ErrorKind::PermissionDenied => {
            anyhow!("not allowed to listen on port {port}: set one above 1023 with --port, or omit --port")
        }
        _ => anyhow!(error).context(format!("cannot listen on 127.0.0.1:{port}")),
    })
}

/// The wall clock, read once for each answer.
#[allow(clippy::disallowed_methods, reason = "from here on `now` is passed")]
fn clock() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
