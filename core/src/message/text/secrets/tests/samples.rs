//! Measures the masking with invented tokens of each kind that a published rule set knows.

use super::super::{MASK, mask};

const SAMPLES: &str = include_str!("samples.txt");
/// Part of the samples that must be masked in each context, in percent.
const LEAST: usize = 95;

struct Sample {
    kind: &'static str,
    /// Whether the token has a form of its own. If not, only the name of its provider identifies it.
    is_own: bool,
    name: &'static str,
    token: String,
}

fn samples() -> Vec<Sample> {
    let fields = |line: &'static str| {
        let [kind, form @ ("own" | "named"), name, token] = line.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(Sample { kind, is_own: form == "own", name, token: token.replace('¦', "") })
    };
    SAMPLES.lines().filter(|line| !line.starts_with('#')).filter_map(fields).collect()
}

/// Asserts that enough of the texts are masked, and prints those that are not. Each is a kind, a text, and its secret.
fn assert_masked(context: &str, texts: &[(&str, String, &str)]) {
    let readable = |(_, text, secret): &&(&str, String, &str)| mask(text).contains(*secret);
    let readable: Vec<_> = texts.iter().filter(readable).collect();
    for (kind, text, _) in &readable {
        println!("{context}: not masked: {kind}: {text}");
    }
    let masked = texts.len() - readable.len();
    println!("{context}: {masked} of {} are masked", texts.len());
    assert!(masked * 100 >= texts.len() * LEAST, "{context}: {masked} of {} are masked", texts.len());
}

fn check(context: &str, of: impl Fn(&Sample) -> bool, text: impl Fn(&Sample) -> String) {
    let samples = samples();
    let texts = samples.iter().filter(|sample| of(sample)).map(|sample| (sample.kind, text(sample), &*sample.token));
    assert_masked(context, &texts.collect::<Vec<_>>());
}

#[test]
fn tokens_alone_in_a_line_of_a_log_are_masked() {
    check(
        "bare in a log line",
        |sample| sample.is_own,
        |sample| format!("2026-11-28T09:00:00Z ERROR request refused for {} by upstream", sample.token),
    );
}

#[test]
fn tokens_as_values_are_masked() {
    check("KEY=value", |_| true, |sample| format!("starting with {}={} LOG=debug", sample.name, sample.token));
    check("KEY=value with a neutral name", |sample| sample.is_own, |sample| format!("X={}", sample.token));
}

#[test]
fn tokens_in_json_are_masked() {
    check(
        "in JSON",
        |_| true,
        |sample| format!(r#"{{"level":"error","{}":"{}","n":1}}"#, sample.name.to_lowercase(), sample.token),
    );
    check(
        "in JSON with a neutral name",
        |sample| sample.is_own,
        |sample| format!(r#"{{"level":"error","value":"{}","n":1}}"#, sample.token),
    );
}

#[test]
fn tokens_in_lines_of_their_own_form_are_masked() {
    let lines: Vec<_> =
        SAMPLES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" line ")).collect();
    let lines = lines.into_iter().map(|(kind, line)| (kind, line.replace('¦', "")));
    let parts = lines.filter_map(|(kind, line)| {
        let (before, rest) = line.split_once('«')?;
        let (secret, behind) = rest.split_once('»')?;
        Some((kind, format!("{before}{secret}{behind}"), secret.to_owned()))
    });
    let parts: Vec<_> = parts.collect();
    let texts: Vec<_> = parts.iter().map(|(kind, text, secret)| (*kind, text.clone(), &**secret)).collect();
    assert!(texts.len() > 10);
    assert_masked("in a form of its own", &texts);
}

/// The list has each kind of token, so that the tests above measure what they promise.
#[test]
fn the_samples_have_all_kinds() {
    let kinds: std::collections::BTreeSet<_> = samples().iter().map(|sample| sample.kind).collect();
    assert!(kinds.len() > 200, "{}", kinds.len());
    assert_eq!(mask(&format!("x {} y", samples()[0].token)), format!("x {MASK} y"));
}
