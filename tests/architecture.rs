//! The shape of the code, held by reading it: what is pure stays pure, and data flows one way (see ARCHITECTURE.md).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file without comments, strings and test modules.
struct Source {
    /// The top module: `facts`, `cluster`, ...
    module: String,
    path: PathBuf,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources are found");
    // A module that its parent declares `#[cfg(test)]` is a test, whatever its name.
    let mut tests = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let folder = match file.file_name().and_then(|n| n.to_str()) {
            Some("lib.rs" | "main.rs" | "mod.rs") => file.parent().unwrap().to_owned(),
            _ => file.with_extension(""),
        };
        tests.extend(test_modules(&text).into_iter().map(|name| folder.join(name)));
    }
    files
        .into_iter()
        .filter(|file| !tests.iter().any(|test| file.starts_with(test) || file.with_extension("") == *test))
        .map(|file| {
            let path = file.strip_prefix(&root).unwrap().to_owned();
            let first = path.iter().next().unwrap().to_string_lossy();
            let module = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
            let code = without_tests(&bare(&fs::read_to_string(&file).unwrap()));
            Source { module, path, code }
        })
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            collect(&entry, into);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            into.push(entry);
        }
    }
}

/// The modules in other files that a file declares for tests only.
fn test_modules(text: &str) -> Vec<String> {
    let code = bare(text);
    let mut found = Vec::new();
    for (at, mark) in code.match_indices("#[cfg(test)]") {
        let rest = &code[at + mark.len()..];
        let declared = rest.split_once(';').map_or("", |(declaration, _)| declaration);
        if let Some((_, name)) = declared.rsplit_once("mod ")
            && !declared.contains('{')
        {
            found.push(name.trim().to_owned());
        }
    }
    found
}

/// The code with comments and the insides of strings blanked out, so that braces and names in them do not count.
fn bare(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < chars.len() {
        let next = chars.get(i + 1).copied();
        match chars[i] {
            '/' if next == Some('/') => {
                while i < chars.len() && chars[i] != '\n' {
                    i += 1;
                }
            }
            'r' if matches!(next, Some('"' | '#')) && !out.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                let hashes = chars[i + 1..].iter().take_while(|c| **c == '#').count();
                if chars.get(i + 1 + hashes) == Some(&'"') {
                    i += hashes + 2;
                    while i < chars.len()
                        && !(chars[i] == '"'
                            && chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes)
                    {
                        i += 1;
                    }
                    i += hashes + 1;
                    out.push_str("\"\"");
                } else {
                    out.push('r');
                    i += 1;
                }
            }
            '"' => {
                i += 1;
                while i < chars.len() && chars[i] != '"' {
                    i += if chars[i] == '\\' { 2 } else { 1 };
                }
                i += 1;
                out.push_str("\"\"");
            }
            // A character such as '"' or '{', and not a lifetime.
            '\'' if next == Some('\\') => {
                i += 2;
                while i < chars.len() && chars[i] != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if chars.get(i + 2) == Some(&'\'') => i += 3,
            c => {
                out.push(c);
                i += 1;
            }
        }
    }
    out
}

/// Without the items behind `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("#[cfg(test)]") {
        out.push_str(before);
        let mut depth = 0_usize;
        let end = after.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0 && matches!(c, '}' | ';')).then_some(at + 1)
        });
        rest = end.map_or("", |end| &after[end..]);
    }
    out.push_str(rest);
    out
}

/// Whether `name` stands in the code as a whole word (a path may follow).
fn mentions(code: &str, name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| !code[..at].ends_with(word) && !code[at + name.len()..].starts_with(word))
}

const PURE: [&str; 5] = ["facts", "diagnosis", "world", "plan", "outbox"];

#[test]
fn what_decides_does_no_io_and_reads_no_clock() {
    const IO: [&str; 9] =
        ["kube::", "k8s_openapi", "tokio", "futures::", "axum", "std::net", "std::fs", "std::env", "std::thread"];
    const CLOCKS: [&str; 4] = ["Timestamp::now", "SystemTime::now", "Instant::now", "Zoned::now"];
    for source in sources().iter().filter(|s| PURE.contains(&s.module.as_str())) {
        for banned in IO.iter().chain(&CLOCKS) {
            let found = if banned.ends_with("::") {
                source
                    .code
                    .match_indices(banned)
                    .any(|(at, _)| !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
            } else {
                mentions(&source.code, banned)
            };
            assert!(!found, "src/{} is pure and names {banned}", source.path.display());
        }
    }
}

#[test]
fn what_a_page_shows_is_made_without_io() {
    const IO: [&str; 9] =
        ["kube", "tokio", "futures", "axum", "http", "std::fs", "std::env", "Timestamp::now", "clock"];
    let sources = sources();
    let views = || sources.iter().filter(|source| source.path.starts_with("cli/ui/view"));
    assert!(views().count() > 8, "they are where this test looks");
    for source in views().chain(sources.iter().filter(|source| source.path == Path::new("cli/ui/view.rs"))) {
        for banned in IO {
            assert!(!mentions(&source.code, banned), "src/{} is pure and names {banned}", source.path.display());
        }
        for above in ["board", "pages", "guard", "source"] {
            let path = format!("ui::{above}");
            assert!(!source.code.contains(&path), "src/{} uses {path}, and data flows to it", source.path.display());
        }
    }
}

#[test]
fn modules_know_only_what_they_stand_on() {
    let may: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("api", &[][..]),
        ("facts", &["api"]),
        ("diagnosis", &["api", "facts"]),
        ("plan", &["api", "facts", "diagnosis"]),
        ("outbox", &["facts", "plan"]),
        // The world keeps what rules look at, and asks what to do about it.
        ("world", &["api", "facts", "diagnosis", "plan", "outbox"]),
        ("telemetry", &["diagnosis"]),
        ("metrics", &["api", "world"]),
        ("http", &["metrics"]),
        ("cluster", &["api", "facts", "diagnosis", "world", "plan", "outbox", "metrics", "http"]),
        ("config", &["facts", "diagnosis", "plan", "world"]),
    ]);
    for source in sources() {
        // Those on top: `app` and the command line may use everything; the roots declare the modules.
        let Some(may) = may.get(source.module.as_str()) else {
            assert!(
                matches!(source.module.as_str(), "app" | "cli" | "lib" | "main"),
                "src/{}: say here what the new module {} may use",
                source.path.display(),
                source.module
            );
            continue;
        };
        for used in crate_modules(&source.code) {
            assert!(
                used == source.module || may.contains(&used.as_str()),
                "src/{} uses crate::{used}, and {} may use {may:?} only",
                source.path.display(),
                source.module
            );
        }
    }
}

/// The top modules that a file names, in `crate::x` and in `use crate::{x, y::z}`.
fn crate_modules(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, mark) in code.match_indices("crate::") {
        let rest = &code[at + mark.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0_usize;
                let mut word = String::new();
                let mut at_start = true;
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty()));
                            at_start = true;
                        }
                        c if depth == 0 && at_start && (c.is_alphanumeric() || c == '_') => word.push(c),
                        c if c.is_whitespace() => {}
                        _ => at_start = false,
                    }
                }
                found.extend(Some(word).filter(|w| !w.is_empty()));
            }
            None => found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()),
        }
    }
    // Macros and re-exports at the root begin with a capital or are called with `!`; they are no modules.
    found.retain(|name| name.starts_with(|c: char| c.is_lowercase()));
    found
}

#[test]
fn only_publish_writes_to_the_api() {
    const WRITES: [&str; 10] = [
        "PostParams",
        "PatchParams",
        "DeleteParams",
        "Patch::",
        "EvictParams",
        "Method::POST",
        "Method::PUT",
        "Method::PATCH",
        "Method::DELETE",
        "EntryCommit",
    ];
    let mut writers = 0;
    for source in sources() {
        let writes: Vec<_> = WRITES.iter().filter(|w| source.code.contains(**w)).collect();
        // What it writes of diagnoses; and the Lease that says which replica may.
        let may_write = ["cluster/publish.rs", "cluster/publish", "cluster/lease.rs"];
        if may_write.iter().any(|path| source.path.starts_with(path)) {
            writers += writes.len();
        } else {
            assert!(writes.is_empty(), "src/{} writes to the API: {writes:?}", source.path.display());
        }
    }
    assert!(writers > 0, "this test knows how publish writes");
}

#[test]
fn the_program_is_thin() {
    let main = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(main.lines().count() < 60, "what can be tested belongs into the library");
}

#[test]
fn the_reader_of_sources_is_not_fooled() {
    let code = bare(
        "use a; // use tokio\nconst X: &str = \"kube::{\"; let c = '{'; let r = r#\"tokio\"#;\n#[cfg(test)]\nmod tests { use tokio; }\nfn after() {}",
    );
    let code = without_tests(&code);
    assert!(!code.contains("tokio") && !code.contains("kube") && code.contains("fn after"), "{code}");
    assert_eq!(
        crate_modules("use crate::{api::X, facts::{A, B}, plan}; use crate::world::Y; crate::Thing"),
        ["api", "facts", "plan", "world"]
    );
    assert_eq!(test_modules("#[cfg(test)]\npub(super) mod tests;\n#[cfg(test)]\nmod inline { }\n"), ["tests"]);
}
