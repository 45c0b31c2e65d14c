//! `ligament cp`: copies files to another site, or from another site.

use super::other_site::OtherSite;
use super::place::FileLocation;
use super::progress;
use super::task::{CopyRole, Transport};
use super::ReachOptions;
use crate::arguments::print;
use ligament_catalogue::{fault, Fault};
use ligament_files::{reason_of, CopyTally};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Copy {
    /// Files and directories, here or as SITE:PATH or HOST:PATH; all at the same place.
    #[arg(required = true, value_name = "SRC")]
    sources: Vec<String>,
    /// The destination: a directory, or the name that one of them gets; here if they are elsewhere.
    #[arg(value_name = "DST")]
    to: String,
    /// Say what would be copied, and change nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Show nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reaching: ReachOptions,
}

/// The roles of both ends of a copy, and the site or host of the other end.
struct CopyParts {
    host: String,
    theirs: CopyRole,
    ours: CopyRole,
}

fn parts(arguments: &Copy) -> Result<CopyParts, Fault> {
    let wrong = |what: &str| {
        fault!(
            WORD_OF_THE_COMMAND_LINE,
            "{what}; one side of a copy is here and the other one is SITE:PATH or HOST:PATH"
        )
    };
    let dry = arguments.dry_run;
    let send = |sources: Vec<PathBuf>| CopyRole::Send {
        sources,
        contents: false,
        dry,
        rate: arguments.reaching.rate,
        watching: None,
    };
    let receive = |into: &str, only: Option<Vec<String>>| CopyRole::Receive {
        into: PathBuf::from(into),
        directory: into.ends_with('/') || into.is_empty(),
        dry,
        delete: false,
        live: false,
        only,
    };
    let sources: Vec<FileLocation> = arguments.sources.iter().map(|word| FileLocation::read(word)).collect();
    match FileLocation::read(&arguments.to) {
        FileLocation::There(host, path) => {
            let here = |place: FileLocation| match place {
                FileLocation::Here(path) => Ok(path),
                // A name with a colon means a file at another site, as in scp and rsync, so the advice for a
                // local file is to write `./` before it.
                FileLocation::There(host, path) => Err(wrong(&format!(
                    "both sides are elsewhere; write ./{host}:{path} if that is a file here"
                ))),
            };
            let sources = sources.into_iter().map(here).collect::<Result<_, _>>()?;
            Ok(CopyParts { host, theirs: receive(&path, None), ours: send(sources) })
        }
        FileLocation::Here(_) => {
            let mut host = None;
            let mut paths = Vec::new();
            for place in sources {
                let FileLocation::There(name, path) = place else { return Err(wrong("both sides are here")) };
                if host.get_or_insert_with(|| name.clone()) != &name {
                    return Err(wrong("the sources are at several places"));
                }
                paths.push(if path.is_empty() { PathBuf::from(".") } else { PathBuf::from(path) });
            }
            let host = host.ok_or_else(|| wrong("nothing is to be copied"))?;
            let only = paths.iter().map(|path| own_name(path)).collect();
            Ok(CopyParts { host, theirs: send(paths), ours: receive(&arguments.to, only) })
        }
    }
}

/// Returns the local name of a file from another site. Returns `None` for a directory whose contents are copied
/// without its name.
fn own_name(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    if text == "." || text == "~" || text.ends_with("/.") {
        None
    } else {
        path.file_name().and_then(|name| name.to_str()).map(str::to_owned)
    }
}

/// Copies files and directories. Returns the exit status.
pub(crate) fn cp(arguments: &Copy) -> i32 {
    let parts = match parts(arguments) {
        Ok(parts) => parts,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    let far = match OtherSite::new(&parts.host, &arguments.reaching) {
        Ok(far) => far,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    let tally = if arguments.dry_run { CopyTally::with_names() } else { CopyTally::default() };
    let (over, begin) = (AtomicBool::new(false), Instant::now());
    let mut way = Transport::Any;
    let done = std::thread::scope(|scope| {
        let shows = !arguments.quiet && !arguments.json;
        let shower = shows.then(|| scope.spawn(|| progress::show(&tally, &over)));
        let done = far.copy(parts.theirs, &parts.ours, &tally, &mut |over| way = over);
        over.store(true, Ordering::Relaxed);
        if let Some(shower) = shower {
            shower.thread().unpark();
        }
        done
    });
    report(arguments, &tally, &done, way, begin.elapsed().as_secs_f64())
}

fn report(arguments: &Copy, tally: &CopyTally, done: &Result<(), Fault>, way: Transport, seconds: f64) -> i32 {
    let (counts, failed) = (tally.counts(), tally.failed());
    let status = if done.is_ok() && failed.is_empty() { crate::DONE } else { crate::FAILED };
    if arguments.json {
        let failed: Vec<_> = failed
            .iter()
            .map(|one| {
                serde_json::json!({ "name": one.name, "error": one.why.text(), "code": one.why.code().name() })
            })
            .collect();
        let mut json = serde_json::json!({
            "ok": status == crate::DONE,
            "over": way,
            "files": counts.files,
            "bytes": counts.bytes,
            "copied": counts.copied,
            "same": counts.same,
            "sent_bytes": counts.moved,
            "resumed_bytes": counts.resumed,
            "seconds": seconds,
            "failed": failed,
            "left_out": tally.left_out(),
        });
        if arguments.dry_run {
            json["would_copy"] = tally.take_copied().into();
        }
        if let Err(error) = done {
            json["error"] = error.text().into();
            json["code"] = error.code().name().into();
        }
        print(&format!("{json}\n"));
        return status;
    }
    if arguments.dry_run && !arguments.quiet {
        let names: String = tally.take_copied().iter().map(|name| format!("{name}\n")).collect();
        print(&names);
    }
    for name in tally.left_out() {
        crate::say(&format!("ligament: {name} {}", reason_of(&name)));
    }
    for one in &failed {
        crate::complain(&one.why.clone().told(|text| format!("{}: {text}", one.name)));
    }
    if let Err(error) = done {
        crate::complain(error);
    }
    if !arguments.quiet && done.is_ok() {
        let mut text = if arguments.dry_run {
            format!("{} would be copied, {}", progress::files(counts.copied), progress::bytes(counts.moved))
        } else {
            let rate = counts.moved as f64 / seconds.max(1e-3);
            let (moved, took) = (progress::bytes(counts.moved), progress::time(seconds));
            format!(
                "{} copied, {moved} in {took} ({}/s)",
                progress::files(counts.copied),
                progress::bytes(rate as u64)
            )
        };
        if counts.same > 0 {
            text.push_str(&format!("; {} were there already", counts.same));
        }
        if way == Transport::Ssh {
            text.push_str("; over ssh's own connection, because no port could be reached");
        }
        crate::say(&text);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_name_of_its_own_keeps_it() {
        assert_eq!(own_name(Path::new("a/b")), Some("b".into()));
        assert_eq!(own_name(Path::new("a/b/")), Some("b".into()));
        for contents in [".", "a/.", "..", "/", "~"] {
            assert_eq!(own_name(Path::new(contents)), None, "{contents}");
        }
    }
}
