//! The local page with a real cluster.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{KUBELET, Space, ensure, eventually, together};

/// `shindan ui`, ended when it is dropped.
pub(crate) struct Page {
    process: Child,
    host: String,
    token: String,
}

impl Page {
    pub(crate) fn open(namespace: &str) -> Self {
        Self::open_with(namespace, &[])
    }

    pub(crate) fn open_with(namespace: &str, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
        command.args(["ui", "-n", namespace]).args(args).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (host, token) = url.trim().trim_start_matches("http://").split_once("/?token=").expect("its URL");
        Self { host: host.to_owned(), token: token.to_owned(), process }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let (_, port) = self.host.split_once(':').unwrap();
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let cookie = format!("shindan-{port}={}", self.token);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n", self.host)
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// With the operator running: it has not reported the pod, because a readiness probe may fail for a while.
#[test]
fn an_object_that_does_not_fail_yet_is_shown_with_what_is_seen() {
    together(async {
        let space = Space::new("page").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: '127.0.0.1:5000/nginx:1.27', readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 1}}]}}",
        );
        let page = Page::open(&space.name);
        let path = format!("/pod?namespace={}&name=web", space.name);
        eventually(KUBELET, "the page shows what is seen so far", async || {
            let shown = page.get(&path);
            let is_seen = shown.contains("Not failing yet") && shown.contains("HTTP status 404");
            ensure(is_seen && shown.contains("it is reported at"), || shown)
        })
        .await;
        let none = page.get(&format!("/pod?namespace={}&name=none", space.name));
        assert!(none.starts_with("HTTP/1.1 404") && none.contains("No diagnosis of Pod none"), "{none}");
    });
}

#[test]
fn a_page_shows_what_the_api_server_answers_to_its_remedies() {
    together(async {
        let space = Space::new("page-tried").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelector: {kubernetes.io/os: lnux}, containers: [{name: web, image: '127.0.0.1:5000/nginx:1.27'}]}}",
        );
        space.diagnosed("web", "NodeSelectorMismatch", KUBELET).await;
        let uid = || space.kubectl(&["get", "pod", "web", "-o", "jsonpath={.metadata.uid}"]);
        let before = uid();
        let page = Page::open(&space.name);
        let shown = page.get(&format!("/pod?namespace={}&name=web", space.name));
        assert!(shown.contains("the API server would accept it (dry run)"), "{shown}");
        assert_eq!(uid(), before, "a dry run persists nothing");
    });
}
