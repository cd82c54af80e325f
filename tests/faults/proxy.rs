//! A TCP proxy between the operator and the API server that can inject faults. TLS passes through.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Duration;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Pass,
    /// Open, without traffic in either direction.
    Stalled,
    /// Limits the responses of the API server to this many bytes a second.
    Slow(usize),
    /// Reset.
    Cut,
}

#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    upstream: SocketAddr,
    lines: Arc<Lines>,
    accepting: Mutex<Option<AbortHandle>>,
}

#[derive(Debug)]
struct Lines {
    /// The state of new connections, and the number of connections that pass before.
    fresh: Mutex<(usize, Flow)>,
    open: Mutex<Vec<watch::Sender<Flow>>>,
}

impl Proxy {
    pub(crate) async fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lines = Arc::new(Lines { fresh: Mutex::new((0, Flow::Pass)), open: Mutex::default() });
        let proxy = Self { address, upstream, lines, accepting: Mutex::default() };
        proxy.accept(listener);
        proxy
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(&self, listener: TcpListener) {
        let (lines, upstream) = (self.lines.clone(), self.upstream);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (sender, flow) = watch::channel(lines.begin());
                let mut open = lines.open.lock().unwrap();
                open.retain(|line| !line.is_closed());
                open.push(sender);
                connections.spawn(connect(client, upstream, flow));
            }
        });
        *self.accepting.lock().unwrap() = Some(task.abort_handle());
    }

    /// Sets the state of all current and future connections.
    pub(crate) fn all(&self, flow: Flow) {
        self.fresh(flow);
        self.open(flow);
    }

    /// Sets the state of future connections.
    pub(crate) fn fresh(&self, flow: Flow) {
        self.fresh_after(0, flow);
    }

    /// Sets the state of future connections after this many that pass.
    pub(crate) fn fresh_after(&self, passing: usize, flow: Flow) {
        *self.lines.fresh.lock().unwrap() = (passing, flow);
    }

    /// Sets the state of the current connections.
    pub(crate) fn open(&self, flow: Flow) {
        let mut open = self.lines.open.lock().unwrap();
        open.retain(|line| !line.is_closed());
        for line in open.iter() {
            line.send_replace(flow);
        }
    }

    /// Resets all connections and accepts new ones. Watches have to be restarted.
    pub(crate) fn cut(&self) {
        self.open(Flow::Cut);
    }

    /// Stops listening: new connections are refused, current ones are reset.
    pub(crate) fn refuse(&self) {
        self.cut();
        if let Some(accepting) = self.accepting.lock().unwrap().take() {
            accepting.abort();
        }
    }

    /// Listens again after [`Self::refuse`].
    pub(crate) async fn listen(&self) {
        loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => return self.accept(listener),
                // The aborted task may still hold it.
                Err(error) if error.kind() == ErrorKind::AddrInUse => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Lines {
    fn begin(&self) -> Flow {
        let (passing, flow) = &mut *self.fresh.lock().unwrap();
        match passing.checked_sub(1) {
            Some(rest) => {
                *passing = rest;
                Flow::Pass
            }
            None => *flow,
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.get_mut().unwrap().take() {
            accepting.abort();
        }
    }
}

async fn connect(client: TcpStream, upstream: SocketAddr, mut flow: watch::Receiver<Flow>) {
    // A connection that starts stalled is not opened to the API server.
    if flow.wait_for(|flow| *flow != Flow::Stalled).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut requests = Pipe { from: from_client, to: to_server, flow: flow.clone(), throttled: false };
    let mut responses = Pipe { from: from_server, to: to_client, flow, throttled: true };
    tokio::select! {
        () = requests.run() => {}
        () = responses.run() => {}
    }
    if *requests.flow.borrow() == Flow::Cut {
        // Closing them then sends a reset, like a load balancer that has lost its connection table.
        for half in [&requests, &responses] {
            let _ = half.from.as_ref().set_zero_linger();
        }
    }
}

/// One direction.
struct Pipe {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    flow: watch::Receiver<Flow>,
    throttled: bool,
}

impl Pipe {
    async fn run(&mut self) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let rate = match *self.flow.borrow_and_update() {
                Flow::Cut => return,
                Flow::Stalled => None,
                Flow::Slow(rate) if self.throttled => Some(rate),
                Flow::Pass | Flow::Slow(_) => Some(usize::MAX),
            };
            let Some(rate) = rate else {
                if self.flow.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let most = (rate / 10).clamp(1, buffer.len());
            let read = tokio::select! {
                read = self.from.read(&mut buffer[..most]) => read,
                changed = self.flow.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            };
            let Ok(read @ 1..) = read else { return };
            tokio::select! {
                written = self.to.write_all(&buffer[..read]) => if written.is_err() { return },
                () = is_cut(&mut self.flow) => return,
            }
            if rate < usize::MAX {
                tokio::time::sleep(Duration::from_secs(1) / 10).await;
            }
        }
    }
}

async fn is_cut(flow: &mut watch::Receiver<Flow>) {
    let _ = flow.wait_for(|flow| *flow == Flow::Cut).await;
}
