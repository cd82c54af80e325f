//! Shortens texts to a number of characters. What is left out is marked with an ellipsis, and a text never ends in the
//! middle of a word, a quote or a bracket.

use std::borrow::Cow;

use super::{split, text};

/// Hexadecimal digits from which a word counts as an ID, and how many of them are shown.
const ID_LENGTH: usize = 32;
const ID_SHOWN: usize = 12;

/// Characters from which a path is shortened to its last parts.
const PATH_LENGTH: usize = 48;

fn length(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn fits(text: &str, most: usize) -> bool {
    text.len() <= most || length(text) <= most
}

/// One clean line of at most `most` characters. If the text is longer, the clauses between the first and the last ones
/// are left out: the first names what fails, and the last states why.
pub fn fit(text: &str, most: usize) -> String {
    fit_line(&text::line(text, usize::MAX), most)
}

/// The same, for a text that is clean already.
pub(crate) fn fit_line(line: &str, most: usize) -> String {
    if fits(line, most) {
        return line.to_owned();
    }
    let line = short_paths(&short_ids(line)).replace(".svc.cluster.local", ".svc…");
    if fits(&line, most) {
        return line;
    }
    if let Some(short) = with_short_brackets(&line, most) {
        return short;
    }
    if let Some(short) = with_short_quote(&line, most) {
        return short;
    }
    let parts = split::parts(&line);
    let (Some(first), true) = (parts.first(), parts.len() > 1) else { return cut(&line, most) };
    let head = line[..first.end].trim_end();
    // No character takes more than 4 bytes.
    let tails = || {
        let each = parts[1..].iter().filter(|part| line.len() - part.start <= 4 * most + 1);
        each.map(|part| line[part.start..].trim_start()).filter(|tail| !tail.is_empty())
    };
    let with_head = |tail: &&str| length(head) + length(tail) + 4 <= most;
    if let Some(tail) = tails().find(with_head) {
        return format!("{head}: … {}", tail.trim_start_matches("… "));
    }
    // The last clause is why it fails: the first one gives way, if half of the room is enough for the last.
    match tails().next_back() {
        Some(tail) if length(tail) + 4 <= most / 2 => format!("{}: {tail}", cut(head, most - length(tail) - 2)),
        _ => cut(&line, most),
    }
}

/// Characters of a quote that are worth showing.
const QUOTE_SHOWN: usize = 20;

/// The line with its last quote shortened: a line of a log that ends a summary matters less than what precedes it. The
/// clause between the subject and the quote, such as `; it exits 4 s after each start`, matters even less.
fn with_short_quote(line: &str, most: usize) -> Option<String> {
    let (head, quote) = line.split_at(line.find(": \"").filter(|_| line.ends_with('"'))?);
    let subject = head.rsplit_once("; ").map(|(subject, _)| subject).filter(|subject| is_balanced(subject));
    let head = subject.unwrap_or(head);
    let room = most.saturating_sub(length(head));
    (room >= QUOTE_SHOWN).then(|| format!("{head}{}", cut_quote(quote, room))).or_else(|| Some(fit_line(head, most)))
}

/// A clean quote at the end of a summary, `: "..."`, in at most `most` characters.
pub(crate) fn cut_quote(quote: &str, most: usize) -> String {
    let inner = quote.strip_prefix(": \"").and_then(|quote| quote.strip_suffix('"'));
    // A quote mark behind a word closes: then this is not one quote, but text between two.
    let closes = |inner: &str| {
        inner.find('"').is_some_and(|at| inner[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ')')))
    };
    match inner.filter(|inner| !fits(quote, most) && !closes(inner)) {
        Some(inner) if most >= QUOTE_SHOWN => {
            let shown = short_error(inner, most - 4);
            let whole = format!(": \"{shown}\"");
            if has_open_quote(&shown) || !fits(&whole, most) { cut(quote, most) } else { whole }
        }
        _ => cut(quote, most),
    }
}

/// Whether a quote mark has no partner.
pub(super) fn has_open_quote(text: &str) -> bool {
    text.bytes().filter(|b| *b == b'"').count() % 2 == 1
}

/// Whether a clause names something: it has a digit, a quote or a path in it.
pub(super) fn has_name(clause: &str) -> bool {
    clause.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'"' | b'/' | b'\''))
}

/// Words of a label at the beginning of a line, such as `Error` or `KafkaException`.
const LABEL_WORDS: usize = 2;

/// A line that reports an error, in at most `most` characters: labels at its beginning go first, then its middle. Its
/// beginning has the operation, and its last clauses the leaf with the object next to it.
pub(crate) fn error_line(line: &str, most: usize) -> String {
    short_error(&text::line(line, usize::MAX), most)
}

fn short_error(mut line: &str, most: usize) -> String {
    if !fits(line, most)
        && let Some((before, _)) = line.split_once(": current time ")
    {
        line = before;
    }
    let bare = if fits(line, most) { Cow::Borrowed(line) } else { without_noise(line) };
    let mut line = &*bare;
    while !fits(line, most)
        && let Some((label, rest)) = line.split_once(": ")
        && label.split(' ').count() <= LABEL_WORDS
        && !label.contains(['/', '"', '\'', '.', '`', '[', '='])
        && rest.contains(' ')
        && !rest.starts_with('"')
    {
        line = rest;
    }
    if fits(line, most) {
        return line.to_owned();
    }
    let short = short_ids(line);
    let line = &*short;
    // The mark of an earlier cut separates, too.
    let ends = line.match_indices(": ").chain(line.match_indices("… ")).map(|(at, end)| at + end.len());
    let mut clauses: Vec<usize> = ends.collect();
    clauses.sort_unstable();
    let size = |from: usize| length(&line[from..]);
    // The last clauses take up to half of the room, the last one alone some more.
    let half = clauses.iter().copied().find(|from| size(*from) * 2 <= most);
    let last = clauses.last().copied().filter(|from| size(*from) * 5 <= most * 3);
    // A short beginning that names nothing gives way to a last clause that fits.
    let whole = clauses.last().copied().filter(|from| size(*from) <= most && !has_name(&line[..*from]));
    let shortened = match (half.or(last), whole) {
        (Some(from), _) => join(&line[..from], &line[from..], most - size(from) - 1),
        (None, Some(from)) => line[from..].to_owned(),
        // The last clause is long: it begins with its subject.
        (None, None) => match clauses.last().copied().filter(|from| *from * 2 > most) {
            Some(from) if comparison(&line[from..], most * 7 / 10).is_none() => {
                let head = most * 2 / 5;
                join(&line[..from], &cut(&line[from..], most - head - 1), head)
            }
            _ => match comparison(line, most * 7 / 10) {
                Some(from) => join(&line[..from], &line[from..], most - size(from) - 1),
                None => cut(line, most),
            },
        },
    };
    if has_open_quote(&shortened) && !has_open_quote(line) { cut(line, most) } else { shortened }
}

/// The line without numbers of errors whose words follow, and without the user in URLs: `[Errno -2] Name or service not
/// known`, `amqp://shop:***@rabbitmq`.
fn without_noise(line: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(line);
    if let Some((before, rest)) = line.split_once("[Errno ")
        && let Some((_, after)) = rest.split_once("] ")
    {
        out = format!("{before}{after}").into();
    }
    let user = out.split_once("://").and_then(|(scheme, rest)| {
        let (_, host) = rest.split_once('@').filter(|(user, _)| !user.contains([' ', '/']))?;
        Some(format!("{scheme}://{host}"))
    });
    user.map_or(out, Cow::Owned)
}

/// What joins the expected value and the one that was found.
const COMPARISONS: &[&str] = &[" expected ", " want ", " got ", " but was ", " but found ", " instead of "];

/// Where a comparison begins that ends the line and takes at most `most` characters: the values are what decides.
fn comparison(line: &str, most: usize) -> Option<usize> {
    let starts = COMPARISONS.iter().filter_map(|words| line.rfind(words)).map(|at| at + 1);
    let fitting = |from: &usize| length(&line[*from..]) <= most && !has_open_quote(&line[*from..]);
    starts.filter(fitting).min()
}

/// The beginning of a line in at most `most` characters, and its end.
fn join(head: &str, tail: &str, most: usize) -> String {
    // The mark takes one character.
    let head = cut(head.trim_end_matches([':', ' ']), most.saturating_sub(1));
    // A quote that begins in what is left out.
    let tail = if has_open_quote(tail) { tail.trim_end_matches('"') } else { tail };
    let mark = if head.contains('…') { "" } else { "…" };
    format!("{head}{mark} {tail}")
}

/// The line with the first clauses in the brackets at its end left out: `cannot connect to x (… connection refused)`.
fn with_short_brackets(line: &str, most: usize) -> Option<String> {
    let pair = split::pairs(line).pop().filter(|pair| pair.close + 1 == line.len())?;
    let inner = line.get(pair.open + 1..pair.close).filter(|_| line.ends_with(')'))?;
    let head = line.get(..=pair.open)?;
    let room = most.checked_sub(length(head) + 3)?;
    let tails = split::parts(inner).into_iter().skip(1).map(|part| inner[part.start..].trim_start());
    let tail = tails.into_iter().find(|tail| !tail.is_empty() && tail.len() <= 4 * room && length(tail) <= room)?;
    Some(format!("{head}… {tail})"))
}

/// Cuts to at most `most` characters at the end of a word, and closes the quotes and brackets that are open there.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if most == 0 {
        return String::new();
    }
    if fits(text, most) {
        return text.to_owned();
    }
    let mut room = most.saturating_sub(1);
    loop {
        let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        let kept = &text[..word_end(text, end)];
        let kept = kept.trim_end_matches([' ', ',', ';', ':', '(', '[', '{', '"', '\'', '`', '=', '…']);
        let closing = unclosed(kept);
        let count = length(kept) + closing.len() + 1;
        if count <= most || room == 0 {
            return format!("{kept}…{closing}");
        }
        room = room.min(length(kept)).saturating_sub(count - most);
    }
}

/// Where the last whole word before `end` ends. A word that takes more than half of the text is cut where its parts meet.
fn word_end(text: &str, end: usize) -> usize {
    let before = &text[..end];
    if text[end..].starts_with(char::is_whitespace) {
        return end;
    }
    let is_wide = |c: char| !c.is_ascii() && c.is_alphabetic();
    // Scripts without blanks between words end anywhere.
    if before.chars().next_back().is_some_and(is_wide) {
        return end;
    }
    match before.rfind(char::is_whitespace) {
        Some(at) if at * 2 >= end => at,
        _ => before.rfind(|c: char| !c.is_alphanumeric()).filter(|at| at * 2 >= end).unwrap_or(end),
    }
}

/// What closes the quotes and brackets that are open at the end of a text.
fn unclosed(text: &str) -> String {
    let pairs = split::pairs(text);
    let mut pairs = pairs.iter().peekable();
    let mut closing = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(pair) = pairs.next_if(|pair| pair.open <= at) {
            at = at.max(pair.close + 1);
            continue;
        }
        let follows_word = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        match bytes[at] {
            b'(' => closing.push(')'),
            b'[' => closing.push(']'),
            b'{' => closing.push('}'),
            b'"' if !follows_word => closing.push('"'),
            _ => {}
        }
        at += 1;
    }
    // More than a few are no text but noise.
    if closing.len() > 4 {
        return String::new();
    }
    closing.iter().rev().collect()
}

/// The text with long hexadecimal IDs cut to their first digits.
pub(super) fn short_ids(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut from, mut start) = (0, 0);
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if byte.is_ascii_hexdigit() {
            continue;
        }
        let ends_word = !byte.is_ascii_alphanumeric();
        if at - start >= ID_LENGTH && ends_word {
            out.push_str(&text[from..start + ID_SHOWN]);
            out.push('…');
            from = at;
        }
        start = at + 1;
    }
    if from == 0 {
        return text.into();
    }
    out.push_str(&text[from..]);
    out.into()
}

/// The text with the middle of long paths left out, the queries of URLs, the heads of ARNs and the content of maps:
/// `/var/…/rootfs/etc/app`.
fn short_paths(text: &str) -> Cow<'_, str> {
    if !text.contains(['/', '[']) && !text.contains(" in API group ") {
        return text.into();
    }
    let text = short_maps(text);
    let text = without_api_group(&text);
    let mut out = String::new();
    for word in text.split_inclusive(' ') {
        if let Some(scheme) = word.find("://") {
            push_short_url(&mut out, word, scheme + 3);
            continue;
        }
        let arn = word.find("arn:aws").filter(|at| *at < 3);
        if let Some((start, (resource, _))) = arn.zip(word.match_indices(':').nth(4)) {
            out.push_str(&word[..start]);
            out.push_str("arn:…");
            out.push_str(&word[resource..]);
            continue;
        }
        match path_in(word) {
            Some((start, end)) if end - start > PATH_LENGTH => {
                out.push_str(&word[..start]);
                out.push_str(&short_path(&word[start..end]));
                out.push_str(&word[end..]);
            }
            _ => out.push_str(word),
        }
    }
    out.into()
}

/// Start and end of the path in a word: `"/a/b":`, `disk(/a/b)`, `target=/a/b,`.
fn path_in(word: &str) -> Option<(usize, usize)> {
    let bytes = word.as_bytes();
    let begins = |at: &usize| at.checked_sub(1).is_none_or(|before| b"([{=,\"'`".contains(&bytes[before]));
    let of_google = word.find("projects/").filter(begins);
    let start = of_google.or_else(|| word.match_indices('/').map(|(at, _)| at).find(begins))?;
    let end = word[start..].find([')', '"', '\'', ']', ',', ';', '`', ' ']).map_or(word.len(), |at| start + at);
    let path = word[start..end].trim_end_matches([':', '.']);
    // A share of a server is short.
    (!path.starts_with("//")).then_some((start, start + path.len()))
}

/// Adds a URL without its query and without the middle of a long path: `https://10.96.0.1:443/…/default`.
fn push_short_url(out: &mut String, word: &str, host: usize) {
    let (url, query) = word.split_once('?').unwrap_or((word, ""));
    let path = url[host..].find('/').map_or(url.len(), |at| host + at);
    let last = url.rfind('/').filter(|last| url.len() > PATH_LENGTH && path < *last);
    match last {
        Some(last) => {
            out.push_str(&url[..path]);
            out.push_str("/…");
            out.push_str(&url[last..]);
        }
        None => out.push_str(url),
    }
    if url.len() < word.len() {
        out.push_str("?…");
        out.push_str(&query[query.trim_end_matches(['"', ':', ' ', ',', ';', ')']).len()..]);
    }
}

fn short_path(path: &str) -> Cow<'_, str> {
    let segments = |count: usize| path.rmatch_indices('/').take(count).last().map(|(at, _)| &path[at..]);
    // Only the ends of these name something: a directory of the kubelet, a resource of Azure or Google.
    if path.starts_with("/var/lib/kubelet/") {
        return format!("/var/…{}", segments(1).unwrap_or_default()).into();
    }
    if path.starts_with("/subscriptions/") || path.starts_with("projects/") {
        return format!("…{}", segments(2).unwrap_or_default()).into();
    }
    let second = path.match_indices('/').nth(1).map(|(at, _)| at);
    match second.zip(segments(3)) {
        Some((second, tail)) if second + tail.len() < path.len() => format!("{}/…{tail}", &path[..second]).into(),
        _ => path.into(),
    }
}

/// The text without the group of a resource that RBAC refuses: its name is enough.
fn without_api_group(text: &str) -> Cow<'_, str> {
    let Some((before, rest)) = text.split_once(" in API group \"") else { return text.into() };
    let Some((_, after)) = rest.split_once('"') else { return text.into() };
    format!("{before}{after}").into()
}

/// Bytes from which a map as Go prints it is left out.
const MAP_LENGTH: usize = 30;

/// The text with the content of long maps left out: `map[…]`.
fn short_maps(text: &str) -> Cow<'_, str> {
    if !text.contains("map[") {
        return text.into();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("map[") {
        out.push_str(before);
        out.push_str("map[");
        let length = inside.find(']').unwrap_or(0);
        if length > MAP_LENGTH {
            out.push('…');
            rest = &inside[length..];
        } else {
            rest = inside;
        }
    }
    out.push_str(rest);
    out.into()
}

/// One clean line of at most `most` characters. If the text is longer, its middle is left out.
pub(crate) fn value(text: &str, most: usize) -> String {
    let line = text::line(text, usize::MAX);
    if fits(&line, most) { line } else { both_ends(&line, most) }
}

/// The beginning and the end of a line in at most `most` characters, without cut words.
pub(super) fn both_ends(line: &str, most: usize) -> String {
    let size = length(line);
    if size <= most {
        return line.to_owned();
    }
    let at = |characters: usize| line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    let from = at(size - most / 2);
    let tail = line[from..].split_once(' ').map_or(&line[from..], |(_, words)| words);
    let room = most - length(tail) - 2;
    let head = &line[..at(room)];
    let head = head.rsplit_once(' ').map_or(head, |(words, _)| words).trim_end();
    format!("{head}… {tail}")
}

/// An error of at most `most` characters. Sentences behind the first one give way, then the middle: both ends of an
/// error matter.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    if fits(text, most) {
        return text.to_owned();
    }
    let text = first_sentence(text);
    if fits(text, most) {
        return text.to_owned();
    }
    let room = most * 2 / 5;
    let words = text.match_indices(' ').map(|(at, _)| at + 1).filter(|start| text.len() - start <= 4 * room);
    let tail = words.map(|start| &text[start..]).find(|tail| length(tail) <= room && is_balanced(tail));
    let Some(tail) = tail.filter(|tail| tail.contains(' ')) else { return cut(text, most) };
    let head = text[..text.len() - tail.len()].trim_end();
    format!("{} {tail}", cut(head, most - length(tail) - 1))
}

/// The first sentence of a text, if it has more than a few words.
fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let is_end = |at: &usize| text[at + 2..].starts_with(char::is_uppercase) && text[..*at].split(' ').count() > 3;
    ends.take(8).find(is_end).map_or(text, |at| &text[..at])
}

/// Whether each quote and bracket of a text has its partner.
fn is_balanced(text: &str) -> bool {
    let (mut round, mut square, mut curly) = (0_i32, 0_i32, 0_i32);
    for byte in text.bytes() {
        match byte {
            b'(' => round += 1,
            b')' => round -= 1,
            b'[' => square += 1,
            b']' => square -= 1,
            b'{' => curly += 1,
            b'}' => curly -= 1,
            _ => {}
        }
        if round < 0 || square < 0 || curly < 0 {
            return false;
        }
    }
    (round, square, curly) == (0, 0, 0) && !has_open_quote(text)
}

/// A name of at most `most` characters: the middle is left out where it is longer, because both ends of a path or an
/// image matter.
pub fn name(name: &str, most: usize) -> String {
    if fits(name, most) {
        return name.to_owned();
    }
    // Mask secrets before the cut: no pattern recognizes a part of a secret.
    let name = text::line(name, usize::MAX);
    let count = length(&name);
    if count <= most {
        return name;
    }
    let half = most.saturating_sub(1) / 2;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(count - half).collect();
    format!("{head}…{tail}")
}

/// The text with long paths shortened, if it is longer than `most`.
pub(super) fn with_short_names(text: &str, most: usize) -> Cow<'_, str> {
    if fits(text, most) { text.into() } else { short_paths(text) }
}

/// Characters of a quote or bracket that is shown whole; of one in the leaf, which may be what matters, more of them.
const GROUP: usize = 40;
const GROUP_OF_LEAF: usize = 56;

/// The text with long quotes shortened, and the content of long brackets left out: `unit "a.scope" (…)`. Quotes in the
/// leaf stay.
pub(super) fn with_short_groups(text: &str, is_leaf: bool) -> Cow<'_, str> {
    let most = if is_leaf { GROUP_OF_LEAF } else { GROUP };
    if fits(text, most) {
        return text.into();
    }
    let (mut out, mut from) = (String::new(), 0);
    for pair in split::pairs(text) {
        let inner = &text[pair.open + 1..pair.close];
        let is_bracket = matches!(text.as_bytes()[pair.open], b'(' | b'[' | b'{');
        if fits(inner, most) || inner.starts_with('/') || inner.contains("://") || is_leaf && !is_bracket {
            continue;
        }
        out.push_str(&text[from..=pair.open]);
        out.push_str(&if is_bracket { "…".to_owned() } else { name(inner, GROUP) });
        from = pair.close;
    }
    if from == 0 {
        return text.into();
    }
    out.push_str(&text[from..]);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_keeps_both_ends_and_masks_secrets() {
        assert_eq!(name("registry.example.com/team/web:1.2.3", 21), "registry.e…/web:1.2.3");
        assert_eq!(name("short", 21), "short");
        let token = "ghp_".to_owned() + &"Ab1".repeat(12);
        for most in 10..60 {
            let cut = name(&format!("docker.io/push-{token}/web:{}", "1".repeat(30)), most);
            assert!(!cut.contains("Ab1"), "{cut}");
        }
    }

    #[test]
    fn default_domain_of_a_cluster_gives_way_to_the_end_of_a_text() {
        let text = "node rabbit@rabbitmq-0.rabbitmq-nodes.mq.svc.cluster.local is not running";
        assert_eq!(fit(text, 80), text);
        assert_eq!(fit(text, 65), "node rabbit@rabbitmq-0.rabbitmq-nodes.mq.svc… is not running");
    }

    #[test]
    fn names_and_the_middle_are_shortened() {
        let kubelet = "/var/lib/kubelet/pods/5b0e8f6e-6a1c-4a52-9a53-0c1f6f3f9b21/volumes/kubernetes.io~csi/a/mount";
        let disk = "/subscriptions/0f1e2d3c/resourceGroups/mc_shop/providers/Microsoft.Compute/disks/d1";
        for (text, expected) in [
            (format!("mount at \"{kubelet}\": no"), "mount at \"/var/…/mount\": no"),
            (format!("resize disk({disk})"), "resize disk(…/disks/d1)"),
            ("labels map[a.example.com/zone:1 b.example.com/zone:2] of it".to_owned(), "labels map[…] of it"),
            ("on arn:aws:ec2:eu-west-1:111122223333:volume/* or so".to_owned(), "on arn:…:volume/* or so"),
        ] {
            assert_eq!(short_paths(&text), expected);
        }
        let text = "the new claim must be greater than its source in size, requested 5 but source is 9";
        assert_eq!(cut_middle(text, 60), "the new claim must be greater than its… 5 but source is 9");
        assert_eq!(cut_middle("It reached the limit. Wait for 6 hours", 30), "It reached the limit");
    }

    #[test]
    fn cut_ends_with_a_word_and_closes_quotes() {
        assert_eq!(cut("the quick brown fox", 12), "the quick…");
        assert_eq!(cut(r#"it printed "no such user in the file""#, 26), r#"it printed "no such user…""#);
        assert_eq!(cut("web (exit code 1, restarted twice)", 20), "web (exit code 1…)");
        assert_eq!(cut("ありがとう", 3), "あり…");
        assert_eq!(cut("abcdefghij", 5), "abcd…");
        assert_eq!(cut("a", 0), "");
    }

    #[test]
    fn fit_leaves_out_the_middle() {
        let text = "the pod is not ready: volume data cannot be mounted: failed to do one thing: failed to do another: permission denied";
        assert_eq!(fit(text, 80), "the pod is not ready: … failed to do another: permission denied");
        assert_eq!(fit("short: text", 80), "short: text");
        let text =
            r#"app needs a variable, which is not set; it exits at once: "Error: "A" is not specified in the file""#;
        assert_eq!(fit(text, 80), r#"app needs a variable, which is not set: ""A" is not specified in the file""#);
        assert_eq!(
            fit("image a/b cannot be pulled: node n cannot reach r (Get x: dial y: refused)", 66),
            "image a/b cannot be pulled: node n cannot reach r (… refused)"
        );
        let id = "a".repeat(64);
        assert_eq!(
            fit(&format!("failed to remove {id}: it is busy"), 60),
            "failed to remove aaaaaaaaaaaa…: it is busy"
        );
    }
}
