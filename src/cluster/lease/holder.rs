//! Whether an operator is at work, for one who only looks: what has been told stays when it goes.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{ListParams, Resource};

use super::NAME;
use crate::cluster::call::{self, Failure};
use crate::facts::{Timestamp, seconds_between};

/// Clocks of people differ from those of clusters; and a new leader takes over within seconds.
const SILENT_FOR: i64 = 120;

/// What the Leases of a cluster tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    Works,
    /// Its Lease is there (`NAMESPACE/NAME`) and was renewed last then; nobody holds it where there is no time.
    Silent {
        lease: String,
        renewed: Option<Timestamp>,
    },
    /// There is no such Lease.
    Absent,
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Works => write!(f, "an operator is at work"),
            Self::Silent { lease, renewed: Some(at) } => {
                write!(f, "no operator has renewed its Lease {lease} since {at}")
            }
            Self::Silent { lease, renewed: None } => write!(f, "no operator holds its Lease {lease}"),
            Self::Absent => write!(f, "no operator has a Lease {NAME} in this cluster"),
        }
    }
}

/// Looks for the Lease in all namespaces: where the operator was installed, who asks need not know.
pub async fn look(client: &Client, now: Timestamp, limit: Duration) -> Result<Operator, Failure> {
    let params = ListParams::default().fields(&format!("metadata.name={NAME}"));
    let leases: Vec<Lease> = call::list(client, &Lease::url_path(&(), None), params, limit).await?;
    Ok(judge(leases, now))
}

fn judge(leases: Vec<Lease>, now: Timestamp) -> Operator {
    let told = leases.into_iter().map(|lease| {
        let name =
            format!("{}/{}", lease.metadata.namespace.unwrap_or_default(), lease.metadata.name.unwrap_or_default());
        let spec = lease.spec.unwrap_or_default();
        let is_held = spec.holder_identity.is_some_and(|holder| !holder.is_empty());
        let renewed = spec.renew_time.map(|time| time.0).filter(|_| is_held);
        if renewed.is_some_and(|at| seconds_between(at, now) <= SILENT_FOR) {
            return Operator::Works;
        }
        let whole = renewed.and_then(|at| Timestamp::from_second(at.as_second()).ok());
        Operator::Silent { lease: name, renewed: whole }
    });
    // Of several installations one that works is enough.
    told.reduce(|a, b| if b == Operator::Works { b } else { a }).unwrap_or(Operator::Absent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_at_work_while_its_lease_is_renewed() {
        let now: Timestamp = "2026-11-21T09:10:00Z".parse().unwrap();
        let told = |leases: &[(&str, &str, &str)]| {
            let leases = leases.iter().map(|(namespace, holder, renewed)| {
                serde_json::from_value(json!({"metadata": {"namespace": namespace, "name": "shindan"},
                    "spec": {"holderIdentity": holder, "renewTime": renewed}}))
                .unwrap()
            });
            judge(leases.collect(), now).to_string()
        };
        let (fresh, old) = ("2026-11-21T09:09:58.000000Z", "2026-11-21T08:00:01.500000Z");
        assert_eq!(told(&[("ops", "a", fresh)]), "an operator is at work");
        assert_eq!(told(&[("ops", "a", "2026-11-21T09:15:00.000000Z")]), "an operator is at work", "by another clock");
        assert_eq!(
            told(&[("ops", "a", old)]),
            "no operator has renewed its Lease ops/shindan since 2026-11-21T08:00:01Z"
        );
        assert_eq!(told(&[("ops", "", fresh)]), "no operator holds its Lease ops/shindan", "it was given back");
        assert_eq!(told(&[("ops", "a", old), ("sre", "b", fresh)]), "an operator is at work");
        assert_eq!(told(&[]), "no operator has a Lease shindan in this cluster");
    }
}
