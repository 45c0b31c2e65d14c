//! `ligament attach`: shows a run that was started elsewhere. It reads only the run directory and the queue,
//! and changes nothing in the run. So any number of viewers may attach, on any machine, before the run begins,
//! while it goes on, or after it.

use crate::arguments::print;
use crate::interrupt::InterruptWatch;
use crate::summary::{tell, SummaryStyle};
use ligament_catalogue::{fault, said, Fault};
use ligament_launch::site::find_site;
use ligament_manager::{
    find_run, Journal, JournalEntry, JournalEvent, RunDirectory, RunRecord, RunState, UtcTime,
};
use ligament_runtime::client::{
    continuation, halted_in_words, is_alive, is_halted, is_here, record_of, JobRecord, Queue, Snapshots, Tail,
};
use ligament_runtime::{called, TerminalView, LAST_LINES};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Time between two reads of the run directory. A shared file system does not notify this machine of changes by
/// another machine, so polling is necessary.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum delay between the end of a job and the appearance of the run's last files on this machine.
const FILES_LATE: Duration = Duration::from_secs(10);
/// Time for the guard to record the loss of the run's manager.
const GUARD: Duration = Duration::from_secs(5);
/// Time without an answer after which the manager of a run on another machine is reported as silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of earlier warnings that a new viewer shows.
const EARLIER: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Attach {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// The site that it was submitted to, if that is reached by ssh.
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,
    /// Print the record of the run as JSON at its end, and nothing else.
    #[arg(long)]
    pub json: bool,
}

/// Carries out `ligament attach`. Returns the exit status.
pub(crate) fn attach(arguments: &Attach) -> i32 {
    if let Some(name) = &arguments.site {
        match find_site(name) {
            Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
            Ok(site) if site.ssh.is_some() => return crate::remote::attach(&site, arguments),
            Ok(_) => {}
        }
    }
    let found = find_run(&arguments.run).and_then(|run| Ok((JobRecord::of(&run)?, run)));
    let (job, run) = match found {
        Ok(found) => found,
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    let over = record_of(&run).is_ok_and(|record| record.state != RunState::Running);
    if !over && !arguments.json {
        crate::say(&how_to_leave(&run, job.is_some()));
    }
    show(&run, job.as_ref(), arguments.json)
}

/// Returns the line that tells the user how to leave the view of a run that another process makes.
pub(crate) fn how_to_leave(run: &RunDirectory, is_job: bool) -> String {
    let end = if is_job { "cancel" } else { "stop" };
    format!("(Ctrl-C leaves it alone; \"ligament {end} {}\" ends it)", called(run))
}

/// Shows a run from its time in the queue to its end, and then the runs that go on from its checkpoints.
/// Returns the exit status of the last run.
pub(crate) fn show(run: &RunDirectory, job: Option<&JobRecord>, json: bool) -> i32 {
    let mut next = None;
    loop {
        let interrupts = match InterruptWatch::new() {
            Ok(interrupts) => interrupts,
            Err(error) => return crate::fail(json, &error, crate::FAILED),
        };
        let shown = AttachedViewer::new(next.as_ref().unwrap_or(run), job, json, interrupts).show();
        match shown {
            Ok(run) => next = Some(run),
            Err(status) => return status,
        }
    }
}

/// A viewer of a run.
struct AttachedViewer<'a> {
    run: &'a RunDirectory,
    json: bool,
    queue: Option<Queue<'a>>,
    /// The live view, if the output is a terminal and no JSON is wanted.
    screen: Option<TerminalView>,
    log: Tail,
    journal: Tail,
    /// True if the journal says that the run is up.
    up: bool,
    /// True if the warnings from the time before this viewer have been shown.
    caught_up: bool,
    snapshots: Snapshots,
    /// Time at which the manager's process was first found missing, if the run's manager is on this machine.
    gone: Option<Instant>,
    said_silent: bool,
    interrupts: InterruptWatch,
    since: Instant,
}

impl<'a> AttachedViewer<'a> {
    fn new(
        run: &'a RunDirectory,
        job: Option<&'a JobRecord>,
        json: bool,
        interrupts: InterruptWatch,
    ) -> AttachedViewer<'a> {
        AttachedViewer {
            run,
            json,
            queue: job.map(Queue::of),
            screen: if json { None } else { TerminalView::on_terminal(crate::colour::chosen()) },
            log: Tail::of(run.log()),
            journal: Tail::of(run.journal()),
            up: false,
            caught_up: false,
            snapshots: Snapshots::of(run),
            gone: None,
            said_silent: false,
            interrupts,
            since: Instant::now(),
        }
    }

    /// Shows the run to its end. Returns the run that goes on then.
    ///
    /// # Errors
    /// No run goes on. The error is the exit status.
    fn show(&mut self) -> Result<RunDirectory, i32> {
        loop {
            if let Some(said) = self.queue.as_mut().and_then(Queue::look) {
                self.say(&said);
            }
            // The log is complete when the record says that the run is over.
            let record = record_of(self.run);
            self.show_news();
            match &record {
                Ok(record) if record.state != RunState::Running => {
                    self.clear();
                    if let Some(next) = continuation(self.run, record) {
                        if !self.json {
                            tell(self.run, record, SummaryStyle::Errors);
                            crate::say(&format!("{} goes on in {}", self.run.name(), called(&next)));
                        }
                        return Ok(next);
                    }
                    let telling = if self.json { SummaryStyle::Json } else { SummaryStyle::All };
                    let status = tell(self.run, record, telling);
                    if let Some(last) = last_words(self.run).filter(|_| !self.json) {
                        crate::say(&last);
                    }
                    return Err(status);
                }
                Ok(record) => self.draw(record),
                Err(error) if self.queue.is_none() => return Err(self.fail(error)),
                Err(_) => {}
            }
            if let Some(lost) = self.lost(record.as_ref().ok()) {
                return Err(self.fail(&lost));
            }
            if self.interrupts.waits(POLL_INTERVAL) {
                return Err(self.leave());
            }
            if nobody_reads() {
                return Err(crate::INTERRUPTED);
            }
        }
    }

    fn clear(&mut self) {
        self.screen.iter_mut().for_each(TerminalView::clear);
    }

    fn say(&mut self, text: &str) {
        match &mut self.screen {
            Some(screen) => screen.say(text),
            None if self.json => {}
            None => crate::say(text),
        }
    }

    fn fail(&mut self, error: &Fault) -> i32 {
        self.clear();
        crate::fail(self.json, error, crate::FAILED)
    }

    /// Ends the view after Ctrl-C, and prints the command that shows the run again.
    fn leave(&mut self) -> i32 {
        self.clear();
        let name = called(self.run);
        if self.json {
            let directory = self.run.path().display().to_string();
            let json = serde_json::json!({ "ok": false, "left": true, "run": self.run.name(),
                "directory": directory });
            print(&format!("{json}\n"));
        } else {
            let end = if self.queue.is_some() { "cancel" } else { "stop" };
            crate::say(&format!(
                "\nleft {name} alone; \"ligament attach {name}\" comes back to it, \"ligament {end} {name}\" \
                 ends it"
            ));
        }
        crate::INTERRUPTED
    }

    /// Shows new events of the run. On a terminal these are the lines of the journal that `ligament run` shows,
    /// else the lines of the log.
    fn show_news(&mut self) {
        if self.screen.is_none() {
            for line in self.log.lines() {
                self.say(&line);
            }
            return;
        }
        let mut lines = Vec::new();
        for entry in self.journal.lines().iter().filter_map(|line| JournalEntry::of_line(line)) {
            match entry.event {
                JournalEvent::Up => self.up = true,
                JournalEvent::Warning { who, text } => lines.push(format!("{who}: {text}")),
                JournalEvent::TerminalGone => lines.push(entry.event.describe()),
                JournalEvent::Awaits { .. } | JournalEvent::Joined { .. } if !self.up => {
                    lines.push(entry.event.describe())
                }
                _ => {}
            }
        }
        let skipped = if self.caught_up { 0 } else { lines.len().saturating_sub(EARLIER) };
        if skipped > 0 {
            self.say(&format!("({skipped} earlier warnings are in {})", self.run.log().display()));
        }
        lines.iter().skip(skipped).for_each(|line| self.say(line));
        self.caught_up = true;
    }

    fn draw(&mut self, record: &RunRecord) {
        // The first request also tells if a manager on another machine is alive, so it is sent even if nothing
        // is drawn.
        if self.screen.is_none() && is_here(record) {
            return;
        }
        self.snapshots.ask();
        if self.snapshots.denied() {
            // The run belongs to another user, so only its log can be shown.
            self.screen = None;
        }
        let Some(json) = self.snapshots.news() else { return };
        if let (Some(screen), Ok(now)) = (&mut self.screen, serde_json::from_value::<RunRecord>(json)) {
            let seconds = now.duration.unwrap_or_default();
            screen.time_unit.clone_from(&now.time_unit);
            screen.draw(&now.run, seconds, &now.instances, self.since.elapsed().as_nanos() as u64);
        }
    }

    /// Returns the reason why the run writes nothing more. Returns `None` while the run may go on.
    fn lost(&mut self, record: Option<&RunRecord>) -> Option<Fault> {
        let over = self.queue.as_ref().and_then(|queue| queue.over_for(FILES_LATE));
        if let Some((job, how)) = over.map(|(job, how)| (job.to_owned(), how.to_owned())) {
            let path = self.run.path().join("job.log");
            self.clear();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
                self.say(&format!("  {line}"));
            }
            let what = match record {
                Some(_) => "was ended without being able to say so",
                None => "has not begun",
            };
            return Some(fault!(
                JOB_LOST,
                "the job {job} is over ({how}), and the run {what}; what the job printed is in {}",
                path.display()
            ));
        }
        let record = record?;
        if is_here(record) {
            if is_alive(record.pid) {
                self.gone = None;
                let halted = is_halted(record);
                if halted && !self.said_silent {
                    self.say(&format!("{}: {}", record.run, halted_in_words(record)));
                }
                self.said_silent = halted;
                return None;
            }
            let gone = *self.gone.get_or_insert_with(Instant::now);
            return (gone.elapsed() > GUARD).then(|| lost_in_words(self.run, record));
        }
        let silent = self.up_elsewhere(record) && self.snapshots.silent_for() > SILENCE_TIMEOUT;
        if silent && !self.said_silent {
            let text = said!(
                MANAGER_SILENT,
                "nothing was heard of the manager on {} for {} s; {}",
                record.host,
                SILENCE_TIMEOUT.as_secs(),
                last_sign(self.run)
            );
            self.say(&text);
        }
        self.said_silent = silent;
        None
    }

    fn up_elsewhere(&self, record: &RunRecord) -> bool {
        record.agent.is_some() && self.snapshots.asked()
    }
}

/// Returns true if the reader of this process's output has closed the pipe.
fn nobody_reads() -> bool {
    let (out, error) = (std::io::stdout(), std::io::stderr());
    let mut fds = [PollFd::new(&out, PollFlags::empty()), PollFd::new(&error, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds.iter().any(|fd| fd.revents().contains(PollFlags::ERR))
}

/// Describes the last known state of a run whose manager has disappeared and has not recorded an end of the
/// run.
pub(crate) fn lost_in_words(run: &RunDirectory, record: &RunRecord) -> Fault {
    fault!(
        MANAGER_LOST,
        "the manager of {} (process {} on {}) is gone without a word; it was perhaps killed, and its guard \
         too; {}",
        record.run,
        record.pid,
        record.host,
        last_sign(run)
    )
}

/// Returns the time of the last write to the run directory, and the last event in the journal.
pub(crate) fn last_sign(run: &RunDirectory) -> String {
    let written = [run.journal(), run.log(), run.timeline(), run.status()];
    let written = written.iter().filter_map(|path| path.metadata().ok()?.modified().ok()).max();
    let since = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.map_or_else(|| "?".to_owned(), |at| UtcTime(at.as_millis() as u64).rfc3339());
    match Journal::last(&run.journal()).pop() {
        Some(last) => format!("its last sign is of {since}; last: {} ({})", last.event.describe(), last.at),
        None => format!("its last sign is of {since}"),
    }
}

/// Returns the last event that the manager recorded. The guard's record of the manager's loss is skipped.
pub(crate) fn last_words(run: &RunDirectory) -> Option<String> {
    let mut entries = Journal::last(&run.journal());
    matches!(entries.pop()?.event, JournalEvent::ManagerLost { .. }).then_some(())?;
    let last = entries.pop()?;
    Some(format!("the last thing that it wrote down: {} ({})", last.event.describe(), last.at))
}
