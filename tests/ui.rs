//! `shindan ui` without a browser: how it is opened, and what its header names. tests/page.rs has the page in Chromium.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

#[allow(dead_code, reason = "the objects are for the tests of agents")]
#[path = "mcp/cluster.rs"]
mod cluster;

/// The command, its printed URL, and the rest of its standard error.
struct Page {
    child: Child,
    url: String,
}

impl Page {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim_end().to_owned() }
    }

    /// The first line of standard error that contains a text.
    fn message(&mut self, part: &str) -> String {
        let lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        lines.map(Result::unwrap).find(|line| line.contains(part)).unwrap_or_default()
    }

    /// The response to a GET of a URL.
    fn get(url: &str, headers: &str) -> String {
        let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// The content of the overview, as a browser gets it.
    fn overview(&self) -> String {
        let entered = Self::get(&self.url, "");
        let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let (origin, _) = self.url.split_once("/?").unwrap();
        Self::get(&format!("{origin}/"), &format!("Cookie: {cookie}\r\n"))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command for a dump, with an empty PATH and without a display.
fn ui(path: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
    command.args(["ui", "-f", "examples/broken-cluster.yaml"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env("LC_ALL", "C.UTF-8").env("PATH", path.path());
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn open_starts_the_browser_with_a_url_that_works_once() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("opened");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let program = folder.path().join("xdg-open");
    fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$#\" \"$1\" > \"$OPENED\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let page = Page::start(ui(&folder).arg("--open").env("DISPLAY", ":0").env("OPENED", &fifo));

    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(fs::read_to_string(&fifo).unwrap()));
    let opened = receiver.recv_timeout(Duration::from_secs(60)).expect("the browser is started");
    let [count, url, ""] = opened.split('|').collect::<Vec<_>>()[..] else { panic!("{opened}") };
    assert_eq!(count, "1", "one argument, which no shell has read");
    // Other users of the machine can read the arguments of a process.
    assert_ne!(url, page.url);
    assert!(Page::get(url, "").starts_with("HTTP/1.1 303 "));
    assert!(Page::get(url, "").starts_with("HTTP/1.1 403 "), "a second time");
    assert!(Page::get(&page.url, "").starts_with("HTTP/1.1 303 "), "the printed one still works");
}

#[test]
fn a_machine_without_a_browser_gets_a_note_and_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let failing = tempfile::tempdir().unwrap();
    let program = failing.path().join("xdg-open");
    fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (path, display, why) in [
        (&folder, "", "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"),
        (&folder, ":0", "xdg-open is not installed"),
        (&failing, ":0", "xdg-open failed (exit status: 3)"),
    ] {
        let mut page = Page::start(ui(path).arg("--open").env("DISPLAY", display));
        let note = page.message("cannot open");
        let expected =
            format!("warning: cannot open a browser: {why}. Open the URL yourself, in a browser on this machine.");
        assert_eq!(note, expected);
        assert!(page.overview().contains("9 failing"), "it goes on");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_header_names_the_context_or_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let dump = Page::start(&mut ui(&folder)).overview();
    assert!(dump.contains("<span class=\"place\">examples/broken-cluster.yaml</span>"), "{dump}");
    assert!(!dump.contains("class=\"context\"") && dump.contains("<title>9 failing · Shindan</title>"), "{dump}");

    let pod = cluster::failing("shop", "web", cluster::NO_TAG);
    let cluster = cluster::Cluster::serve(vec![pod], &[]).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
    command.args(["ui", "--kubeconfig", &cluster.kubeconfig()]).env("LC_ALL", "C.UTF-8");
    let text = Page::start(&mut command).overview();
    let context = "<span class=\"context\" title=\"The context of the kubeconfig\">test</span>";
    assert!(text.contains(context) && text.contains("<title>1 failing · test · Shindan</title>"), "{text}");
}
