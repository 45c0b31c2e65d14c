//! The reference of the command line: groups of commands in `ligament --help`, the page
//! `docs/reference/commands.md`, and the man pages. All of them are made from clap's definitions.

use ligament_catalogue::fault;
use std::fmt::Write as _;
use std::path::Path;

/// Commands of each group, in the order in which a user meets them. clap adds `help`.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Models", &["new", "check", "graph", "scales", "tasks", "predict", "convert", "play", "study"]),
    ("Runs", &["run", "submit", "attach", "stop", "cancel", "steer", "checkpoint", "join", "replay", "runs"]),
    ("Looking on", &["status", "view", "tap", "logs", "peek", "timeline", "profile"]),
    ("Sites and files", &["site", "agent", "relay", "cp", "sync"]),
    ("Help", &["explain", "config", "completions", "version", "help"]),
];

/// Number of columns for the names in a list of commands.
const NAME_COLUMNS: usize = 12;

/// Returns the command with a help text that lists its subcommands in groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(list, "{heading}:");
        for name in names {
            let _ = writeln!(list, "  {name:<NAME_COLUMNS$} {}", about(&command, name));
        }
        list.push('\n');
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}\n");
    command.help_template(template)
}

/// Returns the first sentence of a command's description.
fn about(command: &clap::Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(|found| found.get_about());
    found.map_or_else(|| "Print the help of a command".to_owned(), |about| about.to_string())
}

/// Writes `ligament.1`, and a page for each command, such as `ligament-run.1`. Returns the exit status.
pub(crate) fn write_man_pages(command: clap::Command, directory: &Path) -> i32 {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command.disable_help_subcommand(true), directory));
    if let Err(error) = written {
        let fault =
            fault!(FILE_NOT_WRITTEN, "the man pages cannot be written to {}: {error}", directory.display());
        return crate::fail(false, &fault, crate::FAILED);
    }
    crate::DONE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::definition;

    const HEAD: &str = "# The command line

<!-- made from the definitions: LIGAMENT_WRITE_PAGES=1 cargo test -p ligament-cli reference -->

All commands and options of `ligament`, as `ligament COMMAND --help` prints them. Each command has a man page,
too, such as `man ligament-run`. The exit status is 0 when all is done, 1 when the run failed, 2 for bad use or
a bad model, and 130 when the command was interrupted. `--json`, where a command has it, prints one object with
`\"ok\"`. `RUN` is a path, a name, or `latest`.
";

    /// Maximum line length of the page.
    const MAX_COLUMNS: usize = 112;

    fn visible(command: &clap::Command) -> Vec<&clap::Command> {
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help").collect()
    }

    fn wrapped(text: &str, indent: &str) -> String {
        let blank = " ".repeat(indent.len());
        let words = textwrap::Options::new(MAX_COLUMNS).word_splitter(textwrap::WordSplitter::NoHyphenation);
        let lines = words.break_words(false).initial_indent(indent).subsequent_indent(&blank);
        text.split("\n\n").map(|paragraph| textwrap::fill(paragraph, &lines) + "\n\n").collect()
    }

    fn section(command: &clap::Command, name: &str, level: &str) -> String {
        let usage = command.clone().bin_name(name).render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").trim().to_owned();
        let about =
            command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let mut page = format!("{level} `{name}`\n\n{}", wrapped(&sentence(&about), ""));
        page += &format!("    {}\n\n", usage.split_whitespace().collect::<Vec<_>>().join(" "));
        let shown = |argument: &&clap::Arg| !argument.is_hide_set() && !argument.is_global_set();
        for argument in command.get_arguments().filter(shown).filter(|one| one.get_id() != "help") {
            let help =
                argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
            let mut help = sentence(&help.split("\n\n").collect::<Vec<_>>().join(" "));
            let defaults: Vec<_> =
                argument.get_default_values().iter().map(|one| one.to_string_lossy()).collect();
            if !defaults.is_empty() && argument.get_action().takes_values() {
                let _ = write!(help, " Default: `{}`.", defaults.join("`, `"));
            }
            page += wrapped(&format!("`{argument}`: {help}"), "- ").trim_end();
            page.push('\n');
        }
        format!("{}\n\n", page.trim_end())
    }

    fn sentence(text: &str) -> String {
        let text = text.trim();
        if text.is_empty() || text.ends_with(['.', '!', '?', ':']) {
            text.to_owned()
        } else {
            format!("{text}.")
        }
    }

    fn page() -> String {
        let mut whole = definition();
        whole.build();
        let mut page = HEAD.to_owned();
        for (heading, names) in GROUPS {
            page += &format!("\n## {heading}\n\n");
            for name in names.iter().filter(|name| **name != "help") {
                let command = whole.find_subcommand(name).unwrap();
                page += &section(command, &format!("ligament {name}"), "###");
                for below in visible(command) {
                    page += &section(below, &format!("ligament {name} {}", below.get_name()), "####");
                }
            }
            page.truncate(page.trim_end().len());
            page.push('\n');
        }
        page
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let whole = definition();
        let mut all: Vec<&str> = visible(&whole).iter().map(|one| one.get_name()).chain(["help"]).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn every_command_and_option_has_help() {
        let mut whole = definition();
        whole.build();
        for command in visible(&whole) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
                assert!(argument.get_help().is_some(), "{} {argument}", command.get_name());
            }
        }
    }

    #[test]
    fn the_help_lists_each_command_once_under_its_group() {
        let help = grouped(definition()).render_long_help().to_string();
        for (heading, names) in GROUPS {
            assert!(help.contains(&format!("\n{heading}:\n")), "{help}");
            for name in names {
                assert_eq!(help.matches(&format!("\n  {name} ")).count(), 1, "{name}: {help}");
            }
        }
    }

    #[test]
    fn the_page_of_the_command_line_is_made_from_its_definitions() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
        let made = page();
        if std::env::var_os("LIGAMENT_WRITE_PAGES").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        for (i, (there, made)) in there.lines().zip(made.lines()).enumerate() {
            assert_eq!(there, made, "line {} of {}: write it anew, as its head says", i + 1, path.display());
        }
        assert_eq!(
            there.lines().count(),
            made.lines().count(),
            "write {} anew, as its head says",
            path.display()
        );
    }
}
