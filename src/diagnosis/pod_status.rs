use crate::facts::PodFacts;
pub fn pod_status(_pod: &PodFacts) -> String {
    String::new()
}
