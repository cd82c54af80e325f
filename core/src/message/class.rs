//! Classes of errors, whatever component reports them. A remedy for an error without a cause of its own follows from its
//! class.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::chain::Message;
use super::code::{self, Grpc};

macro_rules! class {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// What kind of error it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Class { $($(#[doc = $doc])* $name),* }

        impl Class {
            /// Its name in the catalogue.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }
    };
}

class! {
    /// The object does not exist.
    NotFound = "notFound",
    /// The caller is known and lacks the right.
    Permission = "permission",
    /// The credentials are missing, wrong or expired.
    Unauthenticated = "unauthenticated",
    Timeout = "timeout",
    /// The host responds, and no program listens.
    ConnectionRefused = "connectionRefused",
    /// A host name does not resolve.
    Dns = "dns",
    Tls = "tls",
    /// A quota, a limit, addresses, space or memory.
    Exhausted = "exhausted",
    /// In use, in progress, or another one exists.
    Conflict = "conflict",
    /// The component or the platform lacks the feature.
    Unsupported = "unsupported",
    /// An argument or a parameter is wrong.
    Invalid = "invalid",
    /// Data is damaged, or a device fails.
    Corrupted = "corrupted",
    /// A service is not ready or cannot be reached.
    Unavailable = "unavailable",
}

/// Words of errors, in lower case. Of several in a clause, those of the first line decide.
const WORDS: &[(Class, &[&str])] = &[
    (
        Class::Exhausted,
        &[
            "rate limit",
            "too many requests",
            "toomanyrequests",
            "throttl",
            "rateexceeded",
            "limitexceeded",
            "would exceed context",
        ],
    ),
    (Class::Timeout, &["handshake timeout", "deadline exceeded", "operation now in progress"]),
    (
        Class::Dns,
        &[
            "no such host",
            "server misbehaving",
            "name resolution",
            "name or service not known",
            "could not resolve",
            "failed to resolve \"",
            "cannot resolve",
            "unknownhost",
            "unknown host",
            "getaddrinfo",
            "nxdomain",
        ],
    ),
    (Class::Tls, &["x509", "certificate", "tls: ", "ssl error", "ssl_error", "sslv3"]),
    (
        Class::Permission,
        &[
            "permission denied",
            "permissiondenied",
            "access denied",
            "accessdenied",
            "access is denied",
            "was denied",
            "not permitted",
            "forbidden",
            "not authorized",
            "unauthorizedoperation",
            "authorizationfailed",
            "does not have authorization",
            "does not have permission",
            "must be superuser",
            "isn't allowed",
            "not allowed to",
            "disallowed by",
            "disallowedby",
            "insufficient privilege",
            "insufficientprivilege",
            "no permission",
            "nopermission",
        ],
    ),
    (
        Class::Unauthenticated,
        &[
            "unauthorized",
            "unauthenticated",
            "authentication failed",
            "authentication required",
            "failed to authenticate",
            "not authenticated",
            "authfailure",
            "invalid credential",
            "invalid username",
            "incorrect username",
            "incorrect user name",
            "cannot complete login",
            "logon failure",
            "login failed",
            "token has expired",
            "token is expired",
            "expiredtoken",
            "invalidclienttokenid",
            "no credentials",
        ],
    ),
    (Class::ConnectionRefused, &["connection refused", "connection was refused", "actively refused"]),
    (
        Class::Timeout,
        &[
            "timed out",
            "timeout",
            "time limit",
            "allotted time",
            "alloted time",
            "for longer than",
            "took too long",
            "not respond",
            "no response",
        ],
    ),
    (
        Class::Exhausted,
        &[
            "no space left",
            "no enough",
            "not enough",
            "find enough",
            "insufficient",
            "exhausted",
            "quota",
            "too many",
            "limit exceeded",
            "exceeds the limit",
            "exceeds allowed",
            "exceeded the limit",
            "over the limit",
            "limit reached",
            "overlimit",
            "maximum number",
            "maximum allowed",
            "no capacity",
            "capacity exceeded",
            "out of memory",
            "cannot allocate memory",
            "no free ",
            "a free ",
            "no vg available",
            "is full",
            "no available address",
            "no more address",
            "no ip addresses",
            "countexceeded",
            "countpersubscriptionexceeded",
        ],
    ),
    (
        Class::Corrupted,
        &[
            "corrupt",
            "unexpected inconsistency",
            "could not correct",
            "needs cleaning",
            "input/output error",
            "i/o error",
            "read superblock",
            "bad magic",
            "checksum",
            "digest mismatch",
            "unexpected commit digest",
            "data loss",
        ],
    ),
    (
        Class::Unsupported,
        &[
            "not supported",
            "unsupported",
            "not support ",
            "n't support ",
            "not implemented",
            "unimplemented",
            "not compatible",
            "not a compatible",
            "incompatible with",
            "unknown filesystem type",
            "exec format error",
        ],
    ),
    (
        Class::Conflict,
        &[
            "already exist",
            "already a disk",
            "already attached",
            "already mounted",
            "already published",
            "already in",
            "in use",
            "inuse",
            "being used",
            "is busy",
            "point busy",
            "resource busy",
            "in progress",
            "being flattened",
            "conflict",
            "object has been modified",
            "is published to",
            "is reserved for",
            "optimizing state",
            "file exists",
            "incorrectstate",
        ],
    ),
    (Class::Invalid, &["invalidargument", "invalidparameter", "field is missing", "is required"]),
    (
        Class::NotFound,
        &[
            "not found",
            "notfound",
            "no such",
            "not exist",
            "n't exist",
            "cannot find",
            "can't find",
            "not find",
            "unable to find",
            "failed to find",
            "missing",
            "no key for",
            "is unknown to",
            "not contain",
        ],
    ),
    (
        Class::Unavailable,
        &[
            "unavailable",
            "no route to host",
            "unreachable",
            "not reachable",
            "host is down",
            "not ready",
            "not available",
            "not yet available",
            "in available state",
            "connection reset",
            "broken pipe",
            "closed the connection",
            "connection closed",
            "connect to",
            "not connected",
            "stale file handle",
            "stale nfs file handle",
            "unexpected eof",
        ],
    ),
    (
        Class::Invalid,
        &[
            "invalid",
            "malformed",
            "must be ",
            "syntax",
            "cannot parse",
            "parsing",
            "incorrect",
            "out of range",
            "too large",
            "too small",
            "too long",
            "too short",
            "less than",
            "not specified",
            "was specified",
        ],
    ),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = WORDS.iter().flat_map(|(_, words)| *words);
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
});

/// Bytes of a clause that are searched.
const SEARCHED: usize = 1000;

impl Message<'_> {
    /// The name of its class in the catalogue; empty if it has none.
    pub(crate) fn class_name(&self) -> &'static str {
        self.class().map_or("", Class::name)
    }

    /// The class of the error: that of the leaf's words, else of the code, else of the clauses around it.
    pub fn class(&self) -> Option<Class> {
        let mut clauses = self.outward();
        let leaf = clauses.next()?;
        let codes = self.codes();
        clauses
            .take(2)
            .find_map(numbered)
            .or_else(|| by_words(leaf))
            .or_else(|| codes.http.and_then(of_http))
            .or_else(|| codes.grpc.and_then(of_grpc))
            .or_else(|| self.outward().skip(1).find_map(by_words))
    }
}

fn by_words(clause: &str) -> Option<Class> {
    let clause = clause.get(..SEARCHED).unwrap_or(clause);
    let found = FINDER.as_ref()?.find_overlapping_iter(clause).map(|found| found.pattern().as_usize()).min();
    found.and_then(of_pattern).or_else(|| numbered(clause)).or_else(|| {
        // `no available topology found`
        (starts_with(clause, "no ") && clause.contains(" found")).then_some(Class::NotFound)
    })
}

fn of_pattern(mut pattern: usize) -> Option<Class> {
    for (class, words) in WORDS {
        if pattern < words.len() {
            return Some(*class);
        }
        pattern -= words.len();
    }
    None
}

fn starts_with(clause: &str, words: &str) -> bool {
    clause.get(..words.len()).is_some_and(|head| head.eq_ignore_ascii_case(words))
}

/// The class of an error that is given by its number: `mount error(13)`, `ret=-110`.
fn numbered(clause: &str) -> Option<Class> {
    let rest = ["error(", "ret=-"].iter().find_map(|mark| clause.split_once(mark).map(|(_, rest)| rest))?;
    // The mount system call has no file system of this type.
    if rest.starts_with("19)") {
        return Some(Class::Unsupported);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let words = code::words_of(rest[..digits].parse().ok()?)?;
    by_words(words)
}

fn of_http(status: u16) -> Option<Class> {
    Some(match status {
        401 => Class::Unauthenticated,
        402 | 413 | 429 | 507 => Class::Exhausted,
        403 => Class::Permission,
        404 | 410 => Class::NotFound,
        408 | 504 => Class::Timeout,
        409 | 423 => Class::Conflict,
        405 | 501 => Class::Unsupported,
        422 => Class::Invalid,
        502 | 503 => Class::Unavailable,
        // Clouds answer 400 and 500 to anything.
        _ => return None,
    })
}

fn of_grpc(code: Grpc) -> Option<Class> {
    Some(match code {
        Grpc::InvalidArgument | Grpc::OutOfRange => Class::Invalid,
        Grpc::DeadlineExceeded => Class::Timeout,
        Grpc::NotFound => Class::NotFound,
        Grpc::AlreadyExists | Grpc::Aborted => Class::Conflict,
        Grpc::PermissionDenied => Class::Permission,
        Grpc::ResourceExhausted => Class::Exhausted,
        Grpc::Unimplemented => Class::Unsupported,
        Grpc::Unavailable => Class::Unavailable,
        Grpc::DataLoss => Class::Corrupted,
        Grpc::Unauthenticated => Class::Unauthenticated,
        Grpc::Canceled | Grpc::Unknown | Grpc::Internal | Grpc::FailedPrecondition => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_leaf_then_codes_then_the_clauses_around_it() {
        for (text, expected) in [
            ("rpc error: code = Internal desc = dial tcp: lookup a.b on 10.0.0.2:53: no such host", Some(Class::Dns)),
            ("dial tcp 10.0.0.1:443: connect: connection refused", Some(Class::ConnectionRefused)),
            ("net/http: TLS handshake timeout", Some(Class::Timeout)),
            ("tls: failed to verify certificate: x509: certificate has expired", Some(Class::Tls)),
            ("rpc error: code = PermissionDenied desc = quux", Some(Class::Permission)),
            ("rpc error: code = NotFound desc = volume v-1: permission denied", Some(Class::Permission)),
            ("GET https://x/y: 503 Service Unavailable", Some(Class::Unavailable)),
            ("failed to allocate for range 0: no IP addresses available in range set: a-b", Some(Class::Exhausted)),
            ("mount error(13): quux", Some(Class::Permission)),
            ("rados: ret=-28, quux", Some(Class::Exhausted)),
            ("no topology key found", Some(Class::NotFound)),
            ("quux is quaint", None),
            ("", None),
        ] {
            assert_eq!(Message::parse(text).class(), expected, "{text}");
        }
    }
}
