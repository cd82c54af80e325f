//! Long messages: each message of an input of `matchers` is repeated until it is long. Reading one must take linear time, so
//! no input reaches the time limit of the fuzzer.

use super::matchers;

/// Bytes of a message. A build with checks is about 20 times slower.
const LENGTH: usize = if cfg!(debug_assertions) { 1 << 13 } else { 1 << 18 };

/// Messages of an input. The places that the rules read take them in turn.
const MESSAGES: usize = 3;

pub fn run(data: &[u8]) {
    let [low, high, exit, texts @ ..] = data else { return };
    let mut input = vec![*low, *high, *exit];
    for pair in texts.split(|byte| *byte == 0).collect::<Vec<_>>().chunks(2).take(MESSAGES) {
        let (reason, message) = (pair[0], pair.get(1).copied().unwrap_or_default());
        input.extend(reason);
        input.push(0);
        input.extend(message.iter().cycle().take(if message.is_empty() { 0 } else { LENGTH }));
        input.push(0);
    }
    matchers::run(&input);
}

pub fn seeds(every: usize) -> Vec<Vec<u8>> {
    matchers::seeds(4 * every)
}
