//! The language of whoever asks: as he says, else that of his terminal.

use crate::config::Lang;
use crate::diagnosis::Language;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct LanguageArgs {
    /// The language of what is told [default: that of LC_ALL, LC_MESSAGES or LANG, where it is one of these; else English]
    #[arg(long, value_name = "LANG")]
    lang: Option<Lang>,
}

impl LanguageArgs {
    pub(super) fn language(self) -> Language {
        let named = |name: &&str| std::env::var(name).ok().filter(|locale| !locale.is_empty());
        let locale = || ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(named);
        self.lang.map_or_else(|| Language::of_locale(&locale().unwrap_or_default()), Language::from)
    }
}
