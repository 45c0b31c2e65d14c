//! `ligament site`: lists, checks and makes site files. `between` measures the link between two sites, with
//! one end at each site (`measurement`, with its `orders`). `install` puts the command `ligament` to a
//! site.

mod between;
mod install;
mod measurement;
mod orders;

pub(crate) use measurement::serve as serve_link;

use crate::arguments::print;
use ligament_catalogue::{fault, Fault};
use ligament_launch::quote_path;
use ligament_launch::site::{find_site, known_sites, template, LauncherKind, Site, SITES_DIRECTORY};
use ligament_launch::terminal_text::clean;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SiteCommand {
    /// List the sites that can be called by their names.
    List {
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say everything that is wrong with a site's file, and whether the site can be reached; of two sites, also
    /// what the link between them can do.
    Check(SiteCheck),
    /// Put this command, ligament, to a site by ssh: whole, and tried there, or not at all.
    Install(install::Install),
    /// Write a site file to fill in, with a comment on every key.
    New {
        /// The name of the site.
        name: String,
        /// For this project, in ./sites, instead of for all of yours.
        #[arg(long)]
        here: bool,
        /// Print it, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SiteCheck {
    /// The site's name, or its file. Of two sites the link between them is measured: who can dial whom, the
    /// round trip, and the rate over one stream and over several; `here` is this machine.
    #[arg(required = true, num_args = 1..=2, value_name = "SITE")]
    sites: Vec<String>,
    /// Read the files, and reach nothing.
    #[arg(long)]
    offline: bool,
    /// How long each of the four rates of a link is measured.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "2s")]
    seconds: Duration,
    /// How much is sent for each of them, at most (bytes; 10M are ten million).
    #[arg(long, value_name = "BYTES", value_parser = crate::copying::rate, default_value = "256M")]
    bytes: u64,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Returns the site of this name, or this machine for `here`.
fn here_or(name: &str) -> Result<Site, Fault> {
    if name == "here" && !known_sites().iter().any(|(known, _)| known == name) {
        Ok(Site::default())
    } else {
        find_site(name)
    }
}

/// Carries out a subcommand of `ligament site`. Returns the exit status.
pub(crate) fn site(command: &SiteCommand) -> i32 {
    match command {
        SiteCommand::List { json } => list(*json),
        SiteCommand::Check(check) => check_all(check),
        SiteCommand::Install(install) => install::install(install),
        SiteCommand::New { name, here, dry_run } => new(name, *here, *dry_run),
    }
}

fn list(json: bool) -> i32 {
    let sites: Vec<_> = known_sites()
        .into_iter()
        .map(|(name, file)| {
            let found = find_site(&file.display().to_string());
            (name, file, found)
        })
        .collect();
    if json {
        let one = |(name, file, found): &(String, PathBuf, Result<Site, Fault>)| {
            serde_json::json!({
                "name": name,
                "file": file.display().to_string(),
                "ok": found.is_ok(),
                "description": found.as_ref().map(|site| site.description.as_str()).unwrap_or_default(),
            })
        };
        let sites: Vec<_> = sites.iter().map(one).collect();
        print(&format!("{}\n", serde_json::json!({ "ok": true, "sites": sites })));
        return crate::DONE;
    }
    if sites.is_empty() {
        print("no sites yet; begin one with \"ligament site new NAME\"\n");
        return crate::DONE;
    }
    let width = sites.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let lines = sites.iter().map(|(name, file, found)| match found {
        Ok(site) => format!("{name:<width$}  {}  ({})\n", site.description, file.display()),
        Err(_) => format!("{name:<width$}  has mistakes: ligament site check {name}  ({})\n", file.display()),
    });
    print(&lines.collect::<String>());
    crate::DONE
}

fn check_all(arguments: &SiteCheck) -> i32 {
    let SiteCheck { sites, offline, json, .. } = arguments;
    match sites.as_slice() {
        [a, b] if !offline => {
            // The bounds are limited here, because an end refuses to measure for longer.
            let bounds = between::Bounds {
                seconds: arguments.seconds.as_secs_f64().min(measurement::MAX_SECONDS),
                bytes: arguments.bytes,
            };
            between::check([a, b], bounds, *json)
        }
        sites => {
            let each = sites.iter().map(|site| check(site, *offline, *json));
            each.fold(crate::DONE, i32::max)
        }
    }
}

fn check(wanted: &str, offline: bool, json: bool) -> i32 {
    let site = match find_site(wanted) {
        Ok(site) => site,
        Err(error) if json => return crate::fail(true, &error, crate::BAD_USE),
        Err(error) => {
            ligament_runtime::say(&error.to_string());
            return crate::BAD_USE;
        }
    };
    let relays = site.relays.iter().try_for_each(|file| ligament_link::Station::read(file).map(|_| ()));
    let reached = relays.and_then(|()| if offline { Ok(Vec::new()) } else { reach(&site) });
    match reached {
        Err(error) => crate::fail(json, &error, crate::FAILED),
        Ok(found) if json => {
            print(&format!("{}\n", serde_json::json!({ "ok": true, "site": site.name, "found": found })));
            crate::DONE
        }
        Ok(found) => {
            let file = site.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
            let found: String = found.iter().map(|line| format!("  {line}\n")).collect();
            print(&format!("{}: {file} is right\n{found}", site.name));
            crate::DONE
        }
    }
}

/// Checks a site by ssh: the commands of its file, its ligament, and its launcher. Returns the findings.
fn reach(site: &Site) -> Result<Vec<String>, Fault> {
    let mut script = String::new();
    for line in site.before() {
        script.push_str(&format!(
            "{line}\n[ $? -eq 0 ] || {{ echo \"this line failed: \"{line:?} >&2; exit 1; }}\n"
        ));
    }
    let own = ligament_launch::own_command();
    let ligament = site.ligament.clone().unwrap_or_else(|| own.display().to_string());
    script.push_str(&format!("l={}\n[ -x \"$l\" ] || l=ligament\n", quote_path(&ligament)));
    script.push_str("\"$l\" version || { echo \"there is no ligament: $l\" >&2; exit 1; }\n");
    let command = match site.launcher {
        Some(LauncherKind::Slurm) => "srun",
        Some(LauncherKind::Mpirun) => "mpirun",
        Some(LauncherKind::Pbs) => "pbs_tmrsh",
        Some(LauncherKind::Lsf) => "blaunch",
        Some(LauncherKind::Ssh) => "ssh",
        Some(LauncherKind::None) | None => "true",
    };
    script.push_str(&format!(
        "command -v {command} || {{ echo \"there is no {command} in PATH\" >&2; exit 1; }}\n"
    ));
    let output = shell_at(site, &script)?;
    let place = site.ssh.as_deref().unwrap_or("this machine");
    let text = |bytes: &[u8]| clean(&String::from_utf8_lossy(bytes)).trim().to_owned();
    if !output.status.success() {
        return Err(fault!(
            SITE_UNREACHABLE,
            "the site {} is not as its file says: {place}: {}",
            site.name,
            text(&output.stderr)
        ));
    }
    let mut lines = text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>();
    if command == "true" {
        lines.pop();
    }
    Ok(lines.into_iter().map(|line| format!("{place}: {line}")).collect())
}

/// Runs a script in a login shell at a site. The script is the standard input of the shell, so its length is
/// not limited.
pub(crate) fn shell_at(site: &Site, script: &str) -> Result<std::process::Output, Fault> {
    let mut command = at(site);
    command.args(["bash", "-ls"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            fault!(SITE_UNREACHABLE, "{}: {error}; is it installed?", command.get_program().to_string_lossy())
        })?;
    if let Some(mut input) = child.stdin.take() {
        // A write error is ignored, because a shell that ends early explains its end in its output.
        let _ = input.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| fault!(SITE_UNREACHABLE, "ssh: {error}"))?;
    match (output.status.code(), &site.ssh) {
        (Some(255), Some(target)) => {
            let said = clean(&String::from_utf8_lossy(&output.stderr)).trim().to_owned();
            Err(fault!(SITE_UNREACHABLE, "the site {} cannot be reached: ssh {target} said: {said}", site.name))
        }
        _ => Ok(output),
    }
}

/// Returns the command that runs another command at a site: by ssh, or directly if the site is this
/// machine.
pub(crate) fn at(site: &Site) -> Command {
    at_with(site, &[])
}

/// Returns the command that runs another command at a site with a terminal there.
pub(crate) fn at_with_terminal(site: &Site) -> Command {
    at_with(site, &["-tt", "-o", "LogLevel=ERROR"])
}

fn at_with(site: &Site, more: &[&str]) -> Command {
    match &site.ssh {
        None => {
            let mut command = Command::new("env");
            command.arg("--");
            command
        }
        Some(target) => {
            let mut options = site.ssh_options.clone();
            options.extend(more.iter().map(|option| (*option).to_owned()));
            let words = ligament_launch::agents::ssh_words(&options, 30, target);
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            command
        }
    }
}

fn new(name: &str, here: bool, dry_run: bool) -> i32 {
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        let error = fault!(SITE_UNKNOWN, "a site cannot be called \"{name}\"; use letters, digits, -, _ and .");
        return crate::fail(false, &error, crate::BAD_USE);
    }
    let text = template(name);
    if dry_run {
        print(&text);
        return crate::DONE;
    }
    let directory = if here {
        PathBuf::from(SITES_DIRECTORY)
    } else {
        match ligament_launch::site::own_directory() {
            Some(directory) => directory,
            None => {
                let error =
                    fault!(SITE_UNKNOWN, "HOME is not set, so there is no place for your sites; use --here");
                return crate::fail(false, &error, crate::BAD_USE);
            }
        }
    };
    let path = directory.join(format!("{name}.yaml"));
    let write = || {
        std::fs::create_dir_all(&directory)?;
        std::fs::File::create_new(&path)?.write_all(text.as_bytes())
    };
    match write() {
        Ok(()) => {
            print(&format!("{}: fill it in, then \"ligament site check {name}\"\n", path.display()));
            crate::DONE
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let error =
                fault!(SITE_UNKNOWN, "the site file {} is there already; choose another name", path.display());
            crate::fail(false, &error, crate::BAD_USE)
        }
        Err(error) => crate::fail(
            false,
            &fault!(RUN_DIRECTORY_UNWRITABLE, "{} cannot be written: {error}", path.display()),
            crate::FAILED,
        ),
    }
}
