//! The NetworkPolicy of deploy/, enforced by kube-router. The network of the test cluster itself enforces no policies.

use std::collections::BTreeSet;
use std::fs::{File, write};
use std::io::Write;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};

use crate::support::{
    KUBELET, OPERATOR, SOON, Space, alone, client, ensure, eventually, kubectl, run_directory, try_kubectl,
};

const POLICY: &str = include_str!("../../deploy/components/networkpolicy/networkpolicy.yaml");
/// Bridges pass packets between pods to iptables only if this is 1.
const BRIDGE_CALLS_IPTABLES: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";
/// The Pods of kube-system that the policy allows DNS to. Its server is started by `DnsServer`.
const CLUSTER_DNS: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: e2e-dns, namespace: kube-system}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: pause, image: '127.0.0.1:5000/pause:1'}]}
";
const CLIENT: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: client}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: pause, image: '127.0.0.1:5000/pause:1'}]}
";
const WEB: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: nginx, image: '127.0.0.1:5000/nginx:1.27'}]}
";

const ALLOWED: [&str; 4] = [
    "from the operator to DNS in kube-system by TCP",
    "from the operator to DNS in kube-system by UDP",
    "from the operator to the API server",
    "to /metrics from a labelled namespace",
];
const DENIED: [&str; 4] = [
    "from the operator to another pod by TCP port 53",
    "from the operator to another pod by UDP port 53",
    "from the operator to another pod's port 80",
    "to /metrics from another namespace",
];

/// Runs a command; an error has its standard error.
fn run(command: &[&str], input: &str) -> Result<String, String> {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    // Closed by the end of the statement. A command that does not read it may have ended.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A process that ends when this is dropped, or when the test is killed.
struct Process(Child);

impl Process {
    fn start(log: &str, command: &[&str]) -> Self {
        let log = File::create(run_directory().join("log").join(log)).unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .args(command)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// kube-router with nothing but its firewall, until this is dropped.
struct Enforcement {
    kube_router: Option<Process>,
    rules_before: String,
}

impl Enforcement {
    fn start() -> Self {
        write(BRIDGE_CALLS_IPTABLES, "1").expect("the kernel has br_netfilter");
        let rules_before = run(&["iptables-save", "-t", "filter"], "").unwrap();
        let kubeconfig = format!("--kubeconfig={}", std::env::var("KUBECONFIG").unwrap());
        let node =
            format!("--hostname-override={}", kubectl(&["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"]));
        let command = [
            "kube-router",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            "--run-loadbalancer=false",
            "--enable-cni=false",
            "--health-port=0",
            "--service-cluster-ip-range=10.96.0.0/16",
            &kubeconfig,
            &node,
            "--v=1",
        ];
        Self { kube_router: Some(Process::start("kube-router.log", &command)), rules_before }
    }
}

impl Drop for Enforcement {
    fn drop(&mut self) {
        // Ends it, or it would write its rules again.
        self.kube_router = None;
        let restored = run(&["iptables-restore", "--table=filter"], &self.rules_before);
        let sets = run(&["ipset", "list", "-name"], "").unwrap_or_default();
        let destroyed: Vec<_> = sets.lines().map(|set| run(&["ipset", "destroy", set], "")).collect();
        let is_clean = restored.is_ok() && destroyed.iter().all(Result::is_ok);
        assert!(std::thread::panicking() || is_clean, "{restored:?} {destroyed:?}");
    }
}

/// An object, until this is dropped.
struct Applied(&'static str);

impl Applied {
    fn new(manifest: &'static str) -> Self {
        try_kubectl(&["apply", "-f", "-"], Some(manifest)).unwrap();
        Self(manifest)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        let deleted = try_kubectl(&["delete", "--ignore-not-found", "-f", "-"], Some(self.0));
        assert!(std::thread::panicking() || deleted.is_ok(), "{deleted:?}");
    }
}

/// A running pod, as seen from its node.
struct Running {
    ip: IpAddr,
    /// Of its first container, as the runtime has it.
    container: String,
    restarts: i32,
    is_ready: bool,
}

impl Running {
    fn of(pod: &Pod) -> Result<Self, String> {
        let status = pod.status.as_ref().ok_or("no status")?;
        let container = status.container_statuses.as_ref().and_then(|all| all.first()).ok_or("no container")?;
        ensure(container.state.as_ref().is_some_and(|s| s.running.is_some()), || format!("{:?}", container.state))?;
        let id = container.container_id.as_deref().and_then(|id| id.strip_prefix("containerd://")).ok_or("no ID")?;
        Ok(Self {
            ip: status.pod_ip.as_deref().ok_or("no IP")?.parse().map_err(|_| "not an IP")?,
            container: id.to_owned(),
            restarts: container.restart_count,
            is_ready: container.ready,
        })
    }

    async fn named(namespace: &str, name: &str) -> Self {
        eventually(KUBELET, format!("{namespace}/{name} runs"), async || {
            let pod = Api::<Pod>::namespaced(client(), namespace).get(name).await.map_err(|e| e.to_string())?;
            Self::of(&pod)
        })
        .await
    }

    /// The only pod of the operator.
    async fn operator() -> Result<Self, String> {
        let pods = Api::<Pod>::namespaced(client(), OPERATOR).list(&ListParams::default()).await;
        match &pods.map_err(|e| e.to_string())?.items[..] {
            [pod] => Self::of(pod),
            pods => Err(format!("{} pods", pods.len())),
        }
    }

    /// The path of its network namespace.
    fn network(&self) -> String {
        let tasks = ctr(&["tasks", "list"]).unwrap();
        // Columns: the ID of the container, and the PID.
        let task = tasks.lines().find_map(|line| line.strip_prefix(&self.container)).expect("its container runs");
        format!("/proc/{}/ns/net", task.split_whitespace().next().unwrap())
    }

    /// Runs a program of the node in the network of the pod: the operator's image contains no other program.
    fn in_its_network(&self, command: &[&str]) -> Result<String, String> {
        let network = format!("--net={}", self.network());
        run(&[&["nsenter", &network, "timeout", "5"], command].concat(), "")
    }

    fn connects_to(&self, ip: IpAddr, port: u16) -> bool {
        self.in_its_network(&["bash", "-c", &format!("</dev/tcp/{ip}/{port}")]).is_ok()
    }

    fn reads_metrics_of(&self, operator: &Self) -> bool {
        let url = format!("http://{}:8080/metrics", operator.ip);
        let read = self.in_its_network(&["/bin/busybox", "wget", "-q", "-O", "-", &url]);
        read.is_ok_and(|text| text.contains("shindan_pods_watched"))
    }

    fn resolves_by(&self, server: IpAddr) -> bool {
        self.in_its_network(&["/bin/busybox", "nslookup", "-type=a", "shindan.test", &server.to_string()]).is_ok()
    }
}

fn ctr(arguments: &[&str]) -> Result<String, String> {
    let socket = format!("--address={}", run_directory().join("containerd.sock").display());
    run(&[&["ctr", &socket, "--namespace=k8s.io"], arguments].concat(), "")
}

/// Starts a DNS server in the network of a pod.
fn serve_dns(pod: &Running, log: &str) -> Process {
    let network = format!("--net={}", pod.network());
    let options =
        ["--keep-in-foreground", "--no-resolv", "--no-hosts", "--pid-file=", "--user=root", "--address=/#/192.0.2.1"];
    Process::start(log, &[&["nsenter", &network, "dnsmasq"], &options[..]].concat())
}

/// The other ends of the operator's connections.
struct Peers {
    /// In the labelled namespace.
    monitoring: Running,
    client: Running,
    web: Running,
    dns: Running,
    /// The namespace of `client` and `web`.
    space: Space,
    _labelled: Space,
    _cluster_dns: Applied,
    _servers: [Process; 2],
}

impl Peers {
    async fn new() -> Self {
        let (labelled, space) = (Space::new("networkpolicy-monitoring").await, Space::new("networkpolicy").await);
        kubectl(&["label", "namespace", &labelled.name, "shindan.dev/metrics=allowed"]);
        labelled.apply(CLIENT);
        space.apply(CLIENT);
        space.apply(WEB);
        let cluster_dns = Applied::new(CLUSTER_DNS);
        let monitoring = Running::named(&labelled.name, "client").await;
        let client = Running::named(&space.name, "client").await;
        let web = Running::named(&space.name, "web").await;
        let dns = Running::named("kube-system", "e2e-dns").await;
        let servers = [serve_dns(&dns, "e2e-dns.log"), serve_dns(&web, "e2e-dns-of-web.log")];
        Self { monitoring, client, web, dns, space, _labelled: labelled, _cluster_dns: cluster_dns, _servers: servers }
    }

    /// The connections that succeed, each of them a new one.
    async fn reached(&self) -> Result<BTreeSet<&'static str>, String> {
        let operator = Running::operator().await?;
        let api_server = "10.99.0.1".parse().unwrap();
        let succeeded = [
            (ALLOWED[0], operator.connects_to(self.dns.ip, 53)),
            (ALLOWED[1], operator.resolves_by(self.dns.ip)),
            (ALLOWED[2], operator.connects_to(api_server, 6443)),
            (ALLOWED[3], self.monitoring.reads_metrics_of(&operator)),
            (DENIED[0], operator.connects_to(self.web.ip, 53)),
            (DENIED[1], operator.resolves_by(self.web.ip)),
            (DENIED[2], operator.connects_to(self.web.ip, 80)),
            (DENIED[3], self.client.reads_metrics_of(&operator)),
        ];
        Ok(succeeded.into_iter().filter(|(_, is_reached)| *is_reached).map(|(what, _)| what).collect())
    }

    async fn reach(&self, expected: &[&'static str], within: Duration) {
        let expected = expected.iter().copied().collect();
        eventually(within, "only the expected connections succeed", async || {
            let reached = self.reached().await?;
            ensure(reached == expected, || format!("{reached:#?}"))
        })
        .await;
    }
}

/// The operator restarts and works with an enforced policy, which blocks all other connections.
#[test]
fn the_operator_works_within_its_enforced_policy() {
    alone(async {
        let peers = Peers::new().await;
        let all = [ALLOWED, DENIED].concat();
        // Without the policy, and also when it is not enforced.
        peers.reach(&all, SOON).await;
        let policy = Applied::new(POLICY);
        peers.reach(&all, SOON).await;

        let enforcement = Enforcement::start();
        peers.reach(&ALLOWED, KUBELET).await;
        // A new pod with another IP.
        kubectl(&["-n", OPERATOR, "delete", "pod", "-l", "app.kubernetes.io/name=shindan"]);
        kubectl(&["-n", OPERATOR, "rollout", "status", "deployment/shindan", "--timeout=120s"]);
        peers.reach(&ALLOWED, KUBELET).await;
        // A new process in the same pod: its connections and the kubelet's probes meet the rules from the start.
        let operator = Running::operator().await.unwrap();
        assert_eq!(operator.restarts, 0, "the probes succeeded so far");
        ctr(&["tasks", "kill", "--signal=SIGKILL", &operator.container]).unwrap();
        eventually(KUBELET, "the operator is Ready again", async || {
            let now = Running::operator().await?;
            ensure(now.restarts == 1 && now.is_ready, || format!("{} restarts, ready: {}", now.restarts, now.is_ready))
        })
        .await;
        peers.space.caught_up("broken").await;
        peers.reach(&ALLOWED, SOON).await;
        assert_eq!(Running::operator().await.unwrap().restarts, 1, "the liveness probe succeeds");

        drop(enforcement);
        drop(policy);
        let rules = run(&["iptables-save"], "").unwrap();
        assert!(!rules.contains("KUBE-"), "{rules}");
        peers.reach(&all, SOON).await;
    });
}
