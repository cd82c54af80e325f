//! A process that does not outlive the tests, however they end.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// Starts the given command, prints its process ID, and kills it when its own standard input closes: when the handle is
/// dropped, or when this process is killed.
const KEEPER: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
echo $!; exec >&-
read -r _
kill -KILL $! 2>/dev/null
wait $!
"#;

#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    keeper: std::process::Child,
    pid: Pid,
}

impl Child {
    /// Its output is added to the file `log`.
    pub(crate) fn spawn(
        name: &str,
        log: &Path,
        program: &OsStr,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Self {
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, name])
            .args([log.as_os_str(), program])
            .args(arguments)
            // The operator does not inherit the environment of the tests.
            .env_remove("KUBECONFIG")
            .envs(environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().ok().and_then(Pid::from_raw).expect("the id of the process");
        Self { name: name.to_owned(), keeper, pid }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        assert!(self.is_running(), "{} has ended", self.name);
        kill_process(self.pid, signal).unwrap();
    }

    /// An ended process keeps its ID until the keeper has ended, so the ID is not reused.
    pub(crate) fn is_running(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero()));
        let state = stat.ok().and_then(|stat| Some(stat.rsplit_once(") ")?.1.chars().next()));
        !matches!(state.flatten(), None | Some('Z' | 'X'))
    }

    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
