//! Decides what to do for a subject, from what is known of the cluster and what was reported.

pub(super) mod aggregation;
pub(super) mod annotation;
pub(in crate::state) mod network;
pub(super) mod node;
pub(super) mod object;
pub(super) mod pod;
pub(super) mod services;
pub(super) mod workload;
