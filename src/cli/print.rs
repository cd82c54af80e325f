//! Tables and text in the layout of kubectl.

use std::io::{self, Write};

use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::message::text;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Prints columns padded to their widest cell, three spaces apart. Cells are cleaned, because a name in a dump may
/// contain anything.
pub(super) fn table(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    const MOST: usize = 400;
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| text::line(cell, MOST)).collect()).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|i| {
            let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| columns(cell));
            cells.max().unwrap_or(0).max(columns(head[i]))
        })
        .collect();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width.saturating_sub(columns(cell)))));
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("   ").trim_end())
    };
    line(&mut head.iter().copied())?;
    rows.iter().try_for_each(|row| line(&mut row.iter().map(String::as_str)))
}

/// Number of terminal columns of a text.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Breaks a text into lines of `width` columns: at spaces, and within Japanese text, which has none. A longer word is a
/// line of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        for (place, part) in breakable(word).into_iter().enumerate() {
            let Some(line) = lines.last_mut() else { continue };
            let blank = usize::from(place == 0 && !line.is_empty());
            if !line.is_empty() && columns(line) + blank + columns(part) > width {
                lines.push(part.to_owned());
            } else {
                line.push_str(&" "[..blank]);
                line.push_str(part);
            }
        }
    }
    lines
}

/// Same as [`wrap`], and also breaks a word that is longer than a line.
pub(super) fn wrap_all(text: &str, width: usize) -> Vec<String> {
    wrap(text, width).iter().flat_map(|line| pieces(line, width)).collect()
}

/// Pieces of at most `width` columns, without regard to words.
pub(super) fn pieces(text: &str, width: usize) -> Vec<String> {
    let (mut pieces, mut piece, mut taken) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if taken + columns > width && taken > 0 {
            pieces.push(std::mem::take(&mut piece));
            taken = 0;
        }
        piece.push(c);
        taken += columns;
    }
    pieces.push(piece);
    pieces
}

/// Splits a word at the positions where a line may break. Japanese may break between any two characters, but not before
/// closing or after opening punctuation.
fn breakable(word: &str) -> Vec<&str> {
    if word.is_ascii() {
        return vec![word];
    }
    const NOT_FIRST: &str = "、。，．）」』】〕,.:;!?)]}ー…々ゃゅょっャュョッァィゥェォ";
    const NOT_LAST: &str = "（「『【〔([{";
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (at, c) in word.char_indices() {
        if let Some(last) = before {
            let may = is_wide(last) || is_wide(c);
            if may && !NOT_FIRST.contains(c) && !NOT_LAST.contains(last) {
                parts.push(&word[start..at]);
                start = at;
            }
        }
        before = Some(c);
    }
    parts.push(&word[start..]);
    parts
}

fn is_wide(c: char) -> bool {
    c.width().is_some_and(|columns| columns > 1)
}

/// An age in the format of kubectl: at most two units.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = seconds_between(since, now);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |whole: i64, unit: char, rest: i64, small: char| {
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{small}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use shindan_core::facts::after;

    use super::*;

    #[test]
    fn ages_have_the_format_of_kubectl() {
        let since = Timestamp::UNIX_EPOCH;
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (130, "2m10s"),
            (720, "12m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (32_400, "9h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
        ] {
            assert_eq!(age(since, after(since, seconds)), text);
        }
        assert_eq!(age(after(since, 60), since), "0s", "clocks differ");
    }

    #[test]
    fn a_table_is_aligned_and_clean() {
        let mut out = Vec::new();
        table(
            &mut out,
            &["A", "LONG"],
            &[vec!["x\u{1b}[31my".to_owned(), String::new()], vec!["z".into(), "w".into()]],
        )
        .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "A    LONG\nxy\nz    w\n");
    }

    #[test]
    fn lines_wrap_at_words_by_display_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("診断 診断", 8), ["診断 診", "断"]);
        assert_eq!(wrap("unbreakably long", 4), ["unbreakably", "long"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("コンテナ web は起動した。", 12), ["コンテナ web", "は起動した。"]);
        assert_eq!(wrap("診断した。次", 8), ["診断し", "た。次"], "no line begins with a full stop");
        assert_eq!(wrap("値「診断」", 5), ["値", "「診", "断」"], "none ends with what opens");
        assert_eq!(wrap("liveness を確認", 10), ["liveness", "を確認"]);
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken() {
        assert_eq!(
            wrap_all("at registry.example.com/web:1 it", 10),
            ["at", "registry.e", "xample.com", "/web:1", "it"]
        );
        assert_eq!(pieces("診断した", 5), ["診断", "した"], "wide characters take two columns");
        assert_eq!(wrap_all("one two", usize::MAX), ["one two"]);
        assert_eq!(pieces("", 5), [""]);
    }
}
