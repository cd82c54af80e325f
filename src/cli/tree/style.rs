//! Terminal style: colours, width, and the characters it can display.

use std::env;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style as Ansi};
use shindan_core::api::Severity;

const NARROWEST: usize = 40;

#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Style {
    pub(super) colours: bool,
    /// Columns of a line. `usize::MAX`: no line is wrapped.
    pub(super) width: usize,
    pub(super) signs: &'static Signs,
}

/// Drawing characters. Each is one column wide, except for the branches.
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
    /// The style of standard output, from its environment.
    pub(in crate::cli) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let choice = anstream::AutoStream::choice(&stdout);
        let columns = terminal_size::terminal_size().filter(|_| stdout.is_terminal());
        let columns = columns.map(|(width, _)| usize::from(width.0));
        Self {
            colours: choice != anstream::ColorChoice::Never,
            width: columns.unwrap_or_else(|| width_of_pipe(env::var("COLUMNS").ok().as_deref())).max(NARROWEST),
            signs: if shows_unicode(|name| env::var(name).ok()) { &DRAWN } else { &PLAIN },
        }
    }

    /// A style without colour, for tests and files.
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

/// The width for a pipe or a file. What reads it, such as grep, needs whole lines, unless the user sets a width.
fn width_of_pipe(columns: Option<&str>) -> usize {
    columns.and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Whether the locale, determined as in C libraries, is a Unicode one. Without a locale ASCII is used.
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
    Healthy,
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
            Self::Healthy => of(AnsiColor::Green),
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
    fn lines_of_a_pipe_are_wrapped_only_on_request() {
        assert_eq!(width_of_pipe(None), usize::MAX);
        assert_eq!([Some("0"), Some("wide")].map(width_of_pipe), [usize::MAX; 2]);
        assert_eq!(width_of_pipe(Some("100")), 100);
    }

    #[test]
    fn unicode_characters_need_a_unicode_locale() {
        let with = |name: &'static str, value: &'static str| {
            shows_unicode(move |requested| (requested == name).then(|| value.to_owned()))
        };
        assert!(with("LANG", "en_GB.UTF-8") && with("LC_ALL", "C.utf8"));
        assert!(!with("LANG", "C") && !with("OTHER", "en_GB.UTF-8"));
        let overruled = |requested: &str| match requested {
            "LC_ALL" => Some("C".to_owned()),
            _ => Some("de_DE.UTF-8".to_owned()),
        };
        assert!(!shows_unicode(overruled));
    }
}
