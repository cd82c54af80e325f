//! The operator is killed repeatedly at random points while pods fail, recover and are deleted.

use std::time::Duration;

use crate::pods::{Expected, FAILURES, Space};
use crate::stage::Stage;

const KILLS: u32 = if cfg!(feature = "faults-long") { 200 } else { 25 };
const PODS: usize = 24;

/// Pseudo-random numbers, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Changes one pod.
async fn happens(space: &Space, chance: &mut Chance) {
    let number = chance.below(PODS);
    let (pod, failure) = (format!("pod-{number}"), FAILURES[number % FAILURES.len()]);
    match (space.expected().get(&pod), chance.below(3)) {
        (None | Some(Expected::Deleted), _) => space.fail(&pod, failure).await,
        (Some(_), 0) => space.delete(&pod).await,
        (Some(Expected::Healthy), _) if space.is_throttled(&pod) => space.delete(&pod).await,
        (Some(Expected::Failing { .. }), _) => space.set_healthy(&pod).await,
        (Some(Expected::Healthy), _) => space.fail_again(&pod, failure).await,
    }
}

#[tokio::test]
async fn the_operator_is_killed_again_and_again() {
    let mut stage = Stage::alone("kills").await;
    let mut chance = Chance(20_261_122);
    for _ in 0..KILLS {
        let things = 5 + chance.below(30);
        // The operator serves its probes before it has read anything, so kills hit before and during its writes.
        let life = Duration::from_millis(u64::try_from(chance.below(2500)).unwrap());
        let churn = async {
            for _ in 0..things {
                happens(&stage.space, &mut chance).await;
            }
        };
        let end = async {
            tokio::time::sleep(life).await;
            stage.operator.kill();
        };
        tokio::join!(churn, end);
        stage.operator = stage.launch.start().await;
    }
    stage.verify().await;
}
