//! Serves HTTP to a limited number of connections. When all are taken, a new client gets the place of the connection that
//! has been idle for longest, so clients that send half a request, or none, do not keep others away.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// How long to wait after the system refused a connection, for example because too many files are open.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Most connections at once.
    pub(crate) connections: usize,
    /// How long a client may take to send the header of a request. Also closes idle connections.
    pub(crate) header: Duration,
}

/// The connections in the order in which they are closed for others: idle ones before those with a request in progress,
/// and within both the oldest first.
#[derive(Debug, Default)]
struct Places {
    taken: BTreeMap<(bool, u64), Arc<Notify>>,
    next: u64,
}

/// The place of a connection, until it is dropped.
struct Place {
    places: Arc<Mutex<Places>>,
    close: Arc<Notify>,
    at: Mutex<(bool, u64)>,
}

impl Place {
    fn of(places: &Arc<Mutex<Places>>) -> Arc<Self> {
        let place = Self { places: places.clone(), close: Arc::default(), at: Mutex::default() };
        place.set(false);
        Arc::new(place)
    }

    /// Moves the connection behind those that are as busy.
    fn set(&self, is_busy: bool) {
        let (mut places, mut at) = (lock(&self.places), lock(&self.at));
        places.taken.remove(&*at);
        places.next += 1;
        *at = (is_busy, places.next);
        places.taken.insert(*at, self.close.clone());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places).taken.remove(&*lock(&self.at));
    }
}

/// A request in progress, until the body of its response is sent.
struct Busy(Arc<Place>);

impl Busy {
    fn begin(place: &Arc<Place>) -> Self {
        place.set(true);
        Self(place.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves until `stop` resolves, then completes the requests in progress.
pub(crate) async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: impl Future<Output = ()>) {
    let (stopping, stopped) = watch::channel(());
    let places = Arc::<Mutex<Places>>::default();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            () = &mut stop => break,
        };
        while connections.try_join_next().is_some() {}
        if connections.len() >= limits.connections {
            let longest = lock(&places).taken.pop_first();
            longest.iter().for_each(|(_, close)| close.notify_one());
        }
        let place = Place::of(&places);
        connections.spawn(exchange(stream, place, router.clone(), limits.header, stopped.clone()));
    }
    drop((listener, stopping));
    while connections.join_next().await.is_some() {}
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            // The client has gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(REFUSED_PAUSE).await,
        }
    }
}

/// Serves one connection until it ends, is closed for another, or the server stops.
async fn exchange(
    stream: TcpStream,
    place: Arc<Place>,
    router: Router,
    header: Duration,
    mut stopped: watch::Receiver<()>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (router, busy) = (router.clone(), Busy::begin(&place));
        async move {
            let response = router.oneshot(request.map(Body::new)).await?;
            Ok::<Response, Infallible>(response.map(|body| until_sent(body, busy)))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // An error of a connection concerns its client only.
        _ = connection.as_mut() => {}
        () = place.close.notified() => {}
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A body that keeps `busy` until it is sent.
fn until_sent(body: Body, busy: Busy) -> Body {
    Body::new(body.map_err(move |error| {
        let _ = &busy;
        error
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::JoinHandle;

    const LIMITS: Limits = Limits { connections: 20, header: Duration::from_secs(10) };

    /// A server of `/` and of `/held`, which is answered once it is released.
    struct Server {
        address: SocketAddr,
        begun: mpsc::UnboundedReceiver<()>,
        release: watch::Sender<bool>,
        stop: oneshot::Sender<()>,
        task: JoinHandle<()>,
    }

    impl Server {
        async fn start(limits: Limits) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (release, released) = watch::channel(false);
            let (began, begun) = mpsc::unbounded_channel();
            let held = move || {
                let (began, mut released) = (began.clone(), released.clone());
                async move {
                    began.send(()).unwrap();
                    released.wait_for(|released| *released).await.unwrap();
                    "held"
                }
            };
            let router = Router::new().route("/", get(async || "a page")).route("/held", get(held));
            let (stop, stopped) = oneshot::channel();
            let stopped = async {
                let _ = stopped.await;
            };
            let task = tokio::spawn(serve(listener, router, limits, stopped));
            Self { address, begun, release, stop, task }
        }

        async fn send(&self, request: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream
        }

        async fn half_sent(&self) -> TcpStream {
            self.send("GET / HTTP/1.1\r\nHost: ").await
        }

        async fn page(&self) -> String {
            rest(self.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await).await
        }

        /// A request in progress.
        async fn held(&mut self) -> TcpStream {
            let stream = self.send("GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
            self.begun.recv().await.unwrap();
            stream
        }
    }

    /// What the server sends until it closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // A reset closes the connection as well.
        let _ = stream.read_to_end(&mut text).await;
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn the_page_answers_among_many_half_sent_requests_which_are_closed() {
        let server = Server::start(Limits { header: Duration::from_secs(3600), ..LIMITS }).await;
        let mut half = Vec::new();
        for n in 0..200 {
            half.push(server.half_sent().await);
            if n % 40 == 0 {
                assert!(server.page().await.ends_with("a page"));
            }
        }
        assert!(server.page().await.ends_with("a page"));
        // The newest ones have a place until other clients need it.
        half.truncate(200 - LIMITS.connections);
        for stream in half {
            assert_eq!(rest(stream).await, "");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_sent_request_is_closed_after_the_timeout_of_its_header() {
        let server = Server::start(LIMITS).await;
        let began = tokio::time::Instant::now();
        assert_eq!(rest(server.half_sent().await).await, "");
        assert_eq!(began.elapsed().as_secs(), LIMITS.header.as_secs());
    }

    #[tokio::test]
    async fn an_idle_connection_is_closed_before_one_with_a_request_in_progress() {
        let mut server = Server::start(Limits { connections: 3, ..LIMITS }).await;
        let held = server.held().await;
        let mut idle = server.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut answer = Vec::new();
        while !answer.ends_with(b"a page") {
            idle.read_buf(&mut answer).await.unwrap();
        }
        let silent = server.half_sent().await;
        assert!(server.page().await.ends_with("a page"));
        assert_eq!(rest(idle).await, "", "idle for longest");
        server.release.send(true).unwrap();
        assert!(rest(held).await.ends_with("held"), "older, but not idle");
        drop(silent);
    }

    #[tokio::test]
    async fn requests_in_progress_are_completed_after_the_stop() {
        let mut server = Server::start(LIMITS).await;
        let held = server.held().await;
        server.stop.send(()).unwrap();
        server.release.send(true).unwrap();
        assert!(rest(held).await.ends_with("held"));
        server.task.await.unwrap();
    }
}
