//! Tokens that providers issue with a prefix or a form of their own.

use super::words::{has_digit, is_mixed, turns};
use super::{SHAPE, Shape, begins_with, is_of_name};

pub(super) const SHAPES: &[Shape] = &[
    // JSON web tokens
    Shape {
        marks: &["eyj"],
        pattern: r"()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["akia", "asia", "abia", "acca"],
        behind: |behind| begins_with(behind, 16, |b| b.is_ascii_alphanumeric()),
        pattern: r"()(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}",
        is_secret: |_| true,
    },
    Shape {
        marks: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_", "dckr_pat_", "glsa_", "shp"],
        pattern: r"()(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|glsa_[A-Za-z0-9_]{30,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "pypi-", "xox", "xapp-",
        ],
        pattern: r"()(?:gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{20,}|pypi-[A-Za-z0-9_-]{50,}|xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{20,})",
        is_secret: has_digit,
        ..SHAPE
    },
    Shape {
        marks: &["k_live_", "k_test_", "k_prod_", "whsec_", "do_v1_", "doo_v1_", "dop_v1_", "dor_v1_"],
        pattern: r"()(?:[prs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}|do[opr]?_v1_[a-f0-9]{40,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["aiza", "ya29.", "gocspx-", "hvs.", "hvb.", "hvr.", "sg.", "age-secret-key-"],
        pattern: r"()(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|hv[sbr]\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|AGE-SECRET-KEY-[A-Z0-9]{20,})",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["sk-"],
        behind: |behind| begins_with(behind, 20, is_of_name),
        pattern: r"()(?-u:\b)sk-[A-Za-z0-9_-]{20,}",
        is_secret: |value| is_mixed(value.as_bytes()),
    },
    // Hashes of passwords, as crypt writes them
    Shape {
        marks: &["$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "$pbkdf2"],
        pattern: r"()\$(?:1|2[aby]|5|6|y|apr1|argon2(?:id?|d)|pbkdf2[a-z0-9-]*)\$[A-Za-z0-9./$=,+-]{20,}",
        is_secret: |_| true,
        ..SHAPE
    },
    // Private keys: in PEM (also the remaining part of a truncated key) and in base64
    Shape {
        marks: &["private key"],
        pattern: r"()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*)",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["private key"],
        pattern: r"(^|[^A-Za-z0-9+/=\\])[A-Za-z0-9+/=\s\\]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        is_secret: |_| true,
        ..SHAPE
    },
    Shape {
        marks: &["ls0tls1crudjti"],
        pattern: r"()LS0tLS1CRUdJTi[A-Za-z0-9+/]*={0,2}",
        is_secret: |_| true,
        ..SHAPE
    },
];

/// Characters that the part behind a prefix consists of.
pub(super) type Charset = fn(u8) -> bool;

const HEX: Charset = |b| b.is_ascii_hexdigit();
const LETTERS: Charset = |b| b.is_ascii_alphanumeric();
const CAPITALS: Charset = |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-';
const NAME: Charset = |b| is_of_name(b) || matches!(b, b'+' | b'/' | b'%' | b'=');
const DOTTED: Charset = |b| is_of_name(b) || matches!(b, b'.' | b'=');

/// Prefixes of tokens, the characters behind them, and how many there are at least. Sorted, and
/// compared only with long words. A prefix that begins other words needs more characters of a smaller set.
pub(super) const PREFIXES: &[(&str, Charset, usize)] = &[
    ("4b1d", LETTERS, 36),
    ("A3-", CAPITALS, 28),
    ("ABSK", NAME, 60),
    ("AC", HEX, 32),
    ("AKCp", LETTERS, 50),
    ("API-", CAPITALS, 25),
    ("AQVN", NAME, 34),
    ("ATATT3", NAME, 40),
    ("ATBB", LETTERS, 28),
    ("ATCTT3", NAME, 40),
    ("CLOJARS_", LETTERS, 40),
    ("EAA", NAME, 50),
    ("EAAA", NAME, 22),
    ("EZAK", LETTERS, 40),
    ("EZTK", LETTERS, 40),
    ("FLWPUBK", NAME, 12),
    ("FLWSECK", NAME, 12),
    ("GR1348941", NAME, 20),
    ("HRKU-", NAME, 30),
    ("LTAI", LETTERS, 16),
    ("NRAK-", LETTERS, 20),
    ("NRII-", NAME, 20),
    ("NRJS-", HEX, 16),
    ("NRRA-", HEX, 20),
    ("PMAK-", NAME, 40),
    ("PMAT-", NAME, 20),
    ("SG.", DOTTED, 60),
    ("SK", HEX, 32),
    ("YC", NAME, 36),
    ("access-development-", HEX, 8),
    ("access-production-", HEX, 8),
    ("access-sandbox-", HEX, 8),
    ("api_org_", LETTERS, 30),
    ("b_", NAME, 42),
    ("bedrock-api-key-", NAME, 20),
    ("cmVmd", LETTERS, 55),
    ("dapi", HEX, 32),
    ("dckr_oat_", NAME, 20),
    ("dnkey-", NAME, 50),
    ("dp.", DOTTED, 40),
    ("dt0c01.", DOTTED, 50),
    ("dt0s01.", DOTTED, 50),
    ("duffel_live_", NAME, 30),
    ("duffel_test_", NAME, 30),
    ("figd_", NAME, 30),
    ("fio-u-", NAME, 40),
    ("fm1a_", NAME, 60),
    ("fm1r_", NAME, 60),
    ("fm2_", NAME, 60),
    ("fo1_", NAME, 38),
    ("glc_", NAME, 32),
    ("glffct-", NAME, 20),
    ("glimt-", NAME, 20),
    ("gloas-", NAME, 40),
    ("gsk_", LETTERS, 40),
    ("hf_", LETTERS, 30),
    ("ico-", LETTERS, 32),
    ("key-", HEX, 32),
    ("lin_api_", LETTERS, 30),
    ("lin_oauth_", LETTERS, 30),
    ("live_", HEX, 34),
    ("live_pub_", HEX, 30),
    ("lsv2_", NAME, 40),
    ("ntn_", LETTERS, 40),
    ("nvapi-", NAME, 40),
    ("ops_eyJ", NAME, 40),
    ("p8e-", LETTERS, 30),
    ("pat.", DOTTED, 60),
    ("pk.", DOTTED, 70),
    ("pnu_", LETTERS, 34),
    ("pplx-", LETTERS, 40),
    ("pscale_", DOTTED, 32),
    ("pubkey-", HEX, 32),
    ("pul-", HEX, 40),
    ("r8_", LETTERS, 34),
    ("rdme_", LETTERS, 50),
    ("rubygems_", HEX, 40),
    ("s-s4t2af-", HEX, 40),
    ("s-s4t2ud-", HEX, 40),
    ("s.", LETTERS, 24),
    ("sat.", DOTTED, 60),
    ("sbp_", HEX, 40),
    ("secret_", LETTERS, 40),
    ("sgp_", NAME, 40),
    ("sha256~", NAME, 40),
    ("shippo_live_", HEX, 32),
    ("shippo_test_", HEX, 32),
    ("sk.", DOTTED, 70),
    ("sl.", NAME, 80),
    ("sm_aat_", LETTERS, 16),
    ("sm_pat_", LETTERS, 16),
    ("sm_sat_", LETTERS, 16),
    ("sntrys_", NAME, 30),
    ("sntryu_", HEX, 40),
    ("sq0atp-", NAME, 22),
    ("sq0csp-", NAME, 22),
    ("sqa_", HEX, 40),
    ("sqp_", HEX, 40),
    ("squ_", HEX, 40),
    ("t1.", DOTTED, 60),
    ("test_", HEX, 34),
    ("test_pub_", HEX, 30),
    ("tfp_", DOTTED, 40),
    ("tk-us-", NAME, 40),
    ("v1.0-", NAME, 100),
    ("xai-", LETTERS, 50),
    ("xkeysib-", NAME, 60),
    ("xsmtpsib-", NAME, 60),
    ("y0_", NAME, 40),
];

/// Whether a long word is a token with a known prefix or another known form.
pub(super) fn is_token(word: &str) -> bool {
    let has_prefix = |(prefix, set, least): &(&str, Charset, usize)| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            let len = rest.bytes().take_while(|b| set(*b)).count();
            let is_hex = || rest[..len].bytes().all(HEX) && has_digit(rest);
            // Tokens of Hugging Face can consist of small letters.
            let is_of_letters = || matches!(*prefix, "hf_" | "api_org_");
            len >= *least && (turns(&rest[..len]) * 8 >= len || is_hex() || is_of_letters())
        })
    };
    let first = word.as_bytes().first();
    let from = PREFIXES.partition_point(|(prefix, ..)| prefix.as_bytes().first() < first);
    let to = PREFIXES.partition_point(|(prefix, ..)| prefix.as_bytes().first() <= first);
    PREFIXES[from..to].iter().any(has_prefix) || has_form(word)
}

/// Forms without a prefix: of Mailchimp and Mailgun, Airtable, Authress, Terraform, MaxMind, and the client secrets of
/// Entra ID.
fn has_form(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_hex_and = || {
        let hex = bytes.iter().take_while(|b| b.is_ascii_hexdigit() || matches!(b, b'g' | b'h')).count();
        let rest = &word[hex..];
        hex == 32
            && rest.strip_prefix('-').is_some_and(|rest| {
                rest.strip_prefix("us").is_some_and(|n| n.len() <= 2 && has_digit(n))
                    || rest.len() == 17 && rest.as_bytes().get(8) == Some(&b'-')
            })
    };
    let is_personal = || {
        word.strip_prefix("pat")
            .and_then(|rest| rest.split_once('.'))
            .is_some_and(|(id, key)| id.len() == 14 && key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    is_hex_and()
        || is_personal()
        || word.len() >= 50 && (word.contains(".acc_") || word.contains(".acc-")) && turns(word) * 8 >= word.len()
        || word.find(".atlasv1.").is_some_and(|at| at >= 14 && word.len() >= at + 50)
        || word.len() >= 38 && word.ends_with("_mmk")
        || word.len() >= 36 && bytes.get(3).is_some_and(u8::is_ascii_digit) && word.get(4..6) == Some("Q~")
}
