//! Checks whether an operator is running, for the command line: diagnoses stay in the cluster after the operator is
//! gone.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{ListParams, Resource};
use shindan_core::facts::{Timestamp, seconds_between};

use super::NAME;
use crate::cluster::call::{self, Failure};

/// Seconds without a renewal after which an operator counts as stopped. The margin covers clock skew of the local
/// machine and a change of the leader.
const STOPPED_AFTER_SECONDS: i64 = 120;

/// Whether an operator is running, according to the Leases of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    Works,
    /// The Lease (`NAMESPACE/NAME`) exists but is not renewed. `renewed` is the last renewal; `None`: it has no holder.
    NotRenewed {
        lease: String,
        renewed: Option<Timestamp>,
    },
    /// The Lease does not exist.
    Absent,
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Works => write!(f, "an operator is running"),
            Self::NotRenewed { lease, renewed: Some(at) } => {
                write!(f, "no operator has renewed its Lease {lease} since {at}")
            }
            Self::NotRenewed { lease, renewed: None } => write!(f, "no operator holds its Lease {lease}"),
            Self::Absent => write!(f, "no operator has a Lease {NAME} in this cluster"),
        }
    }
}

/// Looks for the Lease in all namespaces, because the namespace of the operator is not known.
pub async fn look(client: &Client, now: Timestamp, limit: Duration) -> Result<Operator, Failure> {
    let params = ListParams::default().fields(&format!("metadata.name={NAME}"));
    let leases: Vec<Lease> = call::list(client, &Lease::url_path(&(), None), params, limit).await?;
    Ok(judge(leases, now))
}

fn judge(leases: Vec<Lease>, now: Timestamp) -> Operator {
    let states = leases.into_iter().map(|lease| {
        let name =
            format!("{}/{}", lease.metadata.namespace.unwrap_or_default(), lease.metadata.name.unwrap_or_default());
        let spec = lease.spec.unwrap_or_default();
        let is_held = spec.holder_identity.is_some_and(|holder| !holder.is_empty());
        let renewed = spec.renew_time.map(|time| time.0).filter(|_| is_held);
        if renewed.is_some_and(|at| seconds_between(at, now) <= STOPPED_AFTER_SECONDS) {
            return Operator::Works;
        }
        let whole = renewed.and_then(|at| Timestamp::from_second(at.as_second()).ok());
        Operator::NotRenewed { lease: name, renewed: whole }
    });
    // One running installation is enough.
    states.reduce(|a, b| if b == Operator::Works { b } else { a }).unwrap_or(Operator::Absent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_running_while_its_lease_is_renewed() {
        let now: Timestamp = "2026-11-21T09:10:00Z".parse().unwrap();
        let state = |leases: &[(&str, &str, &str)]| {
            let leases = leases.iter().map(|(namespace, holder, renewed)| {
                serde_json::from_value(json!({"metadata": {"namespace": namespace, "name": "shindan"},
                    "spec": {"holderIdentity": holder, "renewTime": renewed}}))
                .unwrap()
            });
            judge(leases.collect(), now).to_string()
        };
        let (fresh, old) = ("2026-11-21T09:09:58.000000Z", "2026-11-21T08:00:01.500000Z");
        assert_eq!(state(&[("ops", "a", fresh)]), "an operator is running");
        assert_eq!(state(&[("ops", "a", "2026-11-21T09:15:00.000000Z")]), "an operator is running", "by another clock");
        assert_eq!(
            state(&[("ops", "a", old)]),
            "no operator has renewed its Lease ops/shindan since 2026-11-21T08:00:01Z"
        );
        assert_eq!(state(&[("ops", "", fresh)]), "no operator holds its Lease ops/shindan", "the Lease was released");
        assert_eq!(state(&[("ops", "a", old), ("sre", "b", fresh)]), "an operator is running");
        assert_eq!(state(&[]), "no operator has a Lease shindan in this cluster");
    }
}
