//! Decides what to do for a subject, from what is known of the cluster and what was reported.

pub(super) mod annotation;
mod given;
pub(super) mod node;
pub(super) mod object;
pub(super) mod pod;
pub(super) mod services;
pub(super) mod workload;
