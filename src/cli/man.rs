//! `shindan man`: the manual page, commands included.

use std::io::Write;

use super::Ending;

pub(super) fn run(mut command: clap::Command, out: &mut dyn Write) -> anyhow::Result<Ending> {
    command.build();
    clap_mangen::Man::new(command.clone()).render(out)?;
    for sub in commands(&command) {
        section(sub, &format!("shindan {}", sub.get_name()), out)?;
        for below in commands(sub) {
            section(below, &format!("shindan {} {}", sub.get_name(), below.get_name()), out)?;
        }
    }
    Ok(Ending::Good)
}

fn commands(of: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    of.get_subcommands().filter(|sub| sub.get_name() != "help")
}

fn section(command: &clap::Command, name: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone().bin_name(name));
    writeln!(out, ".SH {}", name.to_uppercase())?;
    page.render_description_section(out)?;
    page.render_options_section(out)
}
