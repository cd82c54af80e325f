//! Serves the pages over HTTP. Each request renders the page, and Server-Sent Events notify it of a new version.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures::stream::{self, Stream};
use shindan_core::facts::Timestamp;
use shindan_core::language::translate;

use super::board::{self, Board};
use super::clock;
use super::guard::{self, Guard};
use super::view::filter::Filter;
use super::view::link::Subject;
use super::view::words::{When, clean};
use super::view::{Frame, Seen, Trouble, diagnosis, overview};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const ICON: &str = include_str!("assets/icon.svg");

/// Delay before a page reconnects.
const RETRY: Duration = Duration::from_secs(2);

type Shared = State<Arc<Board>>;

pub(super) fn router(board: Arc<Board>, guard: Arc<Guard>) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/pod", get(diagnosis))
        .route("/workload", get(diagnosis))
        .route("/node", get(diagnosis))
        .route("/events", get(events))
        .route("/page.css", get(async || ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)))
        .route("/page.js", get(async || ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)))
        .route("/icon.svg", get(async || ([(header::CONTENT_TYPE, "image/svg+xml")], ICON)))
        .fallback(async || (StatusCode::NOT_FOUND, "This page does not exist.\n"))
        .with_state(board)
        .layer(from_fn_with_state(guard, guard::watch))
}

async fn overview(State(board): Shared, uri: Uri) -> Response {
    let state = board.fresh().await;
    let (frame, now) = around(&board, &state);
    let filter = Filter::parse(uri.query().unwrap_or_default());
    page(
        StatusCode::OK,
        &overview::of(frame, Seen { found: &state.answer.found, now, language: board.language }, &filter),
    )
}

async fn diagnosis(State(board): Shared, uri: Uri) -> Response {
    let state = board.fresh().await;
    let (frame, now) = around(&board, &state);
    let Some(subject) = Subject::parse(uri.path(), uri.query().unwrap_or_default()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let shown = async |found| {
        let seen = Seen { found, now, language: board.language };
        let diagnosed = diagnosis::of(frame.clone(), seen, &subject)?;
        let head = diagnosis::active(seen, &subject);
        let dry_runs = match head {
            Some(head) => board.dry_runs(&subject, head).await,
            None => Vec::new(),
        };
        Some(diagnosed.with_dry_runs(&dry_runs))
    };
    if let Some(diagnosed) = shown(&state.answer.found).await {
        return page(StatusCode::OK, &diagnosed);
    }
    match board.look_at(&subject).await {
        Some(seen) => match shown(&seen.found).await {
            Some(diagnosed) => page(StatusCode::OK, &diagnosed),
            None => page(StatusCode::OK, &diagnosis::nothing(frame, &subject, &seen.unready)),
        },
        None => page(StatusCode::NOT_FOUND, &diagnosis::nothing(frame, &subject, &[])),
    }
}

fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("The page cannot be rendered: {error}\n")).into_response()
        }
    }
}

/// The frame of the page, and the current time. In a dump the time is fixed.
fn around(board: &Board, state: &board::State) -> (Frame, Timestamp) {
    let (answer, clock) = (&state.answer, clock());
    let now = if board.is_live { clock } else { answer.when };
    let language = board.language;
    let trouble = state.trouble.as_ref().map(|trouble| {
        let (since, shown) = (When::of(trouble.since, clock), When::of(state.answered_at, clock));
        Trouble {
            text: clean(&trouble.text),
            no_update: translate!(language, "No update for {age}.", "{age} の間、新しい応答がない。", age = since.age),
            shown_from: translate!(
                language,
                "The page shows data from {age} ago",
                "表示は {age} 前のもの",
                age = shown.age
            ),
            shown,
        }
    });
    let frame = Frame {
        language,
        title: String::new(),
        context: board.context().map(clean),
        place: clean(&board.place),
        by: answer.by.to_owned(),
        as_of: (!board.is_live).then(|| When::of(answer.when, clock)),
        notes: answer.notes.iter().map(|note| clean(note)).collect(),
        trouble,
        version: state.version,
    };
    (frame, now)
}

/// Stream of version numbers. A page with another version reloads itself.
async fn events(State(board): Shared) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let versions = stream::unfold((board.follow(), None), |(mut state, last)| async move {
        let version = state.wait_for(|state| Some(state.version) != last).await.ok()?.version;
        let event = Event::default().event("version").data(version.to_string()).retry(RETRY);
        Some((Ok(event), (state, Some(version))))
    });
    Sse::new(versions).keep_alive(KeepAlive::default())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt;
    use shindan_core::api::DiagnosisState;
    use shindan_core::language::Language;
    use tower::ServiceExt;

    use super::super::source::Answer;
    use super::super::view::sample;
    use super::*;
    use crate::cli::found::Found;
    use crate::cli::found::testing::failing_for_the_third_time;

    async fn ask(found: Found, uri: &str) -> (StatusCode, String) {
        ask_in(Language::English, found, uri).await
    }

    async fn ask_in(language: Language, found: Found, uri: &str) -> (StatusCode, String) {
        let answer = Answer { found, when: Timestamp::UNIX_EPOCH, by: "a test", notes: vec!["<i>note</i>".to_owned()] };
        let board = Arc::new(Board::new("<u>place</u>".to_owned(), false, language, answer));
        let guard = Arc::new(Guard::new(4711));
        let (host, rest) = guard
            .url()
            .trim_start_matches("http://")
            .split_once('/')
            .map(|(h, r)| (h.to_owned(), r.to_owned()))
            .unwrap();
        let token = rest.trim_start_matches("?token=").to_owned();
        let request = http::Request::get(uri).header("host", host).header("cookie", format!("shindan-4711={token}"));
        let response = router(board, guard).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// Text that a pod controls is displayed as text.
    #[tokio::test]
    async fn nothing_of_a_cluster_becomes_markup() {
        let name = form_urlencoded::byte_serialize(sample::HOSTILE.as_bytes()).collect::<String>();
        let pod = format!("/pod?namespace={name}&name={name}");
        for uri in ["/", "/?q=%3Cscript%3E&namespace=%22%3E%3Cscript%3E&cause=%3Cu%3E", &pod, "/node?name=%3Cscript%3E"]
        {
            let (_, text) = ask(sample::hostile(), uri).await;
            assert_eq!(text.matches("<script").count(), 1, "our own: {uri}\n{text}");
            for markup in ["<u>", "<i>", "<img onerror", "\u{1b}", "\u{202e}", "onerror=\""] {
                assert!(!text.contains(markup), "{uri}: {markup}\n{text}");
            }
            assert!(!text.contains(" style=") && !text.contains("javascript:"), "{uri}");
        }
        let (status, text) = ask(sample::hostile(), &pod).await;
        assert_eq!(status, StatusCode::OK, "it is found by its name");
        assert!(text.contains("&#60;script&#62;"), "and named: {text}");
    }

    #[tokio::test]
    async fn each_page_has_its_url() {
        let dump = || sample::found(&sample::image("web", "shop"));
        let (status, text) = ask(dump(), "/").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("ImageTagNotFound") && text.contains("/pod?namespace=shop&#38;name=web"), "{text}");
        let (status, text) = ask(dump(), "/pod?namespace=shop&name=web").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("What it means") && text.contains("data-copy"), "{text}");
        let (status, text) = ask(dump(), "/pod?namespace=shop&name=other").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.contains("No diagnosis of"), "{text}");
        for (uri, begins) in [("/page.css", "/*"), ("/page.js", "//"), ("/icon.svg", "<svg")] {
            let (status, text) = ask(dump(), uri).await;
            assert!(status == StatusCode::OK && text.starts_with(begins), "{uri}");
        }
        assert_eq!(ask(dump(), "/secret").await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn the_frame_is_in_the_language_of_the_user() {
        for (uri, english, japanese) in [
            ("/", ["Failing now", "By severity", "Pod in shop", "1 failing"], "失敗中"),
            ("/pod?namespace=shop&name=web", [">Copy<", "Breadcrumb", "Category ", "1 part could"], ">コピー<"),
            ("/node?name=n1", ["No diagnosis of", "as of", "Copied", "Not connected"], "伝えることはない"),
        ] {
            let dump = || sample::found(&sample::image("web", "shop"));
            let (_, ours) = ask(dump(), uri).await;
            let (_, theirs) = ask_in(Language::Japanese, dump(), uri).await;
            for words in english {
                assert!(ours.contains(words) && !theirs.contains(words), "{uri}: {words}\n{theirs}");
            }
            assert!(theirs.contains(japanese), "{uri}: {japanese}\n{theirs}");
        }
    }

    #[tokio::test]
    async fn ended_pods_of_a_node_are_collapsed() {
        let dump = include_str!("../../../tests/causes/NodePlegUnhealthy/containerd-frozen.yaml");
        let mut found = sample::found(dump);
        let active = found.pods.iter().find(|pod| pod.spec.node_name.is_some()).unwrap().clone();
        for (name, state) in [("web-gone", DiagnosisState::Gone), ("web-recovered", DiagnosisState::Recovered)] {
            let mut ended = active.clone();
            ended.key.name = name.into();
            ended.status.head.state = state;
            found.pods.push(ended);
        }
        let uri = format!("/node?name={}", active.spec.node_name.unwrap());
        let (_, page) = ask(found, &uri).await;
        let summary = "<details id=\"ended-pods\"><summary>Ended pods: 2 (1 Recovered, 1 Gone)</summary>";
        let (shown, collapsed) = page.split_once(summary).unwrap_or_else(|| panic!("{page}"));
        assert!(shown.contains(&*active.key.name) && !shown.contains("web-gone"), "{shown}");
        assert!(collapsed.contains("web-gone") && collapsed.contains("web-recovered"), "{collapsed}");
    }

    #[tokio::test]
    async fn what_only_reads_is_not_called_a_fix() {
        let dump = || sample::found(&sample::crash("web", "shop"));
        let uri = "/pod?namespace=shop&name=web";
        for (language, label, text) in [
            (Language::English, "Investigate", "Read the last lines that app wrote."),
            (Language::Japanese, "調査", "Read the last lines that app wrote."),
        ] {
            let (_, page) = ask_in(language, dump(), uri).await;
            assert!(page.contains(&format!("<span class=\"kind\">{label}</span>{text}")), "{page}");
        }
    }

    #[tokio::test]
    async fn page_of_a_workload_states_how_often_it_has_failed() {
        let uri = "/workload?namespace=shop&kind=Deployment&name=web";
        let (_, text) = ask(failing_for_the_third_time(), uri).await;
        let fact =
            "<dt>Recurrence</dt><dd>3rd time in 7 days; last time ended by a rollback to revision 4, after 12 min</dd>";
        assert!(text.contains(fact), "{text}");
        let (_, text) = ask_in(Language::Japanese, failing_for_the_third_time(), uri).await;
        assert!(text.contains("<dt>再発</dt><dd>7 日間で 3 回目。"), "{text}");
        let (_, overview) = ask(failing_for_the_third_time(), "/").await;
        assert!(overview.contains("<p class=\"of\">3rd time in 7 days; last time ended by a rollback"), "{overview}");
    }

    /// Objects that are no workloads follow these, with their severity, because it is not the title of their section.
    #[tokio::test]
    async fn objects_of_other_kinds_have_sections_of_their_own() {
        let failing = r#"---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: hello, namespace: shop, uid: k, creationTimestamp: "2026-11-21T08:00:00Z"}
status: {conditions: [{type: Ready, status: "False", reason: RevisionFailed, message: m, lastTransitionTime: "2026-11-21T08:00:00Z"}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: edge, namespace: shop, uid: i, creationTimestamp: "2026-11-21T08:00:00Z"}
spec: {ingressClassName: ngnix}
"#;
        let dump = format!("{}{failing}", sample::image("web", "shop"));
        let (_, text) = ask(sample::found(&dump), "/").await;
        let titles: Vec<_> =
            text.split("<h2 id=\"group-").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1)).collect();
        assert_eq!(titles, ["Critical", "Networking", "Other kinds"], "{text}");
        for part in
            ["Ingress in shop", "service.serving.knative.dev in shop", r#"<span class="badge warning">Warning<"#]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let uri = "/workload?group=serving.knative.dev&namespace=shop&kind=Service&name=hello";
        assert!(text.contains(&uri.replace('&', "&#38;")), "{text}");
        let (status, page) = ask(sample::found(&dump), uri).await;
        assert!(status == StatusCode::OK && page.contains("KnativeRevisionFailed"), "{page}");
        let (status, _) = ask(sample::found(&dump), "/workload?namespace=shop&kind=Service&name=hello").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "there is no Service of Kubernetes");
        let (_, text) = ask_in(Language::Japanese, sample::found(&dump), "/").await;
        assert!(text.contains("ネットワーク") && text.contains("その他の種類"), "{text}");
        let (_, text) = ask(sample::found(&sample::image("web", "shop")), "/").await;
        assert!(!text.contains("Networking") && !text.contains("Other kinds"), "nothing fails there: {text}");
    }

    #[tokio::test]
    async fn an_open_page_receives_its_version_at_once() {
        let answer = Answer { found: sample::found(""), when: Timestamp::UNIX_EPOCH, by: "a test", notes: Vec::new() };
        let board = Arc::new(Board::new(String::new(), true, Language::English, answer));
        let mut body = events(State(Arc::clone(&board))).await.into_response().into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let text = String::from_utf8(first.to_vec()).unwrap();
        assert!(text.contains("event: version\n") && text.contains("data: 1\n"), "{text}");
    }
}
