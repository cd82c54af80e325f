//! etcd and kube-apiserver as processes on loopback that a test can stop, kill, freeze and restart.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::certificates::{Authority, Pair, signing_key};
use crate::child::Child;
use crate::folder::Folder;
use crate::pods;
use crate::wait::{ensure, eventually};

/// Timeout for the start of a component on a busy machine.
const START: Duration = Duration::from_secs(180);

/// The user name of the shipped ServiceAccount.
pub(crate) const OPERATOR_NAMESPACE: &str = "shindan-system";
const OPERATOR: &str = "system:serviceaccount:shindan-system:shindan";
const OPERATOR_GROUP: &str = "system:serviceaccounts:shindan-system";

/// Kinds in deploy/ that need controllers or a kubelet, and are not installed.
const NOT_INSTALLED: [&str; 3] = ["Deployment", "Service", "PodDisruptionBudget"];

#[derive(Debug)]
pub(crate) struct ControlPlane {
    // Ended in this order.
    api: Option<Child>,
    etcd: Option<Child>,
    programs: Programs,
    pub(crate) folder: Folder,
    ports: Ports,
    /// Authority of the serving certificates after [`Self::rotate`]; the tests always trust it.
    next_authority: Authority,
    serving: Pair,
    admin: PathBuf,
    operator: Pair,
    /// Additional flags of the API server.
    flags: Vec<String>,
}

#[derive(Debug)]
struct Ports {
    api: u16,
    etcd: u16,
    peers: u16,
}

impl ControlPlane {
    /// Starts with the CRDs and permissions of deploy/ and a Ready node.
    pub(crate) async fn start(name: &str) -> Self {
        let plane = Self::bare(name).await;
        plane.install(|_| true);
        plane.await_definitions().await;
        pods::node(&plane.client().await).await;
        plane
    }

    /// Starts without objects.
    pub(crate) async fn bare(name: &str) -> Self {
        Self::of(Programs::find(), name, &[]).await
    }

    /// Starts these programs without objects; `flags` are additional flags of the API server.
    pub(crate) async fn of(programs: Programs, name: &str, flags: &[&str]) -> Self {
        let folder = Folder::new(name);
        let ports = Ports { api: free_port(), etcd: free_port(), peers: free_port() };
        let authority = Authority::new(folder.path(), "ca");
        signing_key(folder.path());
        let next_authority = Authority::new(folder.path(), "next-ca");
        let all = [&authority, &next_authority].map(|known| fs::read_to_string(&known.certificate).unwrap());
        let trusted = folder.path().join("all-ca.crt");
        fs::write(&trusted, all.concat()).unwrap();
        let admin = credentials(&authority.client("admin", "admin", "system:masters"));
        let mut plane = Self {
            api: None,
            etcd: None,
            programs,
            serving: authority.server(),
            admin: kubeconfig(folder.path(), &trusted, address(ports.api), &admin),
            operator: authority.client("operator", OPERATOR, OPERATOR_GROUP),
            ports,
            folder,
            next_authority,
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        };
        plane.start_etcd().await;
        plane.start_api().await;
        plane
    }

    pub(crate) async fn start_etcd(&mut self) {
        let (clients, peers) = (address(self.ports.etcd), address(self.ports.peers));
        let flags = [
            format!("--data-dir={}", self.folder.path().join("etcd").display()),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
            format!("--listen-client-urls=http://{clients}"),
            format!("--advertise-client-urls=http://{clients}"),
            format!("--listen-peer-urls=http://{peers}"),
            format!("--initial-advertise-peer-urls=http://{peers}"),
            format!("--initial-cluster=default=http://{peers}"),
        ];
        self.etcd = Some(self.spawn("etcd", &self.programs.etcd, &flags));
        eventually(START, "etcd responds", async || {
            self.etcd("/v3/maintenance/status", &json!({})).await.map(|_| ()).map_err(|e| e.to_string())
        })
        .await;
    }

    pub(crate) async fn start_api(&mut self) {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let mut flags = vec![
            format!("--etcd-servers=http://{}", address(self.ports.etcd)),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.ports.api),
            "--advertise-address=192.0.2.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--tls-cert-file={}", self.serving.certificate.display()),
            format!("--tls-private-key-file={}", self.serving.key.display()),
            format!("--client-ca-file={}", file("ca.crt")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", file("service-accounts.key")),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // No controller creates the objects that these plugins wait for.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds".to_owned(),
        ];
        flags.extend(self.flags.iter().cloned());
        self.api = Some(self.spawn("kube-apiserver", &self.programs.apiserver, &flags));
        self.api_is_ready().await;
    }

    pub(crate) async fn api_is_ready(&self) {
        let client = self.client().await;
        eventually(START, "the API server is ready", async || {
            assert!(self.api.as_ref().is_some_and(Child::is_running), "it has ended: {}", self.log("kube-apiserver"));
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            client.request_text(request).await.map(|_| ()).map_err(|e| e.to_string())
        })
        .await;
    }

    pub(crate) fn kill_api(&mut self) {
        self.api.take().expect("it runs").kill();
    }

    pub(crate) fn kill_etcd(&mut self) {
        self.etcd.take().expect("it runs").kill();
    }

    pub(crate) fn signal_api(&self, signal: Signal) {
        self.api.as_ref().expect("it runs").signal(signal);
    }

    pub(crate) fn signal_etcd(&self, signal: Signal) {
        self.etcd.as_ref().expect("it runs").signal(signal);
    }

    /// Forgets all versions but the newest.
    pub(crate) async fn compact(&self) {
        let status = self.etcd("/v3/maintenance/status", &json!({})).await.unwrap();
        let revision = &status["header"]["revision"];
        self.etcd("/v3/kv/compaction", &json!({"revision": revision, "physical": true})).await.unwrap();
    }

    async fn etcd(&self, path: &str, body: &Value) -> Result<Value, kube::Error> {
        let mut config = Config::new(format!("http://{}", address(self.ports.etcd)).parse().unwrap());
        config.default_retry = false;
        config.read_timeout = Some(Duration::from_secs(10));
        let request = http::Request::post(path).body(serde_json::to_vec(body).unwrap()).unwrap();
        Client::try_from(config)?.request(request).await
    }

    /// A new serving certificate, of a new authority, for the next start of the API server. Clients' certificates stay
    /// valid.
    pub(crate) fn rotate(&mut self) {
        self.serving = self.next_authority.server();
    }

    /// The certificates that an operator must trust.
    pub(crate) fn bundle(&self) -> String {
        fs::read_to_string(self.folder.path().join("ca.crt")).unwrap()
    }

    /// The same after [`Self::rotate`].
    pub(crate) fn next_bundle(&self) -> String {
        fs::read_to_string(self.folder.path().join("all-ca.crt")).unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        address(self.ports.api)
    }

    /// An administrator.
    pub(crate) async fn client(&self) -> Client {
        client(&self.admin).await
    }

    /// Kubeconfig of an operator with the permissions of deploy/, for this address.
    pub(crate) fn operator_kubeconfig(&self, server: SocketAddr) -> PathBuf {
        let folder = self.folder.path();
        kubeconfig(folder, &folder.join("ca.crt"), server, &credentials(&self.operator))
    }

    /// Applies the selected kinds of deploy/install.yaml.
    pub(crate) fn install(&self, selected: impl Fn(&str) -> bool) {
        let kind = |document: &str| {
            let line = document.lines().find_map(|line| line.strip_prefix("kind: "));
            line.unwrap_or_default().to_owned()
        };
        let all = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/install.yaml")).unwrap();
        let is_selected = |document: &&str| !NOT_INSTALLED.contains(&&*kind(document)) && selected(&kind(document));
        let documents: Vec<_> = all.split("\n---\n").filter(is_selected).collect();
        // A test that removed parts of it did so under another field manager.
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], Some(&documents.join("\n---\n")))
            .unwrap();
    }

    pub(crate) async fn await_definitions(&self) {
        eventually(START, "the CRDs are established", async || {
            let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=1s"];
            self.kubectl(&wait, None).map(|_| ())
        })
        .await;
    }

    /// Runs kubectl as an administrator.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: Option<&str>) -> Result<String, String> {
        let mut kubectl = Command::new(&self.programs.kubectl)
            .arg("--kubeconfig")
            .arg(&self.admin)
            .arg("--cache-dir")
            .arg(self.folder.path().join("kubectl"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        kubectl.stdin.take().unwrap().write_all(input.unwrap_or_default().as_bytes()).unwrap();
        let output = kubectl.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(output.status.success(), || text)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// kubectl with nothing but the kubeconfig of an administrator, and no other environment.
    pub(crate) fn kubectl_as_admin(&self) -> Command {
        let mut kubectl = Command::new(&self.programs.kubectl);
        kubectl.env_clear().env("KUBECONFIG", &self.admin).env("HOME", self.folder.path());
        kubectl
    }

    fn spawn(&self, name: &str, program: &Path, flags: &[String]) -> Child {
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        Child::spawn(name, &self.folder.path().join(format!("{name}.log")), program.as_os_str(), &flags, &[])
    }

    fn log(&self, name: &str) -> String {
        let log = fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

pub(crate) async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    config.read_timeout = Some(Duration::from_secs(30));
    Client::try_from(config).unwrap()
}

/// Each call writes a new file: an operator may still read an earlier one.
fn kubeconfig(folder: &Path, trusted: &Path, server: SocketAddr, user: &Value) -> PathBuf {
    static WRITTEN: AtomicU16 = AtomicU16::new(0);
    let file = folder.join(format!("{}.kubeconfig", WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let cluster = json!({"server": format!("https://{server}"), "certificate-authority": trusted});
    let context = json!({"cluster": "it", "user": "it", "namespace": OPERATOR_NAMESPACE});
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": context}],
    });
    fs::write(&file, config.to_string()).unwrap();
    file
}

fn credentials(pair: &Pair) -> Value {
    json!({"client-certificate": pair.certificate, "client-key": pair.key})
}

/// Where the binaries are.
#[derive(Debug)]
pub(crate) struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
    kubectl: PathBuf,
}

impl Programs {
    /// In the folder `SHINDAN_KUBERNETES`, else where `tests/cluster/cluster build` puts them.
    fn find() -> Self {
        let given = std::env::var_os("SHINDAN_KUBERNETES").map(PathBuf::from);
        let [kubernetes, etcd] = given.map_or_else(built, |folder| [folder.clone(), folder]);
        let help = "`tests/cluster/cluster build`, or name a folder of binaries in SHINDAN_KUBERNETES";
        let program = |folder: &Path, name: &str| present(folder.join(name), help);
        Self {
            etcd: program(&etcd, "etcd"),
            apiserver: program(&kubernetes, "kube-apiserver"),
            kubectl: program(&kubernetes, "kubectl"),
        }
    }

    #[cfg(feature = "faults-long")]
    /// The programs with the API server of another version such as `1.36`; also returns its full version.
    pub(crate) fn with_apiserver(minor: &str) -> (Self, String) {
        let known = settings("apiservers");
        let mut lines = known.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(version, _)| version.starts_with(&format!("v{minor}.")));
        let (version, program) = found.unwrap_or_else(|| panic!("none of {minor} is pinned in tests/cluster/tools"));
        let apiserver = present(program.into(), "`tests/cluster/cluster build --apiservers`");
        (Self { apiserver, ..Self::find() }, version.to_owned())
    }
}

fn present(file: PathBuf, help: &str) -> PathBuf {
    assert!(file.is_file(), "{} is missing: build it with {help}", file.display());
    file
}

/// The folders that the test cluster's own settings name.
fn built() -> [PathBuf; 2] {
    let text = settings(r#"printf '%s\n%s\n' "$BIN" "$ETCD_BIN""#);
    let mut lines = text.lines().map(PathBuf::from);
    [lines.next().unwrap(), lines.next().unwrap()]
}

/// Output of a script that runs with the test cluster's settings.
fn settings(script: &str) -> String {
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/lib/settings.sh");
    let script = format!(". \"$0\" && {script}");
    let output = Command::new("bash").args(["-euc", &script, settings]).output().expect("bash runs");
    String::from_utf8(output.stdout).unwrap()
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Returns a port below the ephemeral range, so that it is still free when a server restarts.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 20_000;
    const MANY: u16 = 10_000;
    // A concurrent run of these tests starts at another port.
    let begin = u16::try_from(std::process::id() % u32::from(MANY)).unwrap();
    (0..MANY)
        .map(|_| FIRST + (begin.wrapping_mul(7) + NEXT.fetch_add(1, Ordering::Relaxed)) % MANY)
        .find(|port| TcpListener::bind(address(*port)).is_ok())
        .expect("a free port")
}
