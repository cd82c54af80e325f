//! Polling with a deadline, for tests.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;

const POLL: Duration = Duration::from_millis(400);

/// Polls until the result is `Ok`; panics at the deadline with the last `Err`.
pub(crate) async fn eventually<T>(
    within: Duration,
    what: impl Display,
    mut check: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + within;
    loop {
        let missing = match check().await {
            Ok(found) => return found,
            Err(missing) => missing,
        };
        assert!(Instant::now() < deadline, "{what}: not within {} s: {missing}", within.as_secs());
        tokio::time::sleep(POLL).await;
    }
}

/// Returns `Err` with a reason unless the condition holds; for `eventually`.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise()) }
}
