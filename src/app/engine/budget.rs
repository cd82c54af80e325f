//! Rate limit of the writes: the configured rate, and the pauses that the API server requests.

use std::time::Duration;

use tokio::time::Instant;

/// Maximum pause after one throttled request.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Pause if the API server throttles without a `Retry-After`.
const USUAL_PAUSE: Duration = Duration::from_secs(1);

/// Token bucket that holds the requests of one second, and the pause that the API server requested.
#[derive(Debug)]
pub(super) struct Budget {
    /// Requests per second. `None`: no limit.
    rate: Option<u32>,
    /// Tokens left. Negative if the last write took more than there were: an object and its Event are one write.
    left: f64,
    filled: Instant,
    paused: Option<Instant>,
}

impl Budget {
    pub(super) fn new(rate: Option<u32>, now: Instant) -> Self {
        Self { rate, left: rate.map_or(0.0, f64::from), filled: now, paused: None }
    }

    /// When the next write may start. `None`: now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Instant> {
        self.paused = self.paused.filter(|until| now < *until);
        let Some(rate) = self.rate else { return self.paused };
        let rate = f64::from(rate);
        self.left = (self.left + now.duration_since(self.filled).as_secs_f64() * rate).min(rate);
        self.filled = now;
        // The wait until the bucket holds one whole request.
        let wait = Duration::from_secs_f64(((1.0 - self.left) / rate).max(0.0));
        let filled = (!wait.is_zero()).then(|| now + wait);
        self.paused.max(filled)
    }

    /// Takes tokens for `requests` requests.
    pub(super) fn spend(&mut self, requests: u32) {
        if self.rate.is_some() {
            self.left -= f64::from(requests);
        }
    }

    /// Pauses all writes because the API server throttles. The limit applies to all requests, not only to the one
    /// refused.
    pub(super) fn pause(&mut self, retry_after: Option<Duration>, now: Instant) {
        let until = now + retry_after.unwrap_or(USUAL_PAUSE).min(LONGEST_PAUSE);
        self.paused = self.paused.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of writes, of `requests` requests each, that start within `seconds`.
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
    fn writes_start_with_a_burst_of_one_second_and_then_follow_the_rate() {
        let mut budget = Budget::new(Some(10), Instant::now());
        let writes = begun(&mut budget, 1, 10);
        assert!((109..=111).contains(&writes), "{writes}");
    }

    #[test]
    fn an_object_and_its_event_count_as_two_requests() {
        let mut budget = Budget::new(Some(10), Instant::now());
        let writes = begun(&mut budget, 2, 10);
        assert!((54..=56).contains(&writes), "{writes}");
    }

    #[test]
    fn without_a_rate_only_the_server_pauses_writes() {
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
