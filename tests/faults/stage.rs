//! Combines an operator behind a proxy, pods of which some fail, and a witness.

use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::control_plane::ControlPlane;
use crate::invariants::{Witness, new_operator_agrees};
use crate::operator::{Launch, Operator};
use crate::pods::{FAILURES, Space};
use crate::proxy::Proxy;

/// The shared API server, without faults.
async fn calm() -> Arc<ControlPlane> {
    static CALM: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
    CALM.get_or_init(async || Arc::new(ControlPlane::start("calm").await)).await.clone()
}

pub(crate) struct Stage<Plane = ControlPlane> {
    pub(crate) operator: Operator,
    pub(crate) launch: Launch,
    pub(crate) witness: Witness,
    pub(crate) space: Space,
    pub(crate) proxy: Proxy,
    pub(crate) plane: Plane,
}

impl Stage {
    /// Creates a stage with its own API server.
    pub(crate) async fn alone(name: &str) -> Self {
        Self::on(ControlPlane::start(name).await, &[]).await
    }

    pub(crate) async fn on(plane: ControlPlane, arguments: &[&str]) -> Self {
        let stage = Self::prepare(plane, "shop", arguments).await;
        stage.open().await;
        stage
    }
}

impl Stage<Arc<ControlPlane>> {
    /// Creates a stage on the shared API server, with its own namespace and an operator for that namespace.
    pub(crate) async fn among_others(namespace: &str) -> Self {
        Self::for_both(namespace, namespace).await
    }

    /// Like `among_others`; the operator also watches another namespace, which the test creates.
    pub(crate) async fn for_both(namespace: &str, other: &str) -> Self {
        let stage = Self::prepare(calm().await, namespace, &["--namespace", namespace, "--namespace", other]).await;
        stage.open().await;
        stage
    }
}

impl<Plane: AsRef<ControlPlane>> Stage<Plane> {
    async fn prepare(plane: Plane, namespace: &str, arguments: &[&str]) -> Self {
        let control = plane.as_ref();
        let client = control.client().await;
        let space = Space::new(client.clone(), namespace).await;
        let witness = Witness::of(client);
        let proxy = Proxy::to(control.address()).await;
        let launch = Launch::new(control, &control.operator_kubeconfig(proxy.address())).with(arguments);
        let operator = launch.ready().await;
        Self { operator, launch, witness, space, proxy, plane }
    }

    async fn open(&self) {
        self.space.fail_all("before").await;
        self.space.set_healthy("fine").await;
        self.settle().await;
    }

    pub(crate) async fn settle(&self) {
        self.witness.agrees(&[&self.space], &self.operator).await;
    }

    /// Makes pods fail, recover and be deleted.
    pub(crate) async fn make_changes(&self) {
        self.space.fail_all("after").await;
        self.space.set_healthy("before-0").await;
        self.space.delete("before-1").await;
        self.space.fail("new-failure", FAILURES[2]).await;
    }

    /// Makes changes, and verifies that the operator and a new one report all of them.
    pub(crate) async fn change_and_verify(self) {
        self.make_changes().await;
        self.verify().await;
    }

    pub(crate) async fn verify(self) {
        self.settle().await;
        self.operator.is_ready().await;
        new_operator_agrees(self.operator, &self.launch, &[&self.space]).await;
    }
}

impl AsRef<Self> for ControlPlane {
    fn as_ref(&self) -> &Self {
        self
    }
}
