//! Describes an error in a few words: operation, object and leaf, without wrappers and repetition.

use super::chain::{Clause, Message};
use super::shorten::{self, fits, has_name};
use super::wrapper::{self, Rank};

/// Words of a clause that name nothing, in lower case.
const FILLERS: &[&str] =
    &["a", "an", "the", "to", "for", "of", "in", "on", "at", "is", "was", "with", "and", "from", "by", "it"];

/// Characters of a clause from which a part of it is informative.
const LONG: usize = 60;

/// Bytes of a clause that are searched for in the clauses before it.
const COMPARED: usize = 300;

impl Message<'_> {
    /// The error in at most `most` characters: what failed, its object and why.
    ///
    /// Wrappers and repetition go first, also of the names in `shown`, which the reader sees already. Then the clauses
    /// with the least information give way, and an ellipsis marks them. The leaf stays.
    pub fn summary(&self, most: usize, shown: &[&str]) -> String {
        let Some(leaf) = self.leaf_place() else { return String::new() };
        let core = self.core_start(leaf);
        let mut kept: Vec<Part> = Vec::new();
        let mut seen = shown.join(" ").to_lowercase();
        for (place, clause) in self.clauses()[..=leaf].iter().enumerate() {
            let words = self.words(*clause);
            let is_core = place >= core && clause.rank > Rank::Frame && !is_exit(words) || place == leaf;
            if !is_core && let Some(plugin) = plugin(words).filter(|name| !seen.contains(name)) {
                seen.push(' ');
                seen.push_str(plugin);
                let text = format!("plugin \"{plugin}\"");
                kept.push(Part { text, is_core: false, is_code: false, is_shown: true });
                continue;
            }
            if !is_core && clause.rank < Rank::Context || repeats(words, &seen, (place == leaf).then_some(clause.rank))
            {
                continue;
            }
            seen.push(' ');
            seen.push_str(&words.to_lowercase());
            let is_code = place < leaf && is_code(words);
            kept.push(Part { text: without_shown(words, shown).to_owned(), is_core, is_code, is_shown: true });
        }
        if kept.is_empty() {
            // All of it stands in the summary already, but for the error itself.
            let text = self.words(self.clauses()[leaf]).to_owned();
            kept.push(Part { text, is_core: true, is_code: false, is_shown: true });
        }
        let error = shortened(kept, most);
        self.with_others(self.with_code(error, most), most)
    }

    /// The first clause of the error itself: a condition such as `permission denied` needs the clauses before it, up to
    /// one that names its object.
    fn core_start(&self, leaf: usize) -> usize {
        let clauses = self.clauses();
        let mut start = leaf;
        while start > 0
            && (clauses[start].rank == Rank::Condition || start == leaf && clauses[start].rank < Rank::Context)
        {
            let is_informative = |clause: &Clause| clause.rank > Rank::Frame && !is_exit(self.words(*clause));
            let Some(before) = clauses[..start].iter().rposition(is_informative) else { break };
            start = before;
        }
        start
    }

    /// Adds the code, if it is specific, no word states the same, and there is room.
    fn with_code(&self, error: String, most: usize) -> String {
        let codes = self.codes();
        let grpc = codes.grpc.filter(|code| code.adds_to(&error)).map(|code| code.name().to_owned());
        let http =
            codes.http.filter(|status| !error.contains(&status.to_string())).map(|status| format!("HTTP {status}"));
        let Some(code) = http.or(grpc) else { return error };
        let with_code = format!("{error} ({code})");
        if !error.ends_with('…') && fits(&with_code, most) { with_code } else { error }
    }

    /// Adds the errors that the message joins to the first one, if there is room, or an ellipsis.
    fn with_others(&self, mut error: String, most: usize) -> String {
        for other in self.others() {
            let other = Message::parse(other).summary(most, &[]);
            if repeats(&other, &error.to_lowercase(), None) {
                continue;
            }
            let with_other = format!("{error}; {other}");
            if fits(&with_other, most) {
                error = with_other;
            } else if fits(&error, most.saturating_sub(3)) && !error.ends_with('…') {
                error.push_str("; …");
            }
        }
        error
    }
}

/// Whether a clause names something.
fn names(clause: &str) -> bool {
    has_name(clause) || is_field(clause)
}

/// Whether a clause is the path of a field, such as `spec.selector`.
fn is_field(clause: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
    clause.contains('.') && clause.starts_with(|c: char| c.is_ascii_lowercase()) && clause.split('.').all(is_part)
}

/// Whether a clause states only that a command failed. What the command printed follows.
fn is_exit(clause: &str) -> bool {
    clause.starts_with("exit status ")
}

/// The network plugin of a clause of CNI: `plugin type="calico" name="k8s-pod-network" failed (add)`.
fn plugin(clause: &str) -> Option<&str> {
    clause.strip_prefix("plugin type=\"")?.split_once('"').map(|(name, _)| name).filter(|name| !name.is_empty())
}

/// A clause that is shown.
struct Part {
    text: String,
    /// Belongs to the error itself.
    is_core: bool,
    /// The code of an API that the error begins with.
    is_code: bool,
    /// False if there is no room for it.
    is_shown: bool,
}

/// What names of functions begin with: `GetNetworkDelegates`.
const VERBS: &[&str] =
    &["Add", "Cmd", "Conf", "Create", "Del", "Get", "Load", "New", "Parse", "Read", "Set", "Try", "Write"];

/// Whether a clause is the code that an API gives an error: `UnauthorizedOperation`, `InvalidVolume.ZoneMismatch`.
fn is_code(clause: &str) -> bool {
    let of = |is: fn(&u8) -> bool| clause.bytes().filter(is).count();
    (8..60).contains(&clause.len())
        && clause.starts_with(|c: char| c.is_ascii_uppercase())
        && !VERBS.iter().any(|verb| clause.starts_with(verb))
        && clause.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.')
        && of(u8::is_ascii_uppercase) > 1
        && of(u8::is_ascii_lowercase) > 2
}

/// Joins the clauses. If they are too long, those outside of the core give way: first those without a name, the
/// outermost first. Those that still fit then return, the innermost first.
fn shortened(mut parts: Vec<Part>, most: usize) -> String {
    for part in &mut parts {
        part.text = shorten::short_ids(&part.text).into_owned();
    }
    let joined = join(&parts);
    if fits(&joined, most) {
        return finished(&joined);
    }
    let last = parts.len() - 1;
    for (place, part) in parts.iter_mut().enumerate() {
        part.text = shorten::with_short_names(&part.text, most / 2).into_owned();
        part.text = shorten::with_short_groups(&part.text, place == last).into_owned();
    }
    let core = parts.iter().position(|part| part.is_core).unwrap_or(parts.len());
    let mut joined = join(&parts);
    while !fits(&joined, most) {
        // The clause next to the core has the most information.
        let enclosing = &parts[..core.saturating_sub(1)];
        let gives_way = |part: &Part| part.is_shown && !part.is_code;
        let least = |named: bool| enclosing.iter().position(|part| gives_way(part) && names(&part.text) == named);
        let next = core.checked_sub(1).filter(|place| gives_way(&parts[*place]));
        let Some(place) = least(false).or_else(|| least(true)).or(next) else { return with_leaf(parts, most) };
        // Of a long clause next to the core, most may fit.
        let own = parts[place].text.chars().count();
        let room = (most + own).saturating_sub(joined.chars().count());
        if Some(place) == next && own >= LONG && room * 3 > own * 2 {
            parts[place].text = shorten::cut_middle(&parts[place].text, room);
            return finished(&join(&parts));
        }
        parts[place].is_shown = false;
        joined = join(&parts);
    }
    for place in (0..core).rev() {
        let is_sentence = names(&parts[place].text) && !parts[place].text.starts_with(['[', '(']);
        if is_sentence && !parts[place].is_shown {
            parts[place].is_shown = true;
            parts[place].is_shown = fits(&join(&parts), most);
        }
    }
    finished(&join(&parts))
}

/// The core alone is too long: the leaf stays whole as far as it can.
fn with_leaf(mut parts: Vec<Part>, most: usize) -> String {
    // The code of an API and the leaf have most of the information.
    if let Some(code) = parts.iter().rposition(|part| part.is_code)
        && let Some(leaf) = parts.last()
    {
        let first = shorten::cut_middle(&leaf.text, leaf.text.chars().count() * 2 / 3);
        let whole = [leaf.text.as_str(), first.as_str()];
        let joint = if code + 2 == parts.len() { "" } else { "… " };
        let with = |error: &&str| format!("{}: {joint}{error}", parts[code].text);
        // The rest of a leaf of several sentences is worth less than the code.
        let of_sentence = |error: &&&str| **error == leaf.text || leaf.text.starts_with(**error);
        if let Some(short) = whole.iter().filter(of_sentence).map(with).find(|error| fits(error, most)) {
            return finished(&short);
        }
    }
    let Some(leaf) = parts.pop() else { return String::new() };
    let head = join(&parts);
    let left = most.saturating_sub(leaf.text.chars().count() + 2);
    // A value means nothing without the clause before it.
    if wrapper::is_value(&leaf.text) && !head.is_empty() {
        let both = finished(&format!("{head}: {}", leaf.text));
        return if leaf.text.contains('[') { shorten::cut(&both, most) } else { shorten::cut_middle(&both, most) };
    }
    // The beginning of a clause is informative if most of it is shown.
    if left * 3 > head.chars().count() * 2 && !head.is_empty() {
        return finished(&format!("{}: {}", shorten::cut(&head, left), leaf.text));
    }
    // The clause next to the leaf names what the leaf is about.
    let next = parts.last().filter(|part| part.is_core && part.is_shown && parts.len() > 1);
    if let Some(both) = next.map(|next| format!("… {}: {}", next.text, leaf.text)).filter(|both| fits(both, most)) {
        return finished(&both);
    }
    let mark = if head.is_empty() || left == 0 { "" } else { "… " };
    shorten::cut_middle(&finished(&format!("{mark}{}", leaf.text)), most)
}

/// Joins the clauses that are shown, with an ellipsis for those in a row that are not.
fn join(parts: &[Part]) -> String {
    let (mut out, mut is_gap) = (String::new(), false);
    for part in parts {
        if !part.is_shown && is_gap {
            continue;
        }
        if !out.is_empty() {
            out.push_str(if is_gap { " " } else { ": " });
        }
        out.push_str(if part.is_shown { &part.text } else { "…" });
        is_gap = !part.is_shown;
    }
    out
}

/// The error without a full stop, and without quotes that have no partner.
fn finished(error: &str) -> String {
    let error = error.trim();
    let error = if error.ends_with("..") { error } else { error.trim_end_matches('.') };
    if shorten::has_open_quote(error) {
        let bare = error.trim_matches(['"', '\\']);
        if !shorten::has_open_quote(bare) {
            return bare.to_owned();
        }
        // A quote of several lines, of which one is shown.
        if let Some((before, quote)) = error.rsplit_once(": \"").filter(|(_, quote)| !quote.contains('"')) {
            return format!("{before}: {quote}");
        }
    }
    error.to_owned()
}

/// Whether a clause adds nothing to the text before it, in lower case: all of its words stand there; those of the leaf in
/// one piece.
fn repeats(clause: &str, seen: &str, leaf: Option<Rank>) -> bool {
    if seen.is_empty() || clause.len() > COMPARED {
        return false;
    }
    let clause = clause.to_lowercase();
    if let Some(rank) = leaf {
        let clause = clause.trim_end_matches('.');
        // A condition such as `no such file or directory` may stand in the text before for another object.
        return if rank == Rank::Condition { seen.ends_with(clause) } else { seen.contains(clause) };
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '-' | '_');
    let mut words =
        clause.split(|c: char| !is_part(c)).filter(|word| !word.is_empty() && !FILLERS.contains(word)).peekable();
    words.peek().is_some() && words.all(|word| stands_in(word, seen))
}

/// Whether a word stands in a text. A short one must stand there alone: `x` does not in `exec`.
fn stands_in(word: &str, text: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        word.len() > 3 || is_apart(text[..at].chars().next_back()) && is_apart(text[at + word.len()..].chars().next())
    })
}

/// A clause without the name at its end that the reader sees already: `failed to resolve reference "a/b:1"`.
fn without_shown<'c>(clause: &'c str, shown: &[&str]) -> &'c str {
    for name in shown.iter().filter(|name| name.len() > 2) {
        let bare = clause.trim_end_matches(['"', '\'', '`']);
        // A plain word such as `bridge` may belong to the sentence.
        if bare.len() == clause.len() && name.bytes().all(|b| b.is_ascii_alphabetic()) {
            continue;
        }
        let before = bare.strip_suffix(name).map(|before| before.trim_end_matches(['"', '\'', '`']).trim_end());
        if let Some(before) = before.filter(|before| before.contains(' ') && clause.len() - before.len() > name.len()) {
            return before;
        }
    }
    clause
}
