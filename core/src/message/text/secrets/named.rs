//! Values that a name identifies as secrets: `DB_PASSWORD=...`, `"clientSecret": "..."`, `password is ...`.

use super::words::{is_letters_and_digits, is_no_word, is_random, is_stated};
use super::{SHAPE, Shape, behind_name, is_assigned};

/// Names of secrets.
macro_rules! names {
    () => {
        concat!(
            "(?:pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?key)?|token|credentials?|creds|mnemonic",
            "|(?:api|access|account|private|auth|encryption|signing|master|shared|storage|license|consumer)[_-]?key)",
            // SECRET_KEY_BASE, PASSWORD_2, tokenValue
            "(?:[_-]?(?:base|value|string|text|hash|old|new|v?[0-9]{1,3}))*"
        )
    };
}

/// Names of secrets as the last word of a longer name.
macro_rules! capitalized {
    () => {
        r#"(?:Password|Passwd|Passphrase|Pass|Secret|SecretKey|Token|ApiKey|AccessKey|PrivateKey|AuthKey)["']?"#
    };
}

/// What stands between a name and its value.
macro_rules! assigns {
    () => {
        r#"(?:\s+string)?\s*(?:[:?=.+]{0,3}=>?|:|->)\s*"#
    };
}

/// A value: the text in quotes, or all characters up to a delimiter.
macro_rules! value {
    () => {
        concat!(quoted!(), r#"|[^\s"',;&]{3,})"#)
    };
}

/// The beginning of a group with a value in quotes.
macro_rules! quoted {
    () => {
        r#"(?:[bNu]?\\?"(?:[^"\\]|\\[^"])+\\?"|[bNu]?'[^']+'|`[^`]+`"#
    };
}

pub(super) const NAMED: &[&str] = &["pass", "pwd", "secret", "token", "key", "cred", "mnemonic"];
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd"];

pub(super) const SHAPES: &[Shape] = &[
    // "clientSecret": "..." in JSON, with any prefix before the name
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(r#"(?i)(["'][0-9A-Za-z_.-]*"#, names!(), r#"\\?["']"#, assigns!(), ")", value!()),
        is_secret: is_no_word,
    },
    Shape {
        marks: &["auth"],
        behind: |behind| behind.trim_start_matches('\\').starts_with(['"', '\'']),
        pattern: r#"((?:"auth\\?"|'auth')\s*:\s*)\\?["'][^"'\\]{3,}\\?["']"#,
        is_secret: |_| true,
    },
    // password=..., "token": "...", api_key: ..., :secret=>..., TOKEN := ...
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(
            r#"(?i)((?:^|[^/.0-9A-Za-z_-])["']?(?:[0-9A-Za-z_-]*[_-])?"#,
            names!(),
            r#"["']?"#,
            assigns!(),
            ")",
            value!()
        ),
        is_secret: is_no_word,
    },
    // dbPassword: ..., but not tokens: ...
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(r#"((?:^|[^/.0-9A-Za-z_-])[a-z][0-9A-Za-z_-]*"#, capitalized!(), assigns!(), ")", value!()),
        is_secret: is_no_word,
    },
    // SonarToken = ..., but also the names of errors: ExpiredToken: The security token ...
    Shape {
        marks: NAMED,
        behind: is_given_a_value,
        pattern: concat!(
            r#"((?:^|[^/.0-9A-Za-z_-])["']?[A-Z][0-9A-Za-z_-]*"#,
            capitalized!(),
            assigns!(),
            ")",
            value!()
        ),
        is_secret: is_letters_and_digits,
    },
    // The names of properties: spring.datasource.password: ...
    Shape {
        marks: &["passw", "passphrase"],
        behind: is_given_a_value,
        pattern: concat!(
            r#"(?i)((?:^|[\s"'\[({,])[a-z][0-9a-z_-]*(?:\.[0-9a-z_-]+)*\.(?:[0-9a-z_-]*[_-])?pass(?:word|wd|phrase)["']?"#,
            assigns!(),
            ")",
            value!()
        ),
        is_secret: is_no_word,
    },
    // pass=..., DB_PASS: ..., pw=...: a short name, which other words and the results of tests have, too
    Shape {
        marks: &["pass", "pw", "psw"],
        behind: is_given_a_value,
        pattern: concat!(
            r#"((?:^|[^/.0-9A-Za-z_-])["']?(?:[0-9A-Za-z_-]*[_-])?(?:(?:pass|Pass|pw|psw|[A-Z0-9_]*_(?:PASS|PW))["']?"#,
            assigns!(),
            r#"|PASS["']?\s*=>?\s*))"#,
            value!()
        ),
        is_secret: is_no_count,
    },
    // With `=` it is an assignment at any position: in a path, after a dot, in a connection string.
    Shape {
        marks: &[
            "password=",
            "passwd=",
            "passphrase=",
            "pwd=",
            "pass=",
            "secret=",
            "token=",
            "key=",
            "signature=",
            "sig=",
            "_auth=",
        ],
        pattern: concat!(
            r#"(?i)((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|shared[_-]?key"#,
            r#"|(?:[^a-z]|db|user|root|admin|ssh|key|store|trust)pass|signature|[?&;\s]sig|_auth)=)"#,
            r#"(?:\\?"[^"\\]+\\?"|'[^']+'|[^\s"',;&*]{3,})"#
        ),
        is_secret: is_no_word,
        ..SHAPE
    },
    // The setting of an environment variable: {"name": "DB_PASSWORD", "value": "..."}
    Shape {
        marks: &["value"],
        behind: is_assigned,
        pattern: concat!(
            r#"(?i)(name\\?["']?\s*[:=]\s*\\?["']?[0-9a-z_.-]*"#,
            names!(),
            r#"\\?["']?[,;\s]+\\?["']?value\\?["']?\s*[:=]\s*)"#,
            value!()
        ),
        is_secret: is_no_word,
    },
    // <password>...</password> and <add key="Password" value="..."/>
    Shape {
        marks: NAMED,
        behind: |behind| behind_name(behind).trim_start_matches(|c: char| c != '>' && c != '<').starts_with('>'),
        pattern: concat!(r#"(?i)(<[0-9a-z_.:-]*"#, names!(), r#"(?:\s[^<>]*)?>\s*)[^\s<>][^<>]*?(\s*</)"#),
        is_secret: is_no_word,
    },
    Shape {
        marks: NAMED,
        behind: |behind| behind_name(behind).trim_start_matches(['\\', '"', '\'']).trim_start().starts_with('v'),
        pattern: concat!(
            r#"(?i)((?:name|key)\s*=\s*["'][0-9a-z_.:-]*"#,
            names!(),
            r#"["']\s*value\s*=\s*)(?:"[^"]+"|'[^']+')"#
        ),
        is_secret: is_no_word,
    },
    // The arguments of a function: setProperty("DB_PASSWORD", "...")
    Shape {
        marks: NAMED,
        behind: |behind| behind_name(behind).trim_start_matches(['\\', '"', '\'']).trim_start().starts_with(','),
        pattern: concat!(r#"(?i)(["'][0-9a-z_.-]*"#, names!(), r#"\\?["']\s*,\s*)(?:\\?"[^"\\]{6,}\\?"|'[^']{6,}')"#),
        is_secret: is_letters_and_digits,
    },
    // password 'hunter2', PASSWORD('hunter2')
    Shape {
        marks: PASSWORDS,
        behind: |behind| {
            behind
                .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '\\' | 'b' | 'N' | 'u'))
                .starts_with(['"', '\'', '`'])
        },
        pattern: concat!(r#"(?i)((?:password|passwd|passphrase|passcode|pwd)(?:\s+|\s*\(\s*))"#, quoted!(), ")"),
        is_secret: is_no_word,
    },
    Shape {
        marks: PASSWORDS,
        behind: |behind| behind.starts_with(|c: char| c.is_whitespace() || matches!(c, '(' | '[')),
        pattern: r#"(?i)((?:(?-u:\b)|_)(?:password|passwd|passphrase|passcode|pwd)(?:\s+|\(|\[))[^\s"'`,;&()<>\[\]{}]{6,}"#,
        is_secret: |value| is_letters_and_digits(value) && !is_method(value),
    },
    // password is hunter2, token was abc123, password for app: hunter2
    Shape {
        marks: PASSWORDS,
        behind: is_stated_after,
        pattern: concat!(
            r#"(?i)((?-u:\b)(?:password|passwd|passphrase|passcode|pwd)(?:\s+for\s+[^\s:]+)?\s+(?:is|was|are|set\s+to|changed\s+to|will\s+be)(?:\s+now)?:?\s+)"#,
            value!()
        ),
        is_secret: is_stated,
    },
    Shape {
        marks: &["secret", "token", "key", "credential"],
        behind: is_stated_after,
        pattern: concat!(
            r#"(?i)((?-u:\b)(?:secret|token|(?:secret|api|access|private|account)[ _-]?key|credentials?)(?:\s+for\s+[^\s:]+)?\s+(?:is|was|are|set\s+to)(?:\s+now)?:?\s+)"#,
            value!()
        ),
        is_secret: |value| value.len() >= 6 && is_letters_and_digits(value),
    },
    Shape {
        marks: PASSWORDS,
        behind: |behind| behind.starts_with(char::is_whitespace),
        pattern: r#"(?i)((?-u:\b)(?:password|passphrase)\s+(?:(?:is\s+|was\s+)?generated\s+for|for|of)\s+(?:the\s+)?(?:user\s+)?[^\s:]+(?:\s+user)?(?:\s+\([^)]*\))?\s*(?::|=|is)\s+)[^\s"',;]{6,}"#,
        is_secret: is_letters_and_digits,
    },
    // Dotted leaders: password ........ hunter2
    Shape {
        marks: NAMED,
        behind: |behind| behind_name(behind).trim_start().starts_with(['.', '·', '…']),
        pattern: concat!(
            r#"(?i)((?-u:\b)(?:[0-9a-z_-]*[_-])?"#,
            names!(),
            r#"\s*(?:[.·]{3,}|…)[.·…\s]*:?\s*)"#,
            value!()
        ),
        is_secret: |value| is_stated(value) && !value.starts_with('.'),
    },
    // API key hunter2abc: two words and a value that no sentence has
    Shape {
        marks: &["api key", "access key", "secret key", "auth key", "auth token", "access token", "bot token"],
        behind: |behind| behind.starts_with(|c: char| c.is_whitespace() || matches!(c, ':' | '=')),
        pattern: r#"(?i)((?-u:\b)(?:api key|access key|secret key|auth key|auth token|access token|bot token)(?:\s*[:=])?\s+)[^\s"',;&()]{8,}"#,
        is_secret: |value| is_random(value) && is_letters_and_digits(value),
    },
];

/// Whether an assignment follows the rest of the name and its quotes, with a value in quotes or a value that is not an
/// ordinary word.
fn is_given_a_value(behind: &str) -> bool {
    let rest = behind_name(behind).trim_start_matches(['\\', '"', '\'']).trim_start();
    // The type of a variable, as in Go.
    let rest = rest.strip_prefix("string").map_or(rest, str::trim_start);
    // The name may have taken the hyphen of an arrow.
    let value = rest.trim_start_matches(['=', ':', '?', '>', '-', '.', '+']);
    if value.len() == rest.len() {
        return false;
    }
    let value = value.trim_start();
    value.starts_with(['\\', '"', '\'', '`'])
        || value.starts_with(['b', 'N', 'u']) && value[1..].starts_with(['\\', '"', '\''])
        || value.split(ends_a_value).next().is_some_and(is_no_word)
}

fn ends_a_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '&')
}

/// Whether a verb follows that states a value.
fn is_stated_after(behind: &str) -> bool {
    const VERBS: [&str; 6] = ["is", "was", "are", "set", "changed", "will"];
    let mut words = behind.split_whitespace();
    let mut word = words.next().unwrap_or_default();
    if word.eq_ignore_ascii_case("for") {
        word = words.nth(1).unwrap_or_default();
    }
    behind.starts_with(char::is_whitespace)
        && VERBS.iter().any(|verb| word.trim_end_matches(':').eq_ignore_ascii_case(verb))
}

/// Whether the value after `pass` is not the number or the name of a test.
fn is_no_count(value: &str) -> bool {
    let is_count = value.len() < 5 && value.bytes().all(|b| b.is_ascii_digit());
    is_no_word(value) && !is_count && !value.starts_with("Test") && !value.starts_with('(')
}

/// Whether this is a method of authentication or of hashing: `password SCRAM-SHA-256 required`.
fn is_method(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["scram", "sha", "md5", "bcrypt", "argon", "pbkdf", "base64", "utf", "http", "oauth", "***"]
        .iter()
        .any(|method| value.starts_with(method))
}
