//! What holds of the summary of any message: the leaf survives, and nothing ends in the middle of a word or a quote.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use super::{Message, fit, text};

/// Enclosing messages, around an error in place of `{}`.
const WRAPPERS: &[&str] = &[
    "{}",
    "Error: {}",
    "rpc error: code = Unknown desc = {}",
    "rpc error: code = Internal desc = {}",
    "Failed to create pod sandbox: rpc error: code = Unknown desc = {}",
    r#"failed to setup network for sandbox "3f1b7c9a2d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8": {}"#,
    r#"plugin type="calico" name="k8s-pod-network" failed (add): {}"#,
    r#"MountVolume.SetUp failed for volume "data" : {}"#,
    r#"AttachVolume.Attach failed for volume "pvc-3f1c2a77-2f0e-4a56-8a0e-1a2b3c4d5e6f" : {}"#,
    r#"failed to provision volume with StorageClass "gp3": {}"#,
    r#"Could not attach volume "vol-1" to node "i-1": {}"#,
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: {}: unknown",
    "unable to start container process: error during container init: {}",
    r#"Failed to pull image "r.io/a/b:1": failed to pull and unpack image "r.io/a/b:1": {}"#,
    r#"failed to do request: Head "https://r.io/v2/a/b/manifests/1": {}"#,
    "Internal error occurred: {}",
    "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs a:/b /c\nOutput: {}\n",
    "Error response from daemon: {}",
    "failed to authorize: {}",
    "operation error EC2: AttachVolume, https response error StatusCode: 400, RequestID: 6f2a-1, api error Busy: {}",
    r#"failed: desc = "{}""#,
    "{}, failed to clean up sandbox: it hangs",
    "{}\n\tstatus code: 403, request id: 0f1e2d",
    "failed to do an unusual thing to /some/path/of/it: {}",
];

/// Errors, as components end their messages with.
const LEAVES: &[&str] = &[
    "dial tcp 10.0.9.9:443: connect: connection refused",
    "no IP addresses available in range set: 10.244.1.1-10.244.1.254",
    "open /run/flannel/subnet.env: no such file or directory",
    "Too many volumes attached to the node",
    "access denied by server while mounting nas:/export/shop",
    "lookup auth.example.com on 10.0.0.2:53: no such host",
    "context deadline exceeded",
    r#"serviceaccounts "builder" not found"#,
    "the disk d-1 (of zone eu-1a, size: 5Gi) is in use",
    "unexpected commit digest sha256:0f3c, expected sha256:6a1b",
    "診断できません: ディスクがない",
    "quux is not ready",
];

fn chain() -> impl Strategy<Value = (String, &'static str)> {
    (proptest::collection::vec(select(WRAPPERS), 0..9), select(LEAVES)).prop_map(|(wrappers, leaf)| {
        let text = wrappers.iter().fold(leaf.to_owned(), |inner, wrapper| wrapper.replace("{}", &inner));
        (text, leaf)
    })
}

/// The last clause of an error, without quotes.
fn last_of(leaf: &str) -> &str {
    leaf.rsplit(": ").next().unwrap_or(leaf)
}

/// Whether a shortened text ends where a word of the original does.
fn ends_with_word(short: &str, original: &str) -> bool {
    let Some(kept) = short.trim_end_matches(['"', ')', ']', '}']).strip_suffix('…') else { return true };
    let word = kept.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // Long words and scripts without blanks have no other end.
    word.is_empty()
        || word.chars().count() > 12
        || !word.is_ascii()
        || original.split(|c: char| !c.is_alphanumeric()).any(|whole| whole == word)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn the_leaf_of_any_chain_survives((text, leaf) in chain(), most in 70_usize..200) {
        let summary = Message::parse(&text).summary(most, &[]);
        prop_assert!(summary.chars().count() <= most, "{summary}");
        prop_assert!(summary.contains(last_of(leaf)), "{text}\n{summary}");
        let prefixed = format!("its only pod is not ready: the pod's sandbox cannot be created on node node-1: {summary}");
        let cut = fit(&prefixed, text::SUMMARY_MAX);
        prop_assert!(cut.contains(last_of(leaf)), "{prefixed}\n{cut}");
    }

    #[test]
    fn no_summary_ends_in_a_word_or_a_quote(words in proptest::collection::vec("[a-z]{1,9}|\"[a-z][a-z ]{0,18}[a-z]\"|\\([a-z]{1,9} [a-z]{1,9}\\)|[a-z]{2,6}:", 0..60), most in 20_usize..200) {
        let text = words.join(" ");
        for short in [Message::parse(&text).summary(most, &[]), fit(&text, most)] {
            prop_assert!(short.chars().count() <= most, "{short}");
            prop_assert!(ends_with_word(&short, &text), "{text}\n{short}");
            let quotes = short.matches('"').count();
            prop_assert!(quotes % 2 == 0 || text.matches('"').count() % 2 == 1, "{text}\n{short}");
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), most in 0_usize..300) {
        let message = Message::parse(&text);
        let summary = message.summary(most, &[]);
        prop_assert!(summary.chars().count() <= most.max(1), "{summary:?}");
        let _ = (message.leaf(), message.operation(), message.object(), message.codes());
        prop_assert!(fit(&text, most).chars().count() <= most.max(1));
    }

    #[test]
    fn any_marks_are_read(text in "[\"'`(){}\\[\\]:;,.*\\\\ \\na=診]{0,80}", most in 0_usize..60) {
        prop_assert!(Message::parse(&text).summary(most, &["a"]).chars().count() <= most.max(1));
        prop_assert!(fit(&text, most).chars().count() <= most.max(1));
    }
}

#[test]
fn json_is_never_shown_by_halves() {
    let object =
        format!(r#"{{"error": {{"code": "X", "message": "no quota", "details": [{}]}}}}"#, "{\"a\": 1},".repeat(500));
    for text in [format!("cannot create: {object}"), format!("cannot create: {}", &object[..900])] {
        assert_eq!(Message::parse(&text).summary(90, &[]), "cannot create: X: no quota");
    }
}

#[test]
fn long_and_deeply_nested_texts_are_read_in_linear_time() {
    let megabyte = 1 << 20;
    for text in [
        "a: ".repeat(megabyte / 3),
        "\"".repeat(megabyte),
        "(".repeat(megabyte),
        "{\"a\":".repeat(megabyte / 5),
        "rpc error: code = Unknown desc = ".repeat(megabyte / 33),
        "[".repeat(megabyte / 2) + &"]".repeat(megabyte / 2),
        "x caused \"".repeat(megabyte / 10),
        "\\\"".repeat(megabyte / 2),
        "request id: ".repeat(megabyte / 12),
        "* a\n".repeat(megabyte / 4),
        "/a".repeat(megabyte / 2),
        "診".repeat(megabyte / 3),
        ", failed to a: b".repeat(megabyte / 16),
    ] {
        assert!(Message::parse(&text).summary(120, &["a"]).chars().count() <= 120);
        assert!(fit(&text, 200).chars().count() <= 200);
    }
}
