use super::*;
use crate::cli::found::testing::{IMAGE, failing, failing_for_the_third_time};

fn printed(found: &Found, width: usize, reading: Reading) -> String {
    let mut out = Vec::new();
    let now = "2026-11-21T09:10:00Z".parse().unwrap();
    write(found, reading, Style::plain(width, true), now, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn full(language: Language) -> Reading {
    Reading { detail: Detail::Full, language, collapses_ended: false }
}

#[test]
fn no_line_but_a_command_is_longer_than_the_terminal_is_wide() {
    for language in [Language::English, Language::Japanese] {
        let found = failing("checkout-6d4c9b7f5d-x2v8p", language);
        let text = printed(&found, 60, full(language));
        for line in text.lines().filter(|line| !line.contains("kubectl")) {
            assert!(columns(line) <= 60, "{} columns: {line}", columns(line));
            assert!(line.starts_with("✖ ") || line.starts_with("   ") || line.starts_with("  "), "its indent: {line}");
        }
        let plain: String = text.split_whitespace().collect();
        assert!(plain.contains(&format!("image{IMAGE}")) || plain.contains(IMAGE), "no part is lost: {text}");
        for part in ["checkout-6d4c9b7f5d-x2v8p", "ImageTagNotFound", "node-of-the-second-pool-1"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let whole = printed(&found, usize::MAX, full(language));
        let summary = &found.pods[0].status.head.summary;
        assert!(whole.lines().any(|line| line.trim() == summary), "one line in a pipe: {whole}");
    }
}

#[test]
fn ended_pods_of_a_node_are_counted() {
    let mut found = failing("web-1", Language::English);
    for (name, state) in
        [("web-2", DiagnosisState::Recovered), ("web-3", DiagnosisState::Gone), ("web-4", DiagnosisState::Recovered)]
    {
        let mut pod = failing(name, Language::English).pods.remove(0);
        pod.status.head.state = state;
        found.pods.push(pod);
    }
    let whole = printed(&found, usize::MAX, full(Language::English));
    assert!(whole.contains("Pod web-3") && !whole.contains("Ended pods"), "{whole}");
    let reading = Reading { collapses_ended: true, ..full(Language::English) };
    let short = printed(&found, usize::MAX, reading);
    assert!(short.contains("Pod web-1") && !short.contains("web-2") && !short.contains("web-3"), "{short}");
    assert!(short.ends_with("\n\n✔ Ended pods: 3 (2 Recovered, 1 Gone); -o table lists them\n"), "{short}");
    let japanese = printed(&found, usize::MAX, Reading { language: Language::Japanese, ..reading });
    assert!(japanese.ends_with("✔ 終了した Pod: 3 (2 Recovered, 1 Gone)。-o table で一覧\n"), "{japanese}");
    found.pods.remove(0);
    let ended = printed(&found, usize::MAX, reading);
    assert_eq!(ended, "✔ Ended pods: 3 (2 Recovered, 1 Gone); -o table lists them\n");
}

#[test]
fn workload_that_failed_before_has_the_number_and_the_last_end() {
    for (language, line) in [
        (Language::English, "3rd time in 7 days; last time ended by a rollback to revision 4, after 12 min\n"),
        (Language::Japanese, "7 日間で 3 回目。前回は revision 4 へのロールバックで終了 (継続時間 12 min)"),
    ] {
        let text = printed(&failing_for_the_third_time(), 120, full(language));
        assert!(text.contains(line), "{text}");
    }
}
