//! `shindan man`: the manual page, commands included.

use std::io::Write;

use super::Ending;

pub(super) fn run(mut command: clap::Command, out: &mut dyn Write) -> anyhow::Result<Ending> {
    command.build();
    clap_mangen::Man::new(command.clone()).render(out)?;
    for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
        let name = format!("shindan {}", sub.get_name());
        let page = clap_mangen::Man::new(sub.clone().bin_name(&name));
        writeln!(out, ".SH {}", name.to_uppercase())?;
        page.render_description_section(out)?;
        page.render_options_section(out)?;
    }
    Ok(Ending::Good)
}
