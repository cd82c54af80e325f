//! `shindan ui`: what is wrong, as a page in the browser of whoever asks, with his own rights.
//!
//! Data flows one way: `source` (the cluster, or files) -> `board` (the last answer) -> `view` (pure: what a page shows) ->
//! `pages` (HTTP), behind `guard`.

mod board;
mod guard;
mod pages;
mod source;
mod view;

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::net::TcpListener;

use self::board::Board;
use self::guard::Guard;
use self::source::Source;
use super::dump::DumpArgs;
use super::language::LanguageArgs;
use super::look::Connection;
use super::{Ending, Streams};
use crate::config::ThresholdArgs;
use crate::diagnosis::Thresholds;
use crate::facts::Timestamp;

/// Show what is wrong in a cluster or a dump as a page, to this machine only
///
/// The page is served on 127.0.0.1 by this process and with your own rights, for as long as it runs; in the cluster nothing is
/// exposed, and nothing is changed. The URL that is printed holds a token: whoever has it sees the page. No browser is started:
/// open the URL in yours. Ctrl-C ends it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show a dump in place of a cluster: a file, a folder, or - for standard input; may be repeated. Files are read again when
    /// they change
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", conflicts_with_all = ["Connection", "here"])]
    files: Vec<PathBuf>,
    /// The port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// This namespace only [default: all of them, and the nodes]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Diagnose here and now, with your own rights, though the operator is installed
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    dump: DumpArgs,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

impl Args {
    fn thresholds(&self) -> Thresholds {
        self.thresholds.thresholds().in_language(self.language.language())
    }
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let ended = runtime.block_on(serve(args, streams));
    // A file that is being read is not waited for.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let listener = listen(args.port).await?;
    let mut source = Source::of(args).await?;
    // What cannot be read at all is said here and now, and not on a page.
    let first = source.look().await?;
    let guard = Guard::new(listener.local_addr().context("the port cannot be told")?.port());
    for note in &first.notes {
        writeln!(streams.err, "warning: {note}")?;
    }
    writeln!(streams.out, "{}", guard.url())?;
    streams.out.flush()?;
    writeln!(streams.err, "Open this URL in a browser on this machine. Ctrl-C ends it.")?;

    let board = Arc::new(Board::new(source.place(), source.is_live(), args.language.language(), first));
    let router = pages::router(Arc::clone(&board), Arc::new(guard));
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served.context("the page is not served any more")?,
        () = board::keep(&board, &mut source) => {}
        stopped = tokio::signal::ctrl_c() => stopped.context("cannot wait for an interruption")?,
    }
    Ok(Ending::Good)
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("port {port} is in use: give another with --port, or none, and a free one is taken")
        }
        io::ErrorKind::PermissionDenied => {
            anyhow!("not allowed to listen on port {port}: give one above 1023 with --port, or none")
        }
        _ => anyhow!(error).context(format!("cannot listen on 127.0.0.1:{port}")),
    })
}

/// The time of day, once for each answer.
#[allow(clippy::disallowed_methods, reason = "from here on `now` is passed")]
fn clock() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
