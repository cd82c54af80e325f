//! Credentials that are renewed while the operator runs: mounted files that the kubelet replaces.

use std::fs;
use std::path::PathBuf;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::control_plane::{ControlPlane, OPERATOR_NAMESPACE};
use crate::invariants::{Witness, new_operator_agrees};
use crate::operator::Launch;
use crate::pods::Space;

/// The folder of a service account, as it is mounted into a pod.
struct Mounted(PathBuf);

impl Mounted {
    async fn new(plane: &ControlPlane, client: &Client) -> Self {
        let folder = plane.folder.path().join("service-account");
        fs::create_dir(&folder).unwrap();
        let mounted = Self(folder);
        mounted.put("namespace", OPERATOR_NAMESPACE);
        mounted.put("ca.crt", &plane.bundle());
        mounted.put("token", &token(client).await);
        mounted
    }

    /// Replaces a file atomically.
    fn put(&self, name: &str, content: &str) {
        let new = self.0.join(format!(".{name}"));
        fs::write(&new, content).unwrap();
        fs::rename(new, self.0.join(name)).unwrap();
    }

    /// Wrapper command that mounts the folder at the path that pods use, in its own mount namespace.
    fn around(&self) -> [&str; 8] {
        const SCRIPT: &str = "mount -t tmpfs tmpfs /var/run && mkdir -p /var/run/secrets/kubernetes.io && \
            ln -s \"$0\" /var/run/secrets/kubernetes.io/serviceaccount && exec \"$@\"";
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, self.0.to_str().unwrap()]
    }
}

async fn token(client: &Client) -> String {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), OPERATOR_NAMESPACE);
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let made = accounts.create_token_request("shindan", &PostParams::default(), &request).await.unwrap();
    made.status.expect("a token").token
}

/// The ServiceAccount is recreated, which invalidates the old token, and the API server gets a certificate of another
/// authority. Both files are read again within a minute.
#[tokio::test]
async fn token_and_certificates_are_renewed() {
    let mut plane = ControlPlane::start("renewed").await;
    let client = plane.client().await;
    let mounted = Mounted::new(&plane, &client).await;
    let launch = Launch::in_cluster(&plane)
        .by(&mounted.around())
        .env("HOME", "/nonexistent")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", &plane.address().port().to_string());
    let space = Space::new(client.clone(), "shop").await;
    let witness = Witness::of(client.clone());
    let operator = launch.ready().await;
    space.fail_all("before").await;
    space.set_healthy("fine").await;
    witness.agrees(&[&space], &operator).await;

    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), OPERATOR_NAMESPACE);
    accounts.delete("shindan", &DeleteParams::default()).await.unwrap();
    let account = serde_json::from_value(json!({"metadata": {"name": "shindan"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    mounted.put("token", &token(&client).await);
    plane.rotate();
    mounted.put("ca.crt", &plane.next_bundle());
    plane.kill_api();
    plane.start_api().await;

    space.fail_all("after").await;
    space.set_healthy("before-0").await;
    space.delete("before-1").await;
    witness.agrees(&[&space], &operator).await;
    operator.is_ready().await;
    new_operator_agrees(operator, &launch, &[&space]).await;
}
