//! Secrets in commands: flags, the arguments of known clients, and commands of protocols.

use super::words::{is_letters_and_digits, is_no_word, is_stated};
use super::{Shape, begins_with, behind_name};

/// A client's name as a word of a command line or of a list of arguments, and the arguments up to a flag.
macro_rules! client {
    ($names:literal) => {
        concat!(r#"(?:^|[\s"'`/=(\[;|&])(?:"#, $names, r#")["']?[\s"',](?:[^|;&]*?[\s"',])??"#)
    };
}

/// The value of a flag, also in the quotes of a list of arguments: `-p x`, `-px`, `"-p", "x"`.
macro_rules! argument {
    () => {
        r#"["',]*[\s"',]*)[^\s"',;|&)\]-][^\s"',;|&)\]]{2,}"#
    };
}

const DATABASES: &[&str] = &["mysql", "mariadb", "mongo", "cqlsh", "clickhouse", "influx", "sshpass", "rabbitmq", "7z"];

pub(super) const SHAPES: &[Shape] = &[
    // --password hunter2, --db-pass hunter2, -storepass hunter2
    Shape {
        marks: &["pass", "pwd", "token", "secret", "key", "cred", "auth"],
        behind: |behind| {
            behind_name(behind).trim_start_matches(['"', '\'']).starts_with(|c: char| c.is_whitespace() || c == ',')
        },
        pattern: r#"(?i)((?:^|[\s"'`=(\[,])--?[0-9a-z_-]*(?:pass(?:word|wd|phrase|code)?|pwd|token|(?:client|app|shared|webhook)-secret|creds|requirepass|masterauth|(?:api|access|auth|secret|account|encryption|license)[_-]?key)["']?(?:\s|,\s*)["']?)[^\s"',-][^\s"',]{2,}"#,
        is_secret: is_argument,
    },
    // mysql -u root -p hunter2, mongosh -phunter2
    Shape {
        marks: DATABASES,
        behind: has_flag,
        pattern: concat!(
            "(",
            client!(
                "(?:mysql|mariadb)(?:dump|admin|check|import|show|pump|sh|-[a-z]+)?|mongo(?:sh|dump|restore|import|export|stat|top|files)?|cqlsh|clickhouse-client|influx|sshpass|rabbitmqadmin|7z[ar]?"
            ),
            "-p",
            argument!()
        ),
        is_secret: is_argument,
    },
    // The port of psql has the same flag.
    Shape {
        marks: &["psql", "pg_"],
        behind: has_flag,
        pattern: concat!("(", client!("psql|pg_(?:dump|dumpall|restore|basebackup|isready)"), "-[pW]", argument!()),
        is_secret: |value| is_argument(value) && !value.bytes().all(|b| b.is_ascii_digit()),
    },
    Shape {
        marks: &["login"],
        behind: has_flag,
        pattern: r#"((?:^|[\s"'`/=(\[])(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|argocd)["']?[\s"',](?:[^|;&]*?[\s"',])??login["']?[\s"',](?:[^|;&]*?[\s"',])??-p["',]*[\s"',]*)[^\s"',;|&)\]-][^\s"',;|&)\]]{2,}"#,
        is_secret: is_argument,
    },
    Shape {
        marks: &["redis-cli", "valkey-cli", "keydb-cli", "redis-benchmark"],
        behind: has_flag,
        pattern: concat!("(", client!("redis-cli|redis-benchmark|valkey-cli|keydb-cli"), "-a", argument!()),
        is_secret: is_argument,
    },
    Shape {
        marks: &["ldap", "kldap"],
        behind: has_flag,
        pattern: concat!(
            "(",
            client!("ldap(?:search|modify|add|delete|whoami|compare|modrdn|passwd|exop)"),
            "-[ws]",
            argument!()
        ),
        is_secret: is_argument,
    },
    Shape {
        marks: &["sqlcmd", "bcp", "mosquitto_", "ipmitool", "zip", "tsql"],
        behind: has_flag,
        pattern: concat!(
            "(",
            client!("sqlcmd|bcp|mosquitto_(?:pub|sub|rr)|ipmitool|zip|unzip|tsql"),
            "-P",
            argument!()
        ),
        is_secret: is_argument,
    },
    // curl -u app:hunter2
    Shape {
        marks: &["curl", "wget", "etcdctl", "kcat", "lftp", "skopeo"],
        behind: has_flag,
        pattern: concat!(
            "(",
            client!("curl|wget|etcdctl|lftp|skopeo"),
            r#"(?:-[uUa]|--user|--proxy-user|--auth|--(?:src-|dest-)?creds)[="',]*[\s"',]*[^\s"':,]*[:,])[^\s"';|&)\]]{2,}"#
        ),
        is_secret: is_credential,
    },
    Shape {
        marks: &["smbclient", "rpcclient"],
        behind: has_flag,
        pattern: concat!("(", client!("smbclient|rpcclient"), r#"-U["',]*[\s"',]*[^\s"'%]+%)[^\s"',;|&]{2,}"#),
        is_secret: is_argument,
    },
    // openssl -passin pass:hunter2
    Shape {
        marks: &["pass:"],
        behind: |behind| begins_with(behind, 3, |b| b.is_ascii_graphic()),
        pattern: r#"(-(?:pass|passin|passout|k)["']?[\s,=]["']?pass:)[^\s"',;]{3,}"#,
        is_secret: |_| true,
    },
    // curl -H 'X-Api-Key: ...' has the name of a secret; vault login and the arguments of others have only a position.
    Shape {
        marks: &["vault", "change_password", "add_user", "authenticate_user"],
        behind: |behind| behind.starts_with(char::is_whitespace),
        pattern: r#"((?:vault\s+login\s+|(?:rabbitmqctl\s+(?:[^|;&]*\s)?)(?:change_password|add_user|authenticate_user)\s+\S+\s+))[^\s"'-][^\s"']{2,}"#,
        is_secret: is_argument,
    },
    // CREATE USER app IDENTIFIED BY 'hunter2'; a revision can also be "identified by" its name.
    Shape {
        marks: &["identified"],
        behind: |behind| behind.trim_start().starts_with(['b', 'B', 'w', 'W']),
        pattern: r#"((?:IDENTIFIED|(?i:user|role|grant|alter)\s[^;]{0,120}?(?i:identified))\s+(?i:with\s+\S+\s+)?(?i:by)\s+(?:(?i:password|values)\s+)?)(?:\\?"(?:[^"\\]|\\[^"])+\\?"|'[^']+'|[^\s"'`;\\]{3,})"#,
        is_secret: is_stated,
    },
    // AUTH hunter2 and AUTH app hunter2 of Redis, as typed and as its monitor prints them
    Shape {
        marks: &["auth"],
        behind: is_word_end,
        pattern: r#"((?:^|[^A-Za-z0-9_-])["']?(?:AUTH["']?|["'](?i:auth)["'])\s+["']?)[^\s"'<>,;()]{3,}(?:["']?\s+["']?[^\s"'<>,;()]{3,})?"#,
        is_secret: is_sent,
    },
    Shape {
        marks: &["requirepass", "masterauth"],
        behind: is_word_end,
        pattern: r#"(?i)((?:requirepass|masterauth)["']?\s+["']?)[^\s"',;]{3,}"#,
        is_secret: is_stated,
    },
    // ACL SETUSER app on >hunter2
    Shape {
        marks: &["setuser"],
        behind: |behind| behind.contains('>'),
        pattern: r#"(?i)(setuser["']?\s[^|;]*?[\s"']>)[^\s"',;]{3,}"#,
        is_secret: |_| true,
    },
    // PASS hunter2 of FTP, POP3 and IRC, after a sign that it was sent
    Shape {
        marks: &["pass"],
        behind: is_word_end,
        pattern: r#"((?:>|C:|[Ss]ent:?|[Ss]ending|[Cc]ommand:?)\s*["']?PASS\s+)[^\s"']{3,}"#,
        is_secret: is_no_word,
    },
];

/// Whether a word ends here, also one in quotes.
fn is_word_end(behind: &str) -> bool {
    behind.trim_start_matches(['"', '\'']).starts_with(char::is_whitespace)
}

/// Whether a flag follows.
fn has_flag(behind: &str) -> bool {
    behind.contains('-')
}

/// Rejects references, paths, further flags, and what `find` has after `-p`: `find /var/lib/mysql -print`.
fn is_argument(value: &str) -> bool {
    is_no_word(value)
        && !matches!(value, "rint" | "rint0" | "erm" | "ath" | "rune")
        && !value.starts_with(['-', '$', '/', '%', '{', '<', '['])
        && !value.starts_with("***")
}

/// The part after the user's name, which can also be a group: `-u 1000:1000`.
fn is_credential(value: &str) -> bool {
    is_argument(value) && !value.starts_with("//") && !value.bytes().all(|b| b.is_ascii_digit())
}

/// The arguments of AUTH, and no sentence about it: `AUTH command failed`.
fn is_sent(value: &str) -> bool {
    let mut words = value.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let (first, last) = (words.next().unwrap_or_default(), words.next());
    match last {
        None => is_stated(first) && !first.starts_with("***"),
        Some(last) => is_letters_and_digits(last) || is_letters_and_digits(first),
    }
}
