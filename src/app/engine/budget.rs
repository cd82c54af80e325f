//! How fast the engine may write: as somebody has allowed it, and as the API server can take.

use std::time::Duration;

use tokio::time::Instant;

/// The longest that one refusal keeps everything waiting.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Where the API server throttles without saying for how long.
const USUAL_PAUSE: Duration = Duration::from_secs(1);

/// A bucket of one second's requests, and the pause that the API server has asked for.
#[derive(Debug)]
pub(super) struct Budget {
    /// Requests a second; `None`: as many as are answered.
    rate: Option<u32>,
    /// Below zero where the last write took more than there was: an object and its Event go together.
    left: f64,
    filled: Instant,
    paused: Option<Instant>,
}

impl Budget {
    pub(super) fn new(rate: Option<u32>, now: Instant) -> Self {
        Self { rate, left: rate.map_or(0.0, f64::from), filled: now, paused: None }
    }

    /// When the next write may begin: `None` is now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Instant> {
        self.paused = self.paused.filter(|until| now < *until);
        let Some(rate) = self.rate else { return self.paused };
        let rate = f64::from(rate);
        self.left = (self.left + now.duration_since(self.filled).as_secs_f64() * rate).min(rate);
        self.filled = now;
        // Whole requests; what is missing to one is a fraction of a second, or a few.
        let wait = Duration::from_secs_f64(((1.0 - self.left) / rate).max(0.0));
        let filled = (!wait.is_zero()).then(|| now + wait);
        self.paused.max(filled)
    }

    /// So many requests are sent.
    pub(super) fn spend(&mut self, requests: u32) {
        if self.rate.is_some() {
            self.left -= f64::from(requests);
        }
    }

    /// The API server throttles us: nothing is sent until it can take more. What it refused was one of many.
    pub(super) fn pause(&mut self, retry_after: Option<Duration>, now: Instant) {
        let until = now + retry_after.unwrap_or(USUAL_PAUSE).min(LONGEST_PAUSE);
        self.paused = self.paused.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many writes of so many requests each begin within these seconds.
    fn begun(budget: &mut Budget, requests: u32, seconds: u64) -> u32 {
        let end = budget.filled + Duration::from_secs(seconds);
        let (mut now, mut writes) = (budget.filled, 0);
        while now < end {
            if let Some(at) = budget.next(now) {
                now = at;
            } else {
                budget.spend(requests);
                writes += 1;
            }
        }
        writes
    }

    #[test]
    fn a_burst_of_one_second_and_then_the_rate() {
        let mut budget = Budget::new(Some(10), Instant::now());
        let writes = begun(&mut budget, 1, 10);
        assert!((109..=111).contains(&writes), "{writes}");
    }

    #[test]
    fn an_object_and_its_event_are_two() {
        let mut budget = Budget::new(Some(10), Instant::now());
        let writes = begun(&mut budget, 2, 10);
        assert!((54..=56).contains(&writes), "{writes}");
    }

    #[test]
    fn without_a_rate_only_the_server_makes_it_wait() {
        let now = Instant::now();
        let mut budget = Budget::new(None, now);
        for _ in 0..10_000 {
            assert_eq!(budget.next(now), None);
            budget.spend(2);
        }
        budget.pause(Some(Duration::from_secs(7)), now);
        budget.pause(None, now);
        assert_eq!(budget.next(now), Some(now + Duration::from_secs(7)), "the longer one counts");
        budget.pause(Some(Duration::from_secs(10_000)), now);
        assert_eq!(budget.next(now), Some(now + LONGEST_PAUSE));
        assert_eq!(budget.next(now + LONGEST_PAUSE), None);
    }
}
