//! `ligament sync`: copies the files of a directory to another site while the directory is written.

use super::other_site::OtherSite;
use super::place::FileLocation;
use super::progress;
use super::task::{CopyRole, Transport};
use super::ReachOptions;
use crate::arguments::print;
use ligament_catalogue::{fault, Code, Fault};
use ligament_files::{reason_of, CopyTally};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The first and the longest pause before another attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// Time between two reports of copied files.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(crate) struct Sync {
    /// The directory with the files, here or as SITE:DIR or HOST:DIR.
    #[arg(value_name = "DIR")]
    from: String,
    /// The directory at the other place, which gets what is in the first one.
    #[arg(value_name = "SITE:DIR")]
    to: String,
    /// Remove there what the first directory has no more.
    #[arg(long)]
    delete: bool,
    /// Say what would be copied and removed now, and change nothing.
    #[arg(short = 'n', long, conflicts_with_all = ["look", "rest"])]
    dry_run: bool,
    /// How often to look through the whole directory [default: 30s; 2s where other machines write into it].
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds)]
    look: Option<Duration>,
    /// For how long a file has to look the same before it is copied, where nobody tells that it was closed.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "2s")]
    rest: Duration,
    /// Show nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Print a line of JSON for each file.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reaching: ReachOptions,
}

/// Mirrors the directory until the command is ended or cannot go on. Returns the exit status.
pub(crate) fn sync(arguments: &Sync) -> i32 {
    let dry = arguments.dry_run;
    let watching = Some((arguments.look.map(|look| look.as_secs_f64()), arguments.rest.as_secs_f64()));
    let watching = watching.filter(|_| !dry);
    let (host, from, into, sends) =
        match (FileLocation::read(&arguments.from), FileLocation::read(&arguments.to)) {
            (FileLocation::Here(from), FileLocation::There(host, into)) => {
                (host, from, PathBuf::from(into), true)
            }
            (FileLocation::There(host, from), FileLocation::Here(into)) => {
                (host, PathBuf::from(from), into, false)
            }
            _ => {
                let error = fault!(
                    WORD_OF_THE_COMMAND_LINE,
                    "one of the two directories is here and the other one is SITE:DIR or HOST:DIR"
                );
                return crate::fail(arguments.json, &error, crate::BAD_USE);
            }
        };
    // A home directory or the current directory contains other files than copied ones, so `--delete` is refused
    // for it.
    let whole = is_no_directory_of_its_own(&into);
    if arguments.delete && whole {
        let error = fault!(
            WORD_OF_THE_COMMAND_LINE,
            "--delete needs a directory of its own: name one below \"{}\"",
            arguments.to
        );
        return crate::fail(arguments.json, &error, crate::BAD_USE);
    }
    let from = if from.as_os_str().is_empty() { PathBuf::from(".") } else { from };
    let rate = arguments.reaching.rate;
    let send = CopyRole::Send { sources: vec![from], contents: true, dry, rate, watching };
    let receive =
        CopyRole::Receive { into, directory: true, dry, delete: arguments.delete, live: !dry, only: None };
    let (theirs, ours) = if sends { (receive, send) } else { (send, receive) };
    let far = match OtherSite::new(&host, &arguments.reaching) {
        Ok(far) => far,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    go_on(arguments, &far, &theirs, &ours)
}

/// Returns true for a path without a name of its own, such as `.`, `~`, `/`, `..` and `a/..`. Such a directory
/// may contain other files.
fn is_no_directory_of_its_own(path: &std::path::Path) -> bool {
    use std::path::Component;
    let last = path.components().next_back();
    !matches!(last, Some(Component::Normal(name)) if name != "~")
}

fn go_on(arguments: &Sync, far: &OtherSite, theirs: &CopyRole, ours: &CopyRole) -> i32 {
    let mut pause = FIRST_PAUSE;
    let mut ever = false;
    loop {
        let (tally, over, begin) = (CopyTally::with_names(), AtomicBool::new(false), Instant::now());
        let mut begun = false;
        let (done, all) = std::thread::scope(|scope| {
            let teller = scope.spawn(|| tell(arguments, &tally, &over));
            let done = far.copy(theirs.clone(), ours, &tally, &mut |way| {
                begun = true;
                say_begun(arguments, way, ever);
            });
            over.store(true, Ordering::Relaxed);
            teller.thread().unpark();
            (done, teller.join().unwrap_or(false))
        });
        ever |= begun;
        let Err(why) = done else { return if all { crate::DONE } else { crate::FAILED } };
        let is_full = ever && why.code() == Code::DISK_FULL;
        let again = is_full || why.code() == Code::COPY_CUT || (ever && why.code() == Code::COPY_NOT_STARTED);
        if !again || arguments.dry_run {
            return crate::fail(arguments.json, &why, crate::FAILED);
        }
        if begin.elapsed() > MAX_RETRY_PAUSE {
            pause = FIRST_PAUSE;
        }
        if arguments.json {
            let (error, code, seconds) = (why.text(), why.code().name(), pause.as_secs_f64());
            print(&format!("{}\n", serde_json::json!({ "again_in": seconds, "error": error, "code": code })));
        } else if is_full || !arguments.quiet {
            // A full disk is reported with its code, because only a person can make room.
            let why = if is_full { why.with_code() } else { why.text().to_owned() };
            crate::say(&format!("ligament: {why}; tried again in {}", progress::time(pause.as_secs_f64())));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(MAX_RETRY_PAUSE);
    }
}

fn say_begun(arguments: &Sync, way: Transport, again: bool) {
    if arguments.json {
        print(&format!("{}\n", serde_json::json!({ "begun": true, "over": way })));
    } else if !arguments.quiet {
        let how = if way == Transport::Ssh { " over ssh's own connection" } else { "" };
        let what = match (arguments.dry_run, again) {
            (true, _) => "nothing is changed",
            (false, true) => "goes on",
            (false, false) => "is copied, and what changes follows; Ctrl-C ends it",
        };
        crate::say(&format!("{} → {}{how}: {what}", arguments.from, arguments.to));
    }
}

/// Reports copied and removed files until `over` is true. Returns true if nothing has failed.
fn tell(arguments: &Sync, tally: &CopyTally, over: &AtomicBool) -> bool {
    let mut all = true;
    loop {
        let last = over.load(Ordering::Relaxed);
        let (copied, removed, before) = if arguments.dry_run {
            ("would_copy", "would_remove", "would be ")
        } else {
            ("copied", "removed", "")
        };
        let names = [(copied, "copied", tally.take_copied()), (removed, "removed", tally.take_removed())];
        for (what, word, names) in names {
            if arguments.json {
                let lines: String =
                    names.iter().map(|name| format!("{}\n", serde_json::json!({ what: name }))).collect();
                print(&lines);
            } else if !arguments.quiet {
                let lines: String = names.iter().map(|name| format!("{before}{word} {name}\n")).collect();
                print(&lines);
            }
        }
        match tally.take_removed_more() {
            0 => {}
            more if arguments.json => print(&format!("{}\n", serde_json::json!({ "more_removed": more }))),
            more if !arguments.quiet => print(&format!("{before}removed: {more} more\n")),
            _ => {}
        }
        for name in tally.take_left_out() {
            if arguments.json {
                print(&format!("{}\n", serde_json::json!({ "left_out": name })));
            } else {
                crate::say(&format!("ligament: {name} {}", reason_of(&name)));
            }
        }
        for one in tally.take_failed() {
            all = false;
            if arguments.json {
                let (error, code) = (one.why.text(), one.why.code().name());
                print(&format!(
                    "{}\n",
                    serde_json::json!({ "failed": one.name, "error": error, "code": code })
                ));
            } else {
                let why: Fault = one.why.told(|text| format!("{}: {text}", one.name));
                crate::complain(&why);
            }
        }
        if last {
            return all;
        }
        std::thread::park_timeout(REPORT_INTERVAL);
    }
}
