//! Time axis of a drawing: positions of times, and the ticks.

use shindan_core::facts::{Timestamp, after, seconds_between};
use shindan_core::language::Language;
use shindan_core::language::phrase;

/// Width in drawing units. The browser scales the drawing.
pub(super) const WIDTH: i64 = 960;
const LEFT: i64 = 8;
const RIGHT: i64 = 24;
/// Maximum number of ticks.
const TICKS: i64 = 7;
/// Approximate width of a Latin letter, in tenths of a unit.
const LETTER: usize = 66;
/// Approximate width of a Japanese letter.
const WIDE: usize = 120;

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
/// Steps between ticks, in seconds.
const STEPS: [i64; 22] = [
    1,
    2,
    5,
    10,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    30 * DAY,
    365 * DAY,
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    from: Timestamp,
    seconds: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli::ui) struct Tick {
    pub(in crate::cli::ui) x: i64,
    pub(in crate::cli::ui) label: String,
}

impl Axis {
    pub(super) fn between(from: Timestamp, to: Timestamp) -> Self {
        Self { from, seconds: seconds_between(from, to).max(1) }
    }

    pub(super) fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Position of the first time.
    pub(super) fn start(&self) -> i64 {
        self.x(self.from)
    }

    /// Position of a time, clamped to the axis.
    pub(super) fn x(&self, time: Timestamp) -> i64 {
        let room = WIDTH - LEFT - RIGHT;
        let at = seconds_between(self.from, time).min(self.seconds);
        LEFT + i64::try_from(i128::from(at) * i128::from(room) / i128::from(self.seconds)).unwrap_or(0)
    }

    /// Ticks at round times, in UTC like all times of a cluster.
    pub(super) fn ticks(&self, language: Language) -> Vec<Tick> {
        let longest = STEPS[STEPS.len() - 1];
        let step = STEPS.into_iter().find(|step| self.seconds / step < TICKS).unwrap_or(longest);
        let form = match step {
            ..MINUTE => "%H:%M:%S",
            MINUTE..DAY if self.seconds < DAY => "%H:%M",
            MINUTE..DAY => phrase!(language, "%d %b %H:%M", "%m/%d %H:%M"),
            _ => phrase!(language, "%d %b %Y", "%Y/%m/%d"),
        };
        let first = self.from.as_second().div_euclid(step) * step + step;
        let wait = first - self.from.as_second();
        let mut ticks: Vec<Tick> = Vec::new();
        for n in 0..=TICKS {
            let since = wait + n * step;
            if since > self.seconds {
                break;
            }
            let time = after(self.from, since);
            let (x, label) = (self.x(time), time.strftime(form).to_string());
            let half = width(&label) / 2;
            let has_room = ticks.last().is_none_or(|last| last.x + half * 2 + 8 < x);
            if has_room && x >= half && x + half <= WIDTH {
                ticks.push(Tick { x, label });
            }
        }
        ticks
    }
}

/// Approximate width of a text.
pub(super) fn width(text: &str) -> i64 {
    let tenths: usize = text.chars().map(|c| if c < '\u{2e80}' { LETTER } else { WIDE }).sum();
    i64::try_from(tenths / 10).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        after(Timestamp::UNIX_EPOCH, second)
    }

    #[test]
    fn times_are_in_order_and_within_the_axis() {
        let axis = Axis::between(at(100), at(400));
        let xs: Vec<i64> = [-5, 100, 250, 400, 9_999_999].map(|second| axis.x(at(second))).into();
        assert_eq!(xs, [LEFT, LEFT, LEFT + (WIDTH - LEFT - RIGHT) / 2, WIDTH - RIGHT, WIDTH - RIGHT]);
        let none = Axis::between(at(5), at(5));
        assert_eq!((none.x(at(5)), none.seconds()), (LEFT, 1));
        let backwards = Axis::between(at(50), at(5));
        assert_eq!(backwards.x(at(5)), LEFT, "clocks differ");
    }

    #[test]
    fn ticks_are_round_times_that_do_not_overlap() {
        let labels = |from, to| {
            let ticks = Axis::between(at(from), at(to)).ticks(Language::English);
            assert!(ticks.windows(2).all(|two| two[0].x + width(&two[0].label) < two[1].x), "{ticks:?}");
            ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(3, 63), ["00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50", "00:01:00"]);
        assert_eq!(labels(0, 1800), ["00:05", "00:10", "00:15", "00:20", "00:25", "00:30"]);
        for (from, to) in [(0, 0), (0, 1), (7, 86_399), (7, 1_000_000), (0, 3_000_000_000), (0, 90_000)] {
            assert!(labels(from, to).len() <= 8);
        }
        assert_eq!(labels(0, 200_000), ["01 Jan 12:00", "02 Jan 00:00", "02 Jan 12:00", "03 Jan 00:00"]);
    }
}
