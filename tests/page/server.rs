//! `shindan ui` as a user starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) struct Server {
    child: Child,
    /// The printed URL with the token.
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shindan"))
            .arg("ui")
            .env("LC_ALL", "C.UTF-8")
            .args(args)
            // Relative paths appear on the page as a user would write them.
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        Self { child, url }
    }

    /// The URL without the token.
    pub(crate) fn page(&self, path: &str) -> String {
        let (origin, _) = self.url.split_once("/?").unwrap();
        format!("{origin}{path}")
    }

    /// Sends a raw request, and returns the response.
    pub(crate) fn request(&self, head: &str) -> String {
        let address = self.page("").trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = head.replace("HOST", &address);
        write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// Stops the server with SIGINT.
    pub(crate) fn stop(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
