//! An operator over a wire, pods of which some fail, and a witness.

use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::control_plane::ControlPlane;
use crate::operator::{Launch, Operator};
use crate::pods::{FAILURES, Space};
use crate::proxy::Proxy;
use crate::truth::{Witness, says_the_same_afresh};

/// An API server that no test disturbs.
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
    /// With an API server of its own.
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
    /// With a namespace of its own, and an operator for that alone.
    pub(crate) async fn among_others(namespace: &str) -> Self {
        Self::for_both(namespace, namespace).await
    }

    /// The operator is for another namespace as well, which the test makes.
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
        self.space.well("fine").await;
        self.settles().await;
    }

    pub(crate) async fn settles(&self) {
        self.witness.agrees(&[&self.space], &self.operator).await;
    }

    /// Some fail, some recover, some are deleted.
    pub(crate) async fn things_happen(&self) {
        self.space.fail_all("after").await;
        self.space.well("before-0").await;
        self.space.delete("before-1").await;
        self.space.fail("fails-anew", FAILURES[2]).await;
    }

    /// Things go on, and all of it is told, now and by whoever comes next.
    pub(crate) async fn goes_on(self) {
        self.things_happen().await;
        self.ends_well().await;
    }

    pub(crate) async fn ends_well(self) {
        self.settles().await;
        self.operator.is_ready().await;
        says_the_same_afresh(self.operator, &self.launch, &[&self.space]).await;
    }
}

impl AsRef<Self> for ControlPlane {
    fn as_ref(&self) -> &Self {
        self
    }
}
