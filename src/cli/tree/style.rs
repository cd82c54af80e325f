//! How a terminal is written to: colours, width, and signs that it can show.

use std::env;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style as Ansi};

use crate::api::Severity;

/// Where nothing tells how wide it is: a pipe, a file.
const WIDTH: usize = 120;
const NARROWEST: usize = 40;

#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Style {
    pub(super) colours: bool,
    pub(super) width: usize,
    pub(super) signs: &'static Signs,
}

/// The drawn parts, each of one column but for the branches.
#[derive(Debug)]
pub(super) struct Signs {
    pub(super) fails: &'static str,
    pub(super) noted: &'static str,
    pub(super) recovered: &'static str,
    pub(super) gone: &'static str,
    pub(super) branch: &'static str,
    pub(super) last_branch: &'static str,
    pub(super) trunk: &'static str,
    pub(super) runs: char,
    pub(super) waits: char,
    pub(super) failed: char,
    pub(super) out_of_memory: char,
    pub(super) probe: char,
    pub(super) exited: char,
    pub(super) arrow: &'static str,
    pub(super) point: &'static str,
}

static DRAWN: Signs = Signs {
    fails: "✖",
    noted: "•",
    recovered: "✔",
    gone: "◌",
    branch: "├─ ",
    last_branch: "└─ ",
    trunk: "│  ",
    runs: '━',
    waits: '┄',
    failed: '✖',
    out_of_memory: '▲',
    probe: '⊘',
    exited: '○',
    arrow: "→",
    point: "·",
};

static PLAIN: Signs = Signs {
    fails: "x",
    noted: "-",
    recovered: "v",
    gone: "~",
    branch: "|- ",
    last_branch: "`- ",
    trunk: "|  ",
    runs: '=',
    waits: '.',
    failed: 'x',
    out_of_memory: 'M',
    probe: 'P',
    exited: 'o',
    arrow: "->",
    point: "*",
};

impl Style {
    /// That of standard output, as its environment wants it.
    pub(in crate::cli) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let choice = anstream::AutoStream::choice(&stdout);
        let columns = terminal_size::terminal_size().filter(|_| stdout.is_terminal());
        Self {
            colours: choice != anstream::ColorChoice::Never,
            width: columns.map_or(WIDTH, |(width, _)| usize::from(width.0)).max(NARROWEST),
            signs: if shows_unicode(|name| env::var(name).ok()) { &DRAWN } else { &PLAIN },
        }
    }

    /// For tests and files: no colour.
    #[cfg(test)]
    pub(super) fn plain(width: usize, drawn: bool) -> Self {
        Self { colours: false, width, signs: if drawn { &DRAWN } else { &PLAIN } }
    }

    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let style = paint.ansi();
        format!("{style}{text}{style:#}")
    }
}

/// The locale as C libraries find it. Without any, signs that every terminal has.
fn shows_unicode(var: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(var).find(|value| !value.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Paint {
    Of(Severity),
    Well,
    Name,
    Faint,
    Command,
}

impl Paint {
    fn ansi(self) -> Ansi {
        let of = |colour: AnsiColor| Ansi::new().fg_color(Some(colour.into()));
        match self {
            Self::Of(Severity::Critical) => of(AnsiColor::Red).effects(Effects::BOLD),
            Self::Of(Severity::Warning) => of(AnsiColor::Yellow),
            Self::Of(Severity::Info) => of(AnsiColor::Blue),
            Self::Well => of(AnsiColor::Green),
            Self::Name => Ansi::new().effects(Effects::BOLD),
            Self::Faint => Ansi::new().effects(Effects::DIMMED),
            Self::Command => of(AnsiColor::Cyan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_drawn_where_the_locale_has_them() {
        let with = |name: &'static str, value: &'static str| {
            shows_unicode(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert!(with("LANG", "en_GB.UTF-8") && with("LC_ALL", "C.utf8"));
        assert!(!with("LANG", "C") && !with("OTHER", "en_GB.UTF-8"));
        let overruled = |asked: &str| match asked {
            "LC_ALL" => Some("C".to_owned()),
            _ => Some("de_DE.UTF-8".to_owned()),
        };
        assert!(!shows_unicode(overruled));
    }
}
