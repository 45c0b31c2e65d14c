//! `ligament site install NAME`: copies the running binary to a site by ssh, into a temporary file. The file
//! gets its final name when its checksum is right and the binary has run at the site. Otherwise the file is
//! removed.

use crate::arguments::print;
use crate::copying::progress;
use ligament_catalogue::{fault, Fault};
use ligament_files::checksum;
use ligament_launch::site::{find_site, Site};
use ligament_launch::terminal_text::clean;
use ligament_launch::{quote, quote_path};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The version line of this command (`ligament --version`).
const VERSION: &str = concat!("ligament ", env!("CARGO_PKG_VERSION"));
/// Text before each answer of the script. A line without this text comes from a shell and is skipped.
const MARK: &str = "ligament-install ";
/// Maximum number of bytes of the script's output that are read for answers.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Maximum time until the error output is complete after the script has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Install {
    /// The site's name, or its file.
    site: String,
    /// The directory there [default: that of `ligament:` in the site's file, else ~/.local/bin].
    #[arg(long, value_name = "DIR")]
    to: Option<String>,
    /// Say what would be done, and put nothing there.
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// The binary that is copied to the site.
struct Own {
    file: File,
    path: PathBuf,
    bytes: u64,
    sum: String,
    /// The system and the processor, as `uname -sm` prints them.
    machine: String,
}

impl Own {
    fn open() -> Result<Own, Fault> {
        let unreadable = |error: &dyn std::fmt::Display| {
            fault!(NOT_STARTABLE, "the command ligament that is called cannot be read: {error}")
        };
        // This link of the kernel leads to the running binary even if its file has been renamed or
        // replaced.
        let link = Path::new("/proc/self/exe");
        let path = std::fs::read_link(link).unwrap_or_else(|_| ligament_launch::own_command());
        let mut file = File::open(link).map_err(|error| unreadable(&error))?;
        let sum = checksum(&mut file).map_err(|error| unreadable(&error))?;
        file.rewind().map_err(|error| unreadable(&error))?;
        let bytes = file.metadata().map_err(|error| unreadable(&error))?.len();
        let uname = rustix::system::uname();
        let machine = format!("{} {}", uname.sysname().to_string_lossy(), uname.machine().to_string_lossy());
        Ok(Own { file, path, bytes, sum, machine })
    }
}

/// The findings of the script at the site.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct SiteState {
    /// Path of the installed command, or the path at which it would be installed.
    path: String,
    /// The system and the processor.
    machine: String,
    /// Version and checksum of the command that is already at this path, if there is one.
    before: Option<(String, String)>,
    /// Path of the `ligament` that a login shell finds in its PATH.
    in_path: Option<String>,
    /// True if the new binary was installed under its name.
    done: bool,
}

/// Returns the directory and the file name under which ligament is installed at the site.
fn place(site: &Site, to: Option<&str>) -> (String, String) {
    let in_file = site.ligament.as_deref().map(Path::new).filter(|path| path.components().count() > 1);
    let named = in_file.and_then(|path| {
        Some((path.parent()?.to_string_lossy().into_owned(), path.file_name()?.to_string_lossy().into_owned()))
    });
    match (to, named) {
        (Some(to), _) => (to.to_owned(), "ligament".to_owned()),
        (None, Some(named)) => named,
        (None, None) => ("~/.local/bin".to_owned(), "ligament".to_owned()),
    }
}

/// Returns the script that inspects the site and then installs the binary, which is the script's standard
/// input.
fn script(site: &Site, place: &(String, String), own: &Own, dry_run: bool) -> String {
    let mut text = String::new();
    for line in site.before() {
        let failed = quote(&format!("{MARK}failed this line failed: {line}"));
        text.push_str(&format!("{{ {line}\n}} </dev/null >&2 || {{ echo {failed}; exit 1; }}\n"));
    }
    let (directory, name) = (quote_path(&place.0), quote(&place.1));
    text.push_str(&format!(
        "say() {{ printf '\\n%s%s\\n' {mark} \"$1\"; }}\nfail() {{ say \"failed $1\"; exit 1; \
         }}\nd={directory}; n={name}\ncase $d in /*) ;; *) d=$PWD/$d ;; esac\nsay \"path $d/$n\"\nm=$(uname \
         -sm); say \"machine $m\"\n[ \"$m\" = {machine} ] || exit 3\np=$(command -v ligament) && say \"inpath \
         $p\"\n[ ! -d \"$d/$n\" ] || fail \"$d/$n is a directory; say with --to where it is to go\"\ncommand \
         -v sha256sum >/dev/null || fail \"there is no sha256sum there, by which it is compared\"\nif [ -e \
         \"$d/$n\" ]; then\ns=$(sha256sum <\"$d/$n\" | cut -c1-64); say \"before $s $(\"$d/$n\" --version \
         </dev/null 2>&1 | head -n 1)\"\n[ \"$s\" != {sum} ] || exit 0\nfi\n",
        mark = quote(MARK),
        machine = quote(&own.machine),
        sum = own.sum,
    ));
    if dry_run {
        return text;
    }
    text.push_str(&format!(
        "mkdir -p \"$d\" || fail \"the directory $d cannot be made\"\nt=$(mktemp \"$d/.ligament-XXXXXX\") || \
         fail \"nothing can be written to $d\"\ntrap 'rm -f \"$t\"' EXIT\ntrap 'exit 1' HUP INT TERM\ncat \
         >\"$t\" || fail \"it cannot be written to $d\"\ns=$(sha256sum <\"$t\" | cut -c1-64)\n[ \"$s\" = {sum} \
         ] || fail \"it did not arrive whole: $(wc -c <\"$t\") bytes of {bytes} came, with the checksum \
         $s\"\nchmod 755 \"$t\"\nv=$(\"$t\" --version </dev/null 2>&1) || {{ say \"unfit $(printf '%s' \"$v\" \
         | tail -n 1)\"; exit 3; }}\n[ \"$v\" = {version} ] || {{ say \"unfit it says of itself: $v\"; exit 3; \
         }}\nmv -f \"$t\" \"$d/$n\" || fail \"it cannot get its name $d/$n\"\nsay done\nhash -r; p=$(command \
         -v ligament) && say \"inpath $p\"; exit 0\n",
        sum = own.sum,
        bytes = own.bytes,
        version = quote(VERSION),
    ));
    text
}

/// Reads the output of the script.
fn read(said: &str, site: &Site, own: &Own) -> Result<SiteState, Fault> {
    let mut there = SiteState::default();
    for line in said.lines().filter_map(|line| line.strip_prefix(MARK)) {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "path" => rest.clone_into(&mut there.path),
            "machine" if rest != own.machine => {
                return Err(fault!(
                    SITE_NOT_FIT,
                    "this ligament is for {}, and the site {} is {rest}; nothing was put there",
                    own.machine,
                    site.name
                ))
            }
            "machine" => rest.clone_into(&mut there.machine),
            "inpath" => there.in_path = Some(rest.to_owned()),
            "before" => {
                let (sum, version) = rest.split_once(' ').unwrap_or((rest, ""));
                there.before = Some((version.to_owned(), sum.to_owned()));
            }
            "unfit" => {
                return Err(fault!(
                    SITE_NOT_FIT,
                    "this ligament does not run at the site {}, and was not left there: {}",
                    site.name,
                    rest.trim_start_matches(['.', '/'])
                ))
            }
            "failed" => {
                return Err(fault!(SITE_UNREACHABLE, "nothing was put to the site {}: {rest}", site.name))
            }
            "done" => there.done = true,
            _ => {}
        }
    }
    Ok(there)
}

/// Installs ligament at a site. Returns the exit status.
pub(crate) fn install(arguments: &Install) -> i32 {
    let site = match find_site(&arguments.site) {
        Ok(site) => site,
        Err(why) => return crate::fail(arguments.json, &why, crate::BAD_USE),
    };
    match put(&site, arguments) {
        Ok((own, there)) => tell(&site, &own, &there, arguments),
        Err(why) => crate::fail(arguments.json, &why, crate::FAILED),
    }
}

fn put(site: &Site, arguments: &Install) -> Result<(Own, SiteState), Fault> {
    let own = Own::open()?;
    let script = script(site, &place(site, arguments.to.as_deref()), &own, arguments.dry_run);
    let mut command = super::at(site);
    // ssh joins its arguments with blanks and passes the result to a shell, so the script needs quotes.
    match site.ssh {
        Some(_) => command.arg(format!("exec bash -lc {}", quote(&script))),
        None => command.args(["bash", "-lc", &script]),
    };
    let unstarted = |error: std::io::Error| fault!(SITE_UNREACHABLE, "ssh cannot be started: {error}");
    let file = own.file.try_clone().map_err(unstarted)?;
    let input = if arguments.dry_run { Stdio::null() } else { Stdio::from(file) };
    let mut child =
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(unstarted)?;
    let errors = child.stderr.take();
    let (told, complains) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(text_of(errors)));
    let said = text_of(child.stdout.take());
    let status = child.wait().map_err(unstarted)?;
    // A process that outlives ssh, such as the master of a shared connection, may hold the pipe open.
    let complaint = complains.recv_timeout(LAST_WORDS).unwrap_or_default();
    let there = read(&said, site, &own)?;
    let is_there = there.before.as_ref().is_some_and(|(_, sum)| *sum == own.sum);
    if status.success() && (there.done || is_there || arguments.dry_run) && !there.path.is_empty() {
        Ok((own, there))
    } else {
        let lines: Vec<&str> = complaint.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = lines[lines.len().saturating_sub(3)..].join("; ");
        Err(fault!(SITE_UNREACHABLE, "nothing was put to the site {}: {said}", site.name))
    }
}

fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
    }
    clean(&String::from_utf8_lossy(&bytes))
}

/// Reports the result, and the steps that remain for the user.
fn tell(site: &Site, own: &Own, there: &SiteState, arguments: &Install) -> i32 {
    let same = there.before.as_ref().is_some_and(|(_, sum)| *sum == own.sum);
    let in_path = there.in_path.as_deref() == Some(there.path.as_str());
    let in_file = site.ligament.as_deref() == Some(there.path.as_str());
    if arguments.json {
        let json = serde_json::json!({
            "ok": true,
            "dry_run": arguments.dry_run,
            "site": site.name,
            "path": there.path,
            "installed": there.done,
            "version": env!("CARGO_PKG_VERSION"),
            "sha256": own.sum,
            "bytes": own.bytes,
            "before": there.before.as_ref().map(|(version, sum)| {
                serde_json::json!({ "version": version, "sha256": sum })
            }),
            "in_path": in_path,
            "in_site_file": in_file,
        });
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let (name, path, sum) = (&site.name, &there.path, &own.sum[..12]);
    let mut text = match (same, arguments.dry_run) {
        (true, _) => format!("{name}: {path} is {VERSION} already (sha256 {sum}…)\n"),
        (false, true) => format!(
            "{name}: {} ({VERSION}, {}, sha256 {sum}…) would be put to {path}\n",
            own.path.display(),
            progress::bytes(own.bytes)
        ),
        (false, false) => {
            format!("{name}: {path} is {VERSION} now ({}, sha256 {sum}…)\n", progress::bytes(own.bytes))
        }
    };
    if let Some((version, sum)) = there.before.as_ref().filter(|_| !same) {
        let version = if version.is_empty() { "something else" } else { version };
        let old = sum.get(..12).unwrap_or(sum);
        let would = if arguments.dry_run { "would replace" } else { "replaces" };
        text.push_str(&format!("  it {would} {version} (sha256 {old}…)\n"));
    }
    if !in_path && !in_file {
        let file = site.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        text.push_str(&format!("  write into {file}:\n    ligament: {path}\n"));
        let directory = Path::new(path).parent().unwrap_or(Path::new("/")).display().to_string();
        text.push_str(&format!(
            "  and, to call it there by hand, into ~/.profile there:\n    export PATH={}:$PATH\n",
            quote(&directory)
        ));
    }
    print(&text);
    crate::DONE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Own {
        let file = File::open("/dev/null").unwrap();
        Own { file, path: "/x".into(), bytes: 7, sum: "ab".repeat(32), machine: "Linux x86_64".into() }
    }

    #[test]
    fn it_goes_where_the_sites_file_says_unless_the_user_says_otherwise() {
        let site = |ligament: Option<&str>| Site { ligament: ligament.map(Into::into), ..Site::default() };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(place(&site(None), None), pair("~/.local/bin", "ligament"));
        assert_eq!(place(&site(Some("ligament")), None), pair("~/.local/bin", "ligament"));
        assert_eq!(place(&site(Some("/opt/bin/lig")), None), pair("/opt/bin", "lig"));
        assert_eq!(place(&site(Some("/opt/bin/lig")), Some("bin")), pair("bin", "ligament"));
        assert_eq!(quote_path("~/my bin"), "\"$HOME\"/'my bin'");
    }

    #[test]
    fn what_a_shell_prints_by_itself_is_no_answer() {
        let (site, own) = (Site { name: "a".into(), ..Site::default() }, own());
        let said =
            "Welcome\ndone\n\nligament-install path /b/ligament\nligament-install machine Linux x86_64\n\
                    ligament-install before cd ligament 0.0.9\n";
        let there = read(said, &site, &own).unwrap();
        assert_eq!((there.path.as_str(), there.done), ("/b/ligament", false));
        assert_eq!(there.before, Some(("ligament 0.0.9".into(), "cd".into())));
        let why = read("ligament-install machine Linux riscv64\n", &site, &own).unwrap_err();
        assert!(why.contains("for Linux x86_64, and the site a is Linux riscv64"), "{why}");
    }
}
