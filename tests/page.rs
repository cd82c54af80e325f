//! The page of `shindan ui`, in a real browser. With chromium on the PATH: `cargo test --features page --test page`; `make
//! check` installs it. `UPDATE=1` writes the pictures of README.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "page/browser.rs"]
mod browser;
#[path = "page/server.rs"]
mod server;

use std::fs;
use std::path::Path;

use browser::Browser;
use serde_json::json;
use server::Server;

const CLUSTER: &str = "examples/broken-cluster.yaml";
/// The names of the rows that are shown.
const ROWS: &str = "[...document.querySelectorAll('.row .to')].map((to) => to.textContent).join(' ')";

fn dump(path: &str) -> Server {
    Server::start(&["-f", path])
}

/// A pod whose image has no such tag.
fn failing(name: &str, image: &str) -> String {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2026-11-21T09:00:00Z"},
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": image}]},
        "status": {"phase": "Pending", "startTime": "2026-11-21T09:00:00Z",
            "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": "2026-11-21T09:00:00Z"}],
            "containerStatuses": [{"name": "web", "image": image, "restartCount": 0,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": format!("Back-off pulling image \"{image}\": ErrImagePull: {image}: not found")}}}]},
    });
    format!("---\n{pod}\n")
}

fn fits(browser: &mut Browser, what: &str) {
    let [wide, room] =
        ["document.documentElement.scrollWidth", "window.innerWidth"].map(|e| browser.eval(e).as_u64().unwrap());
    assert!(wide <= room, "{what} needs {wide} of {room}");
}

#[test]
fn all_failures_are_visible_in_any_window_size_and_colour_scheme() {
    let server = dump(CLUSTER);
    let mut browser = Browser::start();
    browser.open(&server.url);
    assert_eq!(browser.text("location.href"), server.page("/"), "the token stands nowhere any more");
    assert_eq!(browser.eval("document.querySelectorAll('.row').length"), 9);
    assert_eq!(browser.text("document.querySelector('.count.critical .number').textContent"), "8");
    assert_eq!(browser.text("document.title"), "9 failing · Shindan");

    let pages = [
        "/",
        "/workload?namespace=demo&kind=Deployment&name=multi",
        "/pod?namespace=demo&name=multi-589d96bc47-j5tqb",
        "/workload?namespace=demo&kind=Deployment&name=rollout",
        "/pod?namespace=demo&name=none",
    ];
    for page in pages {
        browser.open(&server.page(page));
        for (width, height) in [(1280, 900), (768, 900), (375, 700)] {
            browser.window(width, height, "light");
            fits(&mut browser, &format!("{page} at {width}"));
        }
    }
    let colours = |browser: &mut Browser, scheme: &str| {
        browser.window(1280, 900, scheme);
        ["backgroundColor", "color"].map(|of| browser.text(&format!("getComputedStyle(document.documentElement).{of}")))
    };
    let [light, dark] = ["light", "dark"].map(|scheme| colours(&mut browser, scheme));
    assert!(light[0] != dark[0] && light[1] != dark[1], "{light:?} {dark:?}");
    // The browser reports the one missing page.
    let complaints: Vec<_> =
        browser.complaints().into_iter().filter(|complaint| !complaint.contains("name=none")).collect();
    assert_eq!(complaints, [""; 0]);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn filters_are_links_and_apply_while_typing() {
    let server = dump(CLUSTER);
    let mut browser = Browser::start();
    browser.open(&server.url);
    browser.eval("window.same = true");
    browser.keys(&["/", "o", "o", "m"]);
    browser.until("document.querySelectorAll('.row').length === 1 && location.search === '?q=oom'");
    assert_eq!(browser.text(ROWS), "oom");
    assert_eq!(browser.text("document.activeElement.id"), "q", "the field keeps the focus");
    assert_eq!(browser.eval("window.same"), true, "without a reload");
    browser.call("Page.reload", &json!({}));
    browser.until("window.same === undefined && document.readyState === 'complete'");
    assert_eq!(browser.text(ROWS), "oom", "a link to it shows the same");

    browser.eval("document.querySelector('.clear').click()");
    browser.until("document.querySelectorAll('.row').length === 9");
    browser.eval("document.querySelector('.count.warning').click()");
    browser.until("document.querySelectorAll('.row').length === 1");
    assert_eq!(browser.text(ROWS), "rollout");
    browser.eval("history.back()");
    browser.until("document.querySelectorAll('.row').length === 9");
    browser.eval(
        "{ const cause = document.getElementById('cause'); cause.value = 'LivenessProbeFailed';
           cause.dispatchEvent(new Event('change', { bubbles: true })); }",
    );
    browser.until("document.querySelectorAll('.row').length === 2 && location.search === '?cause=LivenessProbeFailed'");
    assert_eq!(browser.complaints(), [""; 0]);

    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&server.page("/?q=oom&namespace=demo&cause=&severity=&state="));
    assert_eq!(browser.text(ROWS), "oom", "and without a script");
    browser.open(&server.page("/?state=ended"));
    assert_eq!(browser.text("document.getElementById('nothing').textContent"), "Nothing of this kind fails.");
}

#[test]
fn a_diagnosis_is_opened_by_keys_and_its_command_copied() {
    let server = dump(CLUSTER);
    let mut browser = Browser::start();
    browser.open(&server.url);
    browser.until("document.documentElement.classList.contains('script')");
    browser.keys(&["j", "j", "k"]);
    let first = browser.text("document.activeElement.textContent");
    assert_eq!(first, browser.text("document.querySelector('.row .to').textContent"));
    browser.keys(&["Enter"]);
    browser.until("location.pathname !== '/' && document.readyState === 'complete'");
    assert!(browser.text("document.querySelector('.subject').textContent").contains(&first));

    browser.open(&server.page("/workload?namespace=demo&kind=Deployment&name=multi"));
    for (heading, what) in [
        ("What it means", "LivenessProbeFailed"),
        ("What to do", "startupProbe"),
        ("Restarts", "6 restarts"),
        ("Affected", "Service multi has no ready endpoints."),
        ("Pods", "multi-589d96bc47-j5tqb"),
        ("Evidence", "status.conditions[Available]"),
    ] {
        let text = browser.text("document.getElementById('main').textContent");
        assert!(text.contains(heading) && text.contains(what), "{heading}: {what}");
    }
    let drawn = browser.eval("document.querySelectorAll('.chart .lane .run rect').length");
    assert!(drawn.as_u64() > Some(0), "{drawn}");
    browser
        .call("Browser.grantPermissions", &json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}));
    let command = browser.text("document.getElementById('command-1').textContent");
    assert!(command.starts_with("kubectl -n demo patch deployment multi -p '{"), "{command}");
    browser.eval("document.querySelector('[data-copy=command-1]').click()");
    browser.until("document.querySelector('[data-copy=command-1]').textContent === 'Copied'");
    assert_eq!(browser.text("navigator.clipboard.readText()"), command);

    browser.eval("document.querySelector('.row .to').click()");
    browser.until("location.pathname === '/pod' && document.readyState === 'complete'");
    assert!(browser.text("document.getElementById('main').textContent").contains("Other findings"));
    browser
        .eval("[...document.querySelectorAll('.facts a')].find((a) => a.textContent.includes('Deployment')).click()");
    browser.until("location.pathname === '/workload' && document.readyState === 'complete'");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_node_has_its_readiness_and_its_impact() {
    let server = dump("tests/causes/NodePlegUnhealthy/containerd-frozen.yaml");
    let mut browser = Browser::start();
    browser.open(&server.url);
    browser.eval("[...document.querySelectorAll('.row .to')].find((a) => a.pathname === '/node').click()");
    browser.until("location.pathname === '/node' && document.readyState === 'complete'");
    let text = browser.text("document.getElementById('main').textContent");
    for part in ["Ready over time", "Not ready", "PLEG is not healthy", "Deployment web", "2 pods"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.window(375, 700, "light");
    fits(&mut browser, "a node");
    browser.eval("document.querySelector('.row .to').click()");
    browser.until("location.pathname === '/pod' && document.readyState === 'complete'");
    browser.eval("document.querySelector('.facts a[href^=\"/node\"]').click()");
    browser.until("location.pathname === '/node'");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn objects_of_other_kinds_have_sections_and_pages() {
    let files = [
        "tests/causes/ImageTagNotFound/crio.yaml",
        "tests/causes/IngressBackendMissing/misspelt.yaml",
        "tests/causes/KnativeRevisionFailed/no-image.yaml",
    ];
    let args: Vec<&str> = files.into_iter().flat_map(|file| ["-f", file]).collect();
    let server = Server::start(&[&args[..], &["--at", "2026-11-28T10:00:00Z"]].concat());
    let mut browser = Browser::start();
    browser.open(&server.url);
    let titles = browser.text("[...document.querySelectorAll('.group > h2')].map((title) => title.textContent).join()");
    assert!(titles.ends_with("Networking,Other kinds"), "{titles}");
    let section = |title: &str| {
        format!(
            "[...document.querySelectorAll('.group')].find((of) => of.querySelector('h2').textContent === '{title}')"
        )
    };
    for (title, name, place, severity, cause, detail) in [
        ("Networking", "shop", "Ingress in shop", "Critical", "IngressBackendMissing", "Service wbe"),
        ("Other kinds", "web", "service.serving.knative.dev in shop", "Warning", "KnativeRevisionFailed", "404"),
    ] {
        browser.open(&server.page("/"));
        let row = browser.text(&format!("{}.querySelector('.row').textContent", section(title)));
        assert!([name, place, severity, cause].iter().all(|part| row.contains(part)), "{title}: {row}");
        for (width, height) in [(1280, 900), (375, 700)] {
            browser.window(width, height, "light");
            fits(&mut browser, &format!("{title} at {width}"));
        }
        browser.eval(&format!("{}.querySelector('.row .to').click()", section(title)));
        browser.until("location.pathname === '/workload' && document.readyState === 'complete'");
        let text = browser.text("document.getElementById('main').textContent");
        assert!(
            ["What it means", "What to do", "Evidence", cause, detail].iter().all(|part| text.contains(part)),
            "{text}"
        );
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn texts_of_a_pod_are_never_executed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pods.yaml");
    let image = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>";
    fs::write(&file, failing("web", image)).unwrap();
    let server = Server::start(&["-f", file.to_str().unwrap()]);
    let mut browser = Browser::start();
    browser.open(&server.url);
    assert!(
        browser.text("document.querySelector('.row .summary').textContent").contains(image),
        "the text is shown unchanged"
    );
    browser.window(375, 700, "light");
    fits(&mut browser, "a long name");
    browser.eval("document.querySelector('.row .to').click()");
    browser.until("location.pathname === '/pod' && document.readyState === 'complete'");
    assert!(browser.text("document.querySelector('.proofs').textContent").contains(image));
    fits(&mut browser, "its page");
    browser.open(&server.page(
        "/?q=%3Cimg+src%3Dx+onerror%3Dwindow.hacked%3D1%3E&cause=%22%3E%3Cscript%3Ewindow.hacked%3D1%3C/script%3E",
    ));
    assert_eq!(browser.eval("window.hacked === undefined && !document.querySelector('main img, main script')"), true);
    assert_eq!(browser.complaints(), [""; 0], "nothing was even tried");
}

#[test]
fn an_open_page_updates_without_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pods.yaml");
    let many: String = (0..30).map(|n| failing(&format!("pod-{n}"), "nginx:nope")).collect();
    fs::write(&file, &many).unwrap();
    let server = Server::start(&["-f", file.to_str().unwrap()]);
    let mut browser = Browser::start();
    browser.open(&server.url);
    browser.window(800, 600, "light");
    browser.until("document.querySelectorAll('.row').length === 30");
    browser.eval("window.same = true; document.querySelectorAll('.row .to')[20].focus(); window.scrollTo(0, 500)");
    let focus = browser.text("document.activeElement.textContent");

    let more = many + &failing("new", "nginx:nope");
    fs::write(&file, &more).unwrap();
    browser.until("document.querySelectorAll('.row').length === 31");
    assert_eq!(browser.eval("window.same"), true, "without a reload");
    assert_eq!(
        (browser.text("document.activeElement.textContent"), browser.eval("window.scrollY")),
        (focus, json!(500))
    );
    assert_eq!(browser.text("document.title"), "31 failing · Shindan");

    browser.eval("document.querySelector('.row .to').click()");
    browser.until("location.pathname === '/pod' && document.readyState === 'complete'");
    browser.eval("window.same = true; document.getElementById('more-of-meaning').open = true");
    browser.eval("window.version = document.getElementById('main').dataset.version");
    fs::write(&file, more.replacen("ImagePullBackOff", "ErrImagePull", 1)).unwrap();
    browser.until("document.getElementById('main').dataset.version !== window.version");
    assert_eq!(
        browser.eval("window.same && document.getElementById('more-of-meaning').open"),
        true,
        "what was open stays so"
    );

    fs::write(&file, "kind: [").unwrap();
    browser.until("document.getElementById('trouble')");
    let trouble = browser.text("document.getElementById('trouble').textContent");
    assert!(trouble.contains("No update") && trouble.contains("pods.yaml"), "{trouble}");
    assert_eq!(browser.eval("!!document.querySelector('.head h1')"), true, "the last content stays");
    fs::write(&file, &more).unwrap();
    browser.until("!document.getElementById('trouble')");
    assert_eq!(browser.complaints(), [""; 0]);

    assert_eq!(server.stop().code(), Some(0), "with a page open");
    browser.until("document.getElementById('link').textContent.startsWith('Not connected')");
}

#[test]
fn a_request_without_the_token_is_refused() {
    let server = dump(CLUSTER);
    for head in
        ["GET / HTTP/1.1\r\nHost: HOST", "GET /events HTTP/1.1\r\nHost: HOST", "GET /?token=0 HTTP/1.1\r\nHost: HOST"]
    {
        let response = server.request(head);
        assert!(response.starts_with("HTTP/1.1 403 ") && response.contains("open the URL"), "{response}");
        assert!(!response.contains("multi"), "{response}");
    }
    let (_, token) = server.url.split_once('?').unwrap();
    let rebound = server.request(&format!("GET /?{token} HTTP/1.1\r\nHost: evil.example"));
    assert!(rebound.starts_with("HTTP/1.1 403 "), "{rebound}");
    let mut browser = Browser::start();
    browser.open(&server.page("/"));
    assert!(browser.text("document.body.innerText").contains("The token is missing"));
}

/// Takes the pictures of README.md, and checks their size.
#[test]
fn pictures_are_updated() {
    let server = dump(CLUSTER);
    let mut browser = Browser::start();
    browser.open(&server.url);
    let pod = "/pod?namespace=demo&name=multi-589d96bc47-j5tqb";
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images");
    let into = if std::env::var_os("UPDATE").is_some() { docs } else { target };
    fs::create_dir_all(&into).unwrap();
    for (name, page, width, height, colours) in [
        ("page-overview.png", "/", 1000, 760, "light"),
        ("page-pod.png", pod, 1000, 1130, "light"),
        ("page-dark-375.png", "/", 375, 780, "dark"),
    ] {
        browser.window(width, height, colours);
        browser.open(&server.page(page));
        browser.eval("document.fonts.ready.then(() => 1)");
        let picture = browser.picture();
        assert!(picture.len() < 150_000, "{name}: {} bytes", picture.len());
        fs::write(into.join(name), picture).unwrap();
    }
}
