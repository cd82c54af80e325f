//! The measured subjects, each a separate process.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::{Client, Config};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::bare::LISTED;
use super::lab::Options;

/// Address of the operator's metrics, in the network namespace of the cluster.
const LISTEN: &str = "127.0.0.1:18080";
/// Timeout of a first list.
const LIST_WITHIN: Duration = Duration::from_secs(180);
/// Clock ticks per second, the unit of CPU time in /proc.
const TICKS: f64 = 100.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Subject {
    Operator,
    /// The bare client in Rust
    Bare,
    /// The bare client in Go
    Go,
}

impl Subject {
    pub(crate) const ALL: [Self; 3] = [Self::Operator, Self::Bare, Self::Go];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Bare => "bare",
            Self::Go => "go",
        }
    }
}

/// A running subject, killed on drop.
pub(crate) struct Running {
    child: Child,
    pid: u32,
    pub(crate) subject: Subject,
    pub(crate) began: Instant,
    /// Number of lists that a bare client has finished.
    lists: watch::Receiver<u64>,
    /// Client of the operator's metrics.
    served: Client,
}

impl Running {
    /// Starts a subject. `known`: diagnoses of an earlier run exist.
    pub(crate) fn start(options: &Options, subject: Subject, known: bool) -> Result<Self> {
        Self::start_with(options, subject, known, &[])
    }

    /// Starts a subject with additional flags of the operator.
    pub(crate) fn start_with(options: &Options, subject: Subject, known: bool, flags: &[&str]) -> Result<Self> {
        Self::spawn(options, subject, known, flags, None)
    }

    /// Starts the operator with additional flags and an environment variable.
    pub(crate) fn start_logging(options: &Options, flags: &[&str], variable: (&str, String)) -> Result<Self> {
        Self::spawn(options, Subject::Operator, false, flags, Some(variable))
    }

    fn spawn(
        options: &Options,
        subject: Subject,
        known: bool,
        flags: &[&str],
        variable: Option<(&str, String)>,
    ) -> Result<Self> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(options.folder()?.join(format!("{}.log", subject.as_str())))?;
        let mut command = match subject {
            Subject::Operator => {
                let mut command = Command::new(&options.binary);
                command.args(["run", "--listen", LISTEN]).args(flags).stdout(log.try_clone()?);
                command
            }
            Subject::Bare => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("bare");
                command
            }
            Subject::Go => Command::new(options.go_client()?),
        };
        if subject != Subject::Operator {
            command.arg("--bodies").arg(options.bodies()?).stdout(Stdio::piped());
            if known {
                command.arg("--known");
            }
        }
        let began = Instant::now();
        let mut child = command
            .envs(variable)
            .arg("--kubeconfig")
            .arg(&options.kubeconfig)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("start")?;
        let (sender, lists) = watch::channel(0);
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    sender.send_modify(|lists| *lists += u64::from(line == LISTED));
                }
            });
        }
        let served = Client::try_from(Config::new(format!("http://{LISTEN}").parse()?))?;
        let pid = child.id().context("it has ended at once")?;
        Ok(Self { child, pid, subject, began, lists, served })
    }

    /// Waits for the first list, and returns its duration.
    pub(crate) async fn listed(&mut self) -> Result<Duration> {
        self.listed_after(0).await?;
        Ok(self.began.elapsed())
    }

    /// Number of lists of all pods.
    pub(crate) async fn lists(&self) -> Result<u64> {
        match self.subject {
            Subject::Bare | Subject::Go => Ok(*self.lists.borrow()),
            Subject::Operator => {
                let text = self.metrics().await?;
                Ok(sum(&text, "shindan_lists_total", "source=\"pods\""))
            }
        }
    }

    /// Waits for another list of the pods.
    pub(crate) async fn listed_after(&mut self, before: u64) -> Result<()> {
        let deadline = Instant::now() + LIST_WITHIN;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the {} has ended: {status}", self.subject.as_str());
            }
            let done = match self.subject {
                Subject::Operator if before == 0 => self.get("/readyz").await.is_ok(),
                _ => self.lists().await.is_ok_and(|lists| lists > before),
            };
            if done {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the {} does not list all pods", self.subject.as_str());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Number of pending writes, from the operator's metrics.
    pub(crate) async fn backlog(&self) -> u64 {
        self.metrics().await.map_or(0, |text| sum(&text, "shindan_outbox_depth", ""))
    }

    pub(crate) async fn metrics(&self) -> Result<String> {
        self.get("/metrics").await
    }

    async fn get(&self, path: &str) -> Result<String> {
        Ok(self.served.request_text(http::Request::get(path).body(Vec::new())?).await?)
    }

    /// Peak and current resident memory in MiB.
    pub(crate) fn memory(&self) -> Result<(f64, f64)> {
        Ok((self.status("VmHWM:")? / 1024.0, self.status("VmRSS:")? / 1024.0))
    }

    fn status(&self, name: &str) -> Result<f64> {
        status_of(self.pid, name)
    }

    pub(crate) fn threads(&self) -> Result<f64> {
        self.status("Threads:")
    }

    /// Open file descriptors.
    pub(crate) fn files(&self) -> Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.pid)).context("it has ended")?.count())
    }

    /// Resets the peak of resident memory.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?)
    }

    /// CPU seconds of all threads so far.
    pub(crate) fn cpu(&self) -> Result<f64> {
        cpu_of(self.pid)
    }

    /// Kills it with SIGKILL.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// CPU seconds of all threads of a process so far.
pub(crate) fn cpu_of(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("it has ended")?;
    let (_, fields) = stat.rsplit_once(')').context("odd stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS)
}

/// A number of a process's status, such as `VmRSS:` in KiB.
pub(crate) fn status_of(pid: u32, name: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("it has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Sum of the series of a metric that have this label.
pub(crate) fn sum(text: &str, name: &str, label: &str) -> u64 {
    let series = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
    series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

/// Checks that a file exists.
pub(crate) fn must_exist(path: &Path) -> Result<()> {
    ensure!(path.exists(), "{} does not exist", path.display());
    Ok(())
}
