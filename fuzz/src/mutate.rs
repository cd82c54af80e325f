//! Small mutations that keep an input parsable: JSON stays JSON, and text gets pieces of known syntax. The byte mutations of
//! libFuzzer mostly yield inputs that the parser rejects at the first bracket.

use std::ops::Range;

use serde_json::Value;

/// Pieces that are inserted into texts: syntax of YAML, JSON, shells and terminals, texts that the rules match, and marks of
/// secrets (see `planted`).
const PIECES: [&str; 56] = [
    "\n---\n",
    "\n...\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{1}",
    "\u{2}",
    "\u{3}",
    "\u{4}",
    "\u{5}",
    "\u{1b}[2J",
    "\u{1b}]8;;https://evil.example\u{1b}\\",
    "\u{9b}",
    "\u{202e}",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "`id`",
    "$(id)",
    "'; id #",
    " | id",
    " && id",
    "--all",
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "- ",
    "? ",
    ": ",
    "|\n",
    ">-\n",
    "kind: Pod",
    "items:\n- ",
    "0/3 nodes are available: ",
    "1 Insufficient ",
    "2 node(s) had untolerated taint {a: b}, ",
    " not found",
    "secret \"",
    "configmap \"",
    "couldn't find key ",
    " in ConfigMap ",
    "Back-off pulling image \"",
    "failed to pull and unpack image \"",
    "exec: \"",
    "https://a.b.svc:443/",
    "desc = ",
    "exit code 137",
    "2026-11-21T09:00:00Z",
    "診断",
];

/// Numbers at a boundary of some type or with a meaning as an exit code.
const NUMBERS: [i64; 14] =
    [0, 1, -1, 2, 127, 137, 143, 255, 65_536, i32::MAX as i64, i32::MIN as i64, 1 << 53, i64::MAX, i64::MIN];

/// Deterministic pseudorandom numbers (SplitMix64), so that a run is reproducible.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `many`; 0 if `many` is 0.
    fn below(&mut self, many: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % many.max(1)
    }

    fn piece(&mut self) -> &'static str {
        PIECES[self.below(PIECES.len())]
    }
}

/// Returns the input with one to three changes.
pub fn changed(data: &[u8], random: &mut Random) -> Vec<u8> {
    let times = 1 + random.below(3);
    if let Ok(mut value) = serde_json::from_slice::<Value>(data) {
        (0..times).for_each(|_| change_value(&mut value, random));
        return value.to_string().into_bytes();
    }
    let mut text = String::from_utf8_lossy(data).into_owned();
    (0..times).for_each(|_| change_text(&mut text, random));
    text.into_bytes()
}

/// The same in the buffer of libFuzzer; returns the new size. `None`: libFuzzer mutates the input itself. That is half of the
/// calls, and those whose result does not fit the buffer.
pub fn in_place(data: &mut [u8], size: usize, most: usize, seed: u32) -> Option<usize> {
    let mut random = Random::new(seed.into());
    if random.below(2) == 0 {
        return None;
    }
    let changed = changed(&data[..size], &mut random);
    (changed.len() <= most).then(|| {
        data[..changed.len()].copy_from_slice(&changed);
        changed.len()
    })
}

fn change_value(value: &mut Value, random: &mut Random) {
    let all = count(value);
    let other = nth(value, &mut random.below(all)).map_or(Value::Null, |other| other.clone());
    let Some(place) = nth(value, &mut random.below(all)) else { return };
    match random.below(8) {
        0 => *place = odd(random),
        1 => *place = other,
        _ => change_within(place, other, random),
    }
}

fn change_within(place: &mut Value, other: Value, random: &mut Random) {
    match place {
        Value::String(text) => change_text(text, random),
        Value::Array(items) if random.below(2) == 0 && !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        Value::Array(items) => items.insert(random.below(items.len() + 1), other),
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            if names.is_empty() {
                return;
            }
            let name = &names[random.below(names.len())];
            // Tests a missing field and a value of another field.
            if random.below(2) == 0 {
                fields.remove(name);
            } else {
                fields.insert(name.clone(), other);
            }
        }
        _ => *place = odd(random),
    }
}

fn odd(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => (random.below(2) == 0).into(),
        2..=4 => NUMBERS[random.below(NUMBERS.len())].into(),
        5 => Value::Array(Vec::new()),
        6 => random.piece().into(),
        _ => u64::MAX.into(),
    }
}

fn change_text(text: &mut String, random: &mut Random) {
    match random.below(8) {
        0 => {
            let gone = range(text, random);
            text.replace_range(gone, "");
        }
        1 => {
            let (taken, to) = (range(text, random), boundary(text, random));
            let taken = text[taken].to_owned();
            text.insert_str(to, &taken);
        }
        2 => {
            const TIMES: usize = 40;
            const MOST: usize = 4096;
            let (repeated, times) = (range(text, random), 1 + random.below(TIMES));
            if repeated.len() * times <= MOST {
                let repeated_text = text[repeated.clone()].repeat(times);
                text.replace_range(repeated, &repeated_text);
            }
        }
        3 => {
            let place = range(text, random);
            text.replace_range(place, random.piece());
        }
        _ => {
            let at = boundary(text, random);
            text.insert_str(at, random.piece());
        }
    }
}

/// Returns the index of a character boundary.
fn boundary(text: &str, random: &mut Random) -> usize {
    let at = random.below(text.len() + 1);
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns a range of a text, mostly a short one.
fn range(text: &str, random: &mut Random) -> Range<usize> {
    let begin = boundary(text, random);
    let longest = if random.below(4) == 0 { text.len() } else { 24 };
    let end = (begin + random.below(longest + 1)).min(text.len());
    begin..(begin..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(begin)
}

/// Number of values in a value, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    }
}

/// The `n`th value, in the order of `count`.
fn nth<'v>(value: &'v mut Value, n: &mut usize) -> Option<&'v mut Value> {
    if *n == 0 {
        return Some(value);
    }
    *n -= 1;
    match value {
        Value::Array(all) => all.iter_mut().find_map(|value| nth(value, n)),
        Value::Object(all) => all.values_mut().find_map(|value| nth(value, n)),
        _ => None,
    }
}
