//! The flags by which kubectl finds its cluster.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::client::{Instead, Target};
use crate::config::Seconds;

/// Timeout that stands for none.
const ENDLESS: Duration = Duration::from_secs(86_400);

/// Flags with the names and meanings of kubectl's own, which users expect of a plugin.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connection")]
pub(in crate::cli) struct Connection {
    /// The kubeconfig file [default: as kubectl finds it]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig [default: the context's]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The user of the kubeconfig [default: the context's]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The address and port of the API server
    #[arg(short, long, value_name = "URL")]
    server: Option<String>,
    /// Bearer token for authentication
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// User name for basic authentication
    #[arg(long, value_name = "NAME", requires = "password")]
    username: Option<String>,
    /// The password of --username
    #[arg(long, value_name = "PASSWORD", requires = "username")]
    password: Option<String>,
    /// File of the client certificate for authentication
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// The file with the key of --client-certificate
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// Act as this user
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Act as a member of this group; may be repeated
    #[arg(long, value_name = "GROUP")]
    as_group: Vec<String>,
    /// Act as the user with this UID
    #[arg(long, value_name = "UID")]
    as_uid: Option<String>,
    /// Act as a user with this extra field; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    as_user_extra: Vec<(String, String)>,
    /// File of the certificates that verify the certificate of the API server
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// The name that the certificate of the API server must have
    #[arg(long, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Do not verify the certificate of the API server, which makes the connection insecure
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Time limit of one request; 0 is no limit
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = Seconds::parse)]
    request_timeout: Seconds,
}

/// Parses `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| "write it as KEY=VALUE".to_owned())
}

impl Connection {
    /// Time limit of one request.
    pub(in crate::cli) fn limit(&self) -> Duration {
        let Seconds(seconds) = self.request_timeout;
        match u64::try_from(seconds) {
            Ok(0) | Err(_) => ENDLESS,
            Ok(seconds) => Duration::from_secs(seconds),
        }
    }

    pub(in crate::cli) fn target(&self) -> Target {
        Target {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            instead: Instead {
                server: self.server.clone(),
                token: self.token.clone(),
                login: self.username.clone().zip(self.password.clone()),
                certificate: self.client_certificate.clone().zip(self.client_key.clone()),
                user: self.as_user.clone(),
                groups: self.as_group.clone(),
                uid: self.as_uid.clone(),
                extra: self.as_user_extra.clone(),
                certificate_authority: self.certificate_authority.clone(),
                tls_server_name: self.tls_server_name.clone(),
                insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            },
            forbids_prompts: false,
        }
    }
}
