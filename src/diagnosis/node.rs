use super::Thresholds;
use crate::api::Remedy;
use crate::facts::*;
#[derive(Debug)]
pub struct NodeIncident {
    pub cause: &'static str,
    pub summary: String,
    pub remedies: Vec<Remedy>,
}
impl NodeIncident {
    pub fn identity(&self, _n: &NodeState) -> String {
        String::new()
    }
}
#[derive(Debug)]
pub struct Judged {
    pub incident: Option<NodeIncident>,
    pub wake: Option<Timestamp>,
}
pub fn judge(_n: &NodeState, _t: &Thresholds, _now: Timestamp) -> Judged {
    Judged { incident: None, wake: None }
}
