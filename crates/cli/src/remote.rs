//! `ligament submit`, `attach` and `cancel` for a site that is reached by ssh. The model, with its imports
//! resolved here, and the site file are copied to the directory of the site, and the same command of `ligament`
//! runs at the site. Its output is shown here.

use crate::attach::Attach;
use crate::job::Cancel;
use crate::site::{at, at_with_terminal, shell_at};
use crate::submit::Submit;
use ligament_catalogue::fault;
use ligament_launch::site::Site;
use ligament_launch::terminal_text::clean;
use ligament_launch::{quote, quote_path};
use ligament_manager::UtcTime;
use std::io::IsTerminal;
use std::process::Command;

/// Returns the beginning of a script for the shell of the site: commands from the site file, the change to the
/// site's directory, and the variable `l` with the path of ligament at the site.
fn begin(site: &Site) -> String {
    let mut script = String::new();
    for line in site.before() {
        script.push_str(&format!("{line} || exit 1\n"));
    }
    let directory = site.directory.as_deref().unwrap_or("couplings");
    script.push_str(&format!("mkdir -p {0} && cd {0} || exit 1\n", quote_path(directory)));
    let ligament = site.ligament.as_deref().unwrap_or("ligament");
    script.push_str(&format!("l={}\n", quote_path(ligament)));
    script
}

/// Returns script text that writes a text to a file. The end of the text is marked by a line that does not
/// occur in it.
fn file(name: &str, text: &str) -> String {
    let mut end = String::from("END-OF-FILE");
    while text.contains(&end) {
        end.push('-');
    }
    format!("cat > {} <<'{end}' || exit 1\n{text}\n{end}\n", quote(name))
}

/// Submits a run at the site. Returns the exit status.
pub(crate) fn submit(site: &Site, arguments: &Submit, model: &str, text: &str) -> i32 {
    let name = format!("{model}-{}", UtcTime::now().compact());
    let (model_file, site_file) = (format!("{name}.ymmsl"), format!("{}.yaml", site.name));
    let described = site.file.as_ref().map(std::fs::read_to_string).transpose();
    let described = match described {
        Ok(described) => described.unwrap_or_default(),
        Err(error) => {
            return crate::fail(
                arguments.json,
                &fault!(SITE_UNREACHABLE, "the site file: {error}"),
                crate::BAD_USE,
            )
        }
    };
    let mut words = vec!["submit".to_owned(), model_file.clone(), "--site".into(), format!("./{site_file}")];
    words.push("--at-site".into());
    if let Some(nodes) = arguments.nodes_at(&site.name) {
        words.push(format!("--nodes={nodes}"));
    }
    if let Some(time) = arguments.time {
        words.push(format!("--time={time}"));
    }
    for (option, value) in [("account", &arguments.account), ("partition", &arguments.partition)] {
        words.extend(value.as_ref().map(|value| format!("--{option}={value}")));
    }
    words.extend(arguments.asks.words(&site.name));
    if let Some(directory) = &arguments.run_dir {
        words.push(format!("--run-dir={}", directory.display()));
    }
    words.extend(arguments.restart_words());
    words.extend(arguments.ignore.words());
    // Settings, limits and placement are part of the model text, so their options are not repeated.
    for (given, word) in [
        (arguments.dry_run, "--dry-run"),
        (arguments.follow, "--follow"),
        (arguments.detach, "--detach"),
        (arguments.json, "--json"),
    ] {
        if given {
            words.push(word.to_owned());
        }
    }
    let put = begin(site) + &file(&model_file, text) + &file(&site_file, &described);
    match shell_at(site, &put) {
        Err(error) => return crate::fail(arguments.json, &error, crate::FAILED),
        Ok(output) if !output.status.success() => {
            let said = clean(&String::from_utf8_lossy(&output.stderr)).trim().to_owned();
            let error = fault!(SITE_UNREACHABLE, "the model cannot be put to the site {}: {said}", site.name);
            return crate::fail(arguments.json, &error, crate::FAILED);
        }
        Ok(_) => {}
    }
    call(site, &words, arguments.json)
}

/// Cancels a run at the site. Returns the exit status.
pub(crate) fn cancel(site: &Site, arguments: &Cancel) -> i32 {
    let mut words = vec!["cancel".to_owned(), arguments.run.clone()];
    for (given, word) in [(arguments.dry_run, "--dry-run"), (arguments.json, "--json")] {
        if given {
            words.push(word.to_owned());
        }
    }
    call(site, &words, arguments.json)
}

/// Attaches to a run at the site. Returns the exit status.
pub(crate) fn attach(site: &Site, arguments: &Attach) -> i32 {
    let mut words = vec!["attach".to_owned(), arguments.run.clone()];
    if arguments.json {
        words.push("--json".to_owned());
    }
    call(site, &words, arguments.json)
}

/// Returns the command that runs ligament at the site with these arguments and without a terminal.
pub(crate) fn command(site: &Site, words: &[String]) -> Command {
    calling(site, words, at(site))
}

fn calling(site: &Site, words: &[String], mut command: Command) -> Command {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let script = format!("{}exec \"$l\" {}", begin(site), words.join(" "));
    // ssh joins its arguments with blanks and passes the result to a shell, so the script needs quotes.
    command.args(["bash", "-lc"]).arg(if site.ssh.is_some() { quote(&script) } else { script });
    command
}

/// Runs ligament at the site, and prints its output here as it arrives. If this process has a terminal,
/// ligament gets one at the site, too, so that it can draw and receives Ctrl-C.
fn call(site: &Site, words: &[String], json: bool) -> i32 {
    let draws = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let draws = draws && std::io::stdout().is_terminal() && !json;
    let mut command = calling(site, words, if draws { at_with_terminal(site) } else { at(site) });
    if !draws {
        command.stdin(std::process::Stdio::null());
    }
    match command.status() {
        Ok(status) if status.code() == Some(255) => {
            let error = fault!(SITE_UNREACHABLE, "the site {} cannot be reached by ssh", site.name);
            crate::fail(json, &error, crate::FAILED)
        }
        Ok(status) => status.code().unwrap_or(crate::FAILED),
        Err(error) => {
            crate::fail(json, &fault!(NOT_STARTABLE, "ssh cannot be started: {error}"), crate::FAILED)
        }
    }
}
