//! How tests wait: they ask until a deadline.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;

const POLL: Duration = Duration::from_millis(400);

/// Asks until the answer is `Ok`; at the deadline the last `Err` says what was missing.
pub(crate) async fn eventually<T>(
    within: Duration,
    what: impl Display,
    mut ask: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + within;
    loop {
        let missing = match ask().await {
            Ok(answer) => return answer,
            Err(missing) => missing,
        };
        assert!(Instant::now() < deadline, "{what}: not within {} s: {missing}", within.as_secs());
        tokio::time::sleep(POLL).await;
    }
}

/// `Err` with a reason, for `eventually`.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise()) }
}
