//! Language of the output: the flag, or else the locale.

use shindan_core::language::Language;

use crate::config::Lang;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct LanguageArgs {
    /// The language of the output [default: that of LC_ALL, LC_MESSAGES or LANG if it is one of these, else English]
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
