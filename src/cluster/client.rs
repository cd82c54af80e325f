//! Connects to the API server, with one client for watches and one for short requests.
//!
//! The clients differ in their timeouts: a watch may be silent for minutes, but a write without a response after 15 s
//! has failed. Neither client retries: kube's own policy waits up to 1000 s, and the engine decides what is still worth
//! writing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Builder;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::ConfigExt;
use kube::config::{AuthInfo, Config, ExecInteractiveMode, KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::{BoxError, ServiceBuilder};

use super::call::{self, Failure};
use super::header_timeout::HeaderTimeoutLayer;

/// Maximum wait for the response to a LIST or to the start of a watch.
const LIST_ANSWER: Duration = Duration::from_secs(30);
/// Maximum wait for the response to any other request.
pub const WRITE_ANSWER: Duration = Duration::from_secs(15);
/// Read timeout of watches, longer than the longest watch (290 s) plus kube's margin of 5 s. It ends a LIST whose body
/// stalls.
const WATCH_READ: Duration = Duration::from_secs(300);
/// Maximum size of the read buffer of a connection, in bytes. Without a limit, a LIST makes it grow to 400 KiB, and each
/// watch keeps its own.
const READ_BUFFER: usize = 64 * 1024;
const AGENT: &str = concat!("shindan/", env!("CARGO_PKG_VERSION"));

/// Cluster and credentials to connect with.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// Path of the kubeconfig. Default: `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    pub context: Option<String>,
    /// Cluster of the kubeconfig, in place of the context's.
    pub cluster: Option<String>,
    /// User of the kubeconfig, in place of the context's.
    pub user: Option<String>,
    pub instead: Instead,
    /// Whether a program that provides credentials must not ask the user: standard input may belong to a protocol.
    pub forbids_prompts: bool,
}

impl Target {
    /// The same target, without questions to the user.
    #[must_use]
    pub fn without_prompts(self) -> Self {
        Self { forbids_prompts: true, ..self }
    }
}

/// Values of command-line flags that override the kubeconfig.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    pub server: Option<String>,
    pub token: Option<String>,
    /// User name and password for basic authentication.
    pub login: Option<(String, String)>,
    /// Paths of the client certificate and of its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// User, groups, UID and extra fields to impersonate.
    pub user: Option<String>,
    pub groups: Vec<String>,
    pub uid: Option<String>,
    pub extra: Vec<(String, String)>,
    /// Path of the PEM certificates that verify the certificate of the API server.
    pub certificate_authority: Option<PathBuf>,
    pub tls_server_name: Option<String>,
    pub insecure_skip_tls_verify: bool,
}

impl Instead {
    fn change(&self, config: &mut Config) -> Result<(), ClientError> {
        let flag = |flag: &'static str, reason: String| ClientError::Flag { flag, reason };
        if let Some(server) = &self.server {
            // As kubectl does.
            let url = if server.contains("://") { server.clone() } else { format!("http://{server}") };
            config.cluster_url = url.parse().map_err(|e: http::uri::InvalidUri| flag("--server", e.to_string()))?;
        }
        if let Some(token) = &self.token {
            config.auth_info = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        if let Some((name, password)) = &self.login {
            let (username, password) = (Some(name.clone()), Some(password.clone().into()));
            config.auth_info = AuthInfo { username, password, ..AuthInfo::default() };
        }
        if let Some((certificate, key)) = &self.certificate {
            let path = |path: &PathBuf| Some(path.to_string_lossy().into_owned());
            let (client_certificate, client_key) = (path(certificate), path(key));
            config.auth_info = AuthInfo { client_certificate, client_key, ..AuthInfo::default() };
        }
        self.impersonate(&mut config.auth_info)?;
        if let Some(path) = &self.certificate_authority {
            config.root_cert = None;
            config.root_cert_file = Some(path.clone());
        }
        if self.tls_server_name.is_some() {
            config.tls_server_name.clone_from(&self.tls_server_name);
        }
        config.accept_invalid_certs |= self.insecure_skip_tls_verify;
        Ok(())
    }

    fn impersonate(&self, auth_info: &mut AuthInfo) -> Result<(), ClientError> {
        let of_user = [
            ("--as-group", !self.groups.is_empty()),
            ("--as-uid", self.uid.is_some()),
            ("--as-user-extra", !self.extra.is_empty()),
        ];
        if self.user.is_none() {
            return match of_user.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(ClientError::Flag { flag, reason: "--as is required too".to_owned() }),
                None => Ok(()),
            };
        }
        auth_info.impersonate.clone_from(&self.user);
        auth_info.impersonate_groups = Some(self.groups.clone());
        auth_info.impersonate_uid.clone_from(&self.uid);
        let mut extra: HashMap<String, Vec<String>> = HashMap::new();
        for (key, value) in &self.extra {
            extra.entry(key.clone()).or_default().push(value.clone());
        }
        auth_info.impersonate_user_extra = Some(extra).filter(|extra| !extra.is_empty());
        Ok(())
    }
}

/// The clients of one cluster.
#[derive(Clone)]
pub struct Clients {
    /// Client for watches and long LISTs.
    pub watch: Client,
    /// Client for writes and lookups: short requests with a time limit.
    pub write: Client,
    /// Address of the API server, for logs.
    pub server: String,
    /// Namespace of the context, or of the pod.
    pub namespace: String,
    /// Name of the context in the kubeconfig. A pod has none.
    pub context: Option<String>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Why the connection failed, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no cluster: there is no kubeconfig ({searched}) and this is not a pod. \
         Pass --kubeconfig, set KUBECONFIG, or run inside a cluster"
    )]
    NoCluster { searched: String },
    #[error("cannot use the kubeconfig: {0}. Check it with `kubectl config view`")]
    Kubeconfig(#[source] KubeconfigError),
    #[error("the kubeconfig has no user {user}. List its users with `kubectl config get-users`")]
    NoUser { user: String },
    #[error("{flag}: {reason}")]
    Flag { flag: &'static str, reason: String },
    #[error("the pod's service account cannot be used: {0}. Is automountServiceAccountToken off?")]
    InCluster(#[source] kube::config::InClusterError),
    #[error("cannot set up TLS or credentials for {server}: {source}")]
    Setup { server: String, source: kube::Error },
    #[error("cannot reach the API server at {server}: {reason}. Is the cluster up, and the address right?")]
    Unreachable { server: String, reason: String },
    #[error("the API server at {server} rejects our credentials: {reason}. Have they expired?")]
    Unauthorized { server: String, reason: String },
    #[error("the server at {server} responds, but is not an API server: {reason}")]
    Odd { server: String, reason: String },
}

impl ClientError {
    /// A stable label for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NoCluster { .. } => "no_cluster",
            Self::Kubeconfig(_) | Self::NoUser { .. } => "kubeconfig",
            Self::InCluster(_) => "in_cluster",
            Self::Flag { .. } => "flag",
            Self::Setup { .. } => "setup",
            Self::Unreachable { .. } => "unreachable",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Odd { .. } => "odd_answer",
        }
    }
}

/// Builds the clients. This sends no request; [`Clients::probe`] does.
pub async fn connect(target: &Target) -> Result<Clients, ClientError> {
    let (mut config, context) = config(target).await?;
    target.instead.change(&mut config)?;
    if let Some(exec) = config.auth_info.exec.as_mut().filter(|_| target.forbids_prompts) {
        exec.interactive_mode = Some(ExecInteractiveMode::Never);
    }
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
    let setup = |source| ClientError::Setup { server: server.clone(), source };
    let watch = build(&config, WATCH_READ).map_err(setup)?;
    let write = build(&config, WRITE_ANSWER).map_err(setup)?;
    Ok(Clients { watch, write, server, namespace, context })
}

/// The configuration, and the context that it is from.
async fn config(target: &Target) -> Result<(Config, Option<String>), ClientError> {
    let options = KubeConfigOptions {
        context: target.context.clone(),
        cluster: target.cluster.clone(),
        user: target.user.clone(),
    };
    let read = match &target.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let file = match read {
        Ok(file) => file,
        // A pod has no kubeconfig. A broken kubeconfig is an error to report and must not fall back to the service
        // account.
        Err(error) if target.kubeconfig.is_none() && missing(&error) => return Ok((in_cluster(&error)?, None)),
        Err(error) => return Err(ClientError::Kubeconfig(error)),
    };
    if let Some(user) = unknown_user(&file, target) {
        return Err(ClientError::NoUser { user: user.to_owned() });
    }
    let context = target.context.clone().or_else(|| file.current_context.clone()).filter(|name| !name.is_empty());
    let config = Config::from_custom_kubeconfig(file, &options).await.map_err(ClientError::Kubeconfig)?;
    Ok((config, context))
}

/// The user that is named but not defined in the kubeconfig. Without this check the requests would be anonymous.
fn unknown_user<'a>(file: &'a Kubeconfig, target: &'a Target) -> Option<&'a str> {
    let current = target.context.as_ref().or(file.current_context.as_ref());
    let context =
        file.contexts.iter().find(|named| Some(&named.name) == current).and_then(|named| named.context.as_ref());
    let user = target.user.as_deref().or_else(|| context?.user.as_deref()).filter(|user| !user.is_empty())?;
    (!file.auth_infos.iter().any(|known| known.name == user)).then_some(user)
}

fn missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(io, _) => io.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn in_cluster(kubeconfig: &KubeconfigError) -> Result<Config, ClientError> {
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
        let searched = match kubeconfig {
            KubeconfigError::ReadConfig(_, path) => format!("searched {}", Path::new(path).display()),
            _ => "no home directory".to_owned(),
        };
        return Err(ClientError::NoCluster { searched });
    }
    Config::incluster().map_err(ClientError::InCluster)
}

/// Builds a client from the parts of kube, whose own builder has no limit for the read buffers.
fn build(config: &Config, read: Duration) -> Result<Client, kube::Error> {
    if let Some(proxy) = &config.proxy_url {
        let (proxy_url, protocol_feature) = (Box::new(proxy.clone()), "kube/http-proxy");
        return Err(kube::Error::ProxyProtocolDisabled { proxy_url, protocol_feature });
    }
    let mut connector = TimeoutConnector::new(config.rustls_https_connector()?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(Some(read));
    connector.set_write_timeout(config.write_timeout);
    // Otherwise the idle time of a pooled connection counts toward the read timeout of the next response.
    connector.set_reset_reader_on_write(true);
    let client = Builder::new(TokioExecutor::new()).http1_max_buf_size(READ_BUFFER).build(connector);
    let service = ServiceBuilder::new()
        .layer(HeaderTimeoutLayer::new(LIST_ANSWER, WRITE_ANSWER))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(Client::new(service, config.default_namespace.clone()))
}

impl Clients {
    /// Requests the server's version within `limit`, so that a wrong configuration fails early with a clear error.
    pub async fn probe(&self, limit: Duration) -> Result<String, ClientError> {
        #[derive(serde::Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Version {
            git_version: String,
        }
        let server = || self.server.clone();
        let request = http::Request::get("/version")
            .body(Vec::new())
            .map_err(|e| ClientError::Odd { server: server(), reason: e.to_string() })?;
        match call::json::<Version>(&self.write, request, limit.min(WRITE_ANSWER)).await {
            Ok(version) => Ok(version.git_version),
            Err(Failure::Api { status, .. }) if matches!(status.code, 401 | 403) => {
                Err(ClientError::Unauthorized { server: server(), reason: status.message.clone() })
            }
            Err(failure @ (Failure::Timeout(_) | Failure::Transport(_))) => {
                Err(ClientError::Unreachable { server: server(), reason: failure.to_string() })
            }
            Err(failure) => Err(ClientError::Odd { server: server(), reason: failure.to_string() }),
        }
    }
}
