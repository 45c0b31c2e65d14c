//! The job of a run at one site: the files that are copied to the site, the submission, and the state in the
//! queue. After the submission, a thread watches the job, because a site may answer slowly.

use super::SiteShare;
use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::{JobState, JobSystem};
use ligament_launch::quote;
use ligament_launch::site::{find_site, ScriptOutput, Site, SiteShell};
use ligament_runtime::client::SiteJob;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Time between two requests for the state of a job. A batch system serves many users, and must not be asked
/// too often.
const ASK: Duration = Duration::from_secs(2);
/// Maximum time that a site may take to answer a script.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time between the end of a job's agents, or its cancellation, and the end of the job.
const END_TIMEOUT: Duration = Duration::from_secs(15);
/// Pauses before the second and the third attempt to cancel a job or to remove its keys, at the end of a run.
const CANCEL_RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// Number of lines at the end of a job's output that are shown as the reason for its end.
const LAST: usize = 3;

/// An order to the thread that watches a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobOrder {
    /// The jobs at all other sites run, too, so the agents of this job may begin.
    Begin,
    /// The job must give its nodes back and be submitted again.
    Again,
    /// The run is over. `in_order` is true if the agents have been told, so that they end by themselves.
    End { in_order: bool },
}

/// An event of a job, reported by the thread that watches the job.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JobEvent {
    /// The job was submitted again, and now has this number.
    Submitted(String),
    Stands(JobState),
    /// The job is over. The fault contains the reason and the last lines of the job's output.
    Over(Fault),
    /// The site does not answer at the moment.
    Silent(Fault),
    /// An order could not be carried out.
    Failed(Fault),
}

/// A job, its site, and its directory at the site.
pub(super) struct JobKeeper {
    site: Site,
    system: JobSystem,
    shell: SiteShell,
    /// Absolute path of the job's directory at the site.
    place: String,
    pub job: String,
    /// True if the jobs at all sites run, so that the agents of this job may begin.
    begun: bool,
    over: bool,
    cancelled: bool,
}

/// Returns script text that writes `text` to the file `name`. The umask of the script lets only the owner read
/// the file.
fn file(name: &str, text: &str) -> String {
    let mut end = String::from("END-OF-FILE");
    while text.contains(&end) {
        end.push('-');
    }
    format!("cat > {} <<'{end}' || exit 1\n{text}\n{end}\n", quote(name))
}

impl JobKeeper {
    /// Copies the files of a job to its site, and submits the job.
    ///
    /// # Errors
    /// Fails if the site cannot be reached or refuses the job. The fault quotes the answer of the site.
    pub fn submit(
        part: &SiteShare,
        mut shell: SiteShell,
        place: &str,
        files: &[(String, String)],
    ) -> Result<JobKeeper, Fault> {
        let site = &part.site;
        let mut put = format!("umask 077; mkdir -p {0} && cd {0} || exit 1\n", quote(place));
        // This directory may belong to a job of another run with the same name. The agents of that job would
        // then join this run.
        put.push_str(
            "(set -C; : > invitation) 2>/dev/null || { echo \"a run of this name has its keys in $PWD; give \
             this one another --run-dir, or remove that directory if its run is over\"; exit 1; }\nrm -f begin \
             watched\ntrap '[ $? -eq 0 ] || rm -f invitation *.relay' EXIT\n",
        );
        files.iter().for_each(|(name, text)| put.push_str(&file(name, text)));
        let answer = match shell.run(&put, ANSWER_TIMEOUT) {
            Ok(answer) => answer,
            Err(why) => {
                // The script may have run although its answer is lost. So the keys may be at the site, and are
                // removed.
                let _ = SiteShell::at(site).run(&cleared(place), ANSWER_TIMEOUT);
                return Err(why);
            }
        };
        if !answer.succeeded {
            return Err(fault!(
                SITE_UNREACHABLE,
                "files cannot be put to the site {}: {}",
                site.name,
                answer.said.trim()
            ));
        }
        let mut keeper = JobKeeper {
            site: site.clone(),
            system: JobSystem::of(site),
            shell,
            place: place.to_owned(),
            job: String::new(),
            begun: false,
            over: false,
            cancelled: false,
        };
        match keeper.queue() {
            Ok(()) => Ok(keeper),
            Err(why) => {
                let _ = keeper.take_keys();
                Err(why)
            }
        }
    }

    /// Returns a job whose head is gone, from its record in the run directory.
    ///
    /// # Errors
    /// Fails if the site file is gone, or if the record does not tell how to reach the site.
    pub fn of(record: &SiteJob) -> Result<JobKeeper, Fault> {
        let known = record.file.as_ref().zip(JobSystem::from_name(&record.system));
        let Some((file, system)) = known else {
            return Err(fault!(SITE_UNKNOWN, "it is not written down how the site {} is reached", record.site));
        };
        let site = find_site(&file.to_string_lossy())?;
        let shell = SiteShell::at(&site);
        let (place, job) = (record.place.clone(), record.job.clone());
        Ok(JobKeeper { site, system, shell, place, job, begun: false, over: false, cancelled: false })
    }

    /// Returns the state of the job. In contrast to `look`, this does not touch `watched`, so the job gets no
    /// sign of a head.
    ///
    /// # Errors
    /// Fails if the site cannot be reached, or if its queue cannot be read.
    pub fn stands(&mut self) -> Result<JobState, Fault> {
        let still = self.shell.run(&self.system.is_still(&self.job, &self.place), ANSWER_TIMEOUT)?;
        if !still.succeeded {
            self.over = true;
            return Ok(JobState::Over { how: "gone".into() });
        }
        let answer = self.shell.run(&self.system.shows(&self.job), ANSWER_TIMEOUT)?;
        self.state(&answer)
    }

    /// Cancels the job, and removes the keys of the run from the site.
    ///
    /// # Errors
    /// Fails if the site cannot be reached, or if it does not cancel the job or remove the keys.
    pub fn take_back(&mut self) -> Result<(), Fault> {
        self.cancel()?;
        self.take_keys()
    }

    fn queue(&mut self) -> Result<(), Fault> {
        let place = quote(&self.place);
        let line = self.system.submits(&format!("{}/job.sh", self.place));
        // Each command has its own line. With `&&` between them, an `&` at the end of `line` would apply to
        // both commands.
        let answer =
            self.shell.run(&format!("cd {place} && touch watched || exit 1\n{line}"), ANSWER_TIMEOUT)?;
        let number = answer.succeeded.then(|| self.system.number(&answer.said)).flatten();
        self.job = number.ok_or_else(|| {
            let said: Vec<&str> = answer.said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            fault!(
                JOB_REFUSED,
                "the site {} does not take the job: {}; its script is {}/job.sh there",
                self.site.name,
                said[said.len().saturating_sub(LAST)..].join("; "),
                self.place
            )
        })?;
        (self.over, self.cancelled) = (false, false);
        Ok(())
    }

    /// Returns the state of the job, and touches the file `watched`. The file tells the job that its head is
    /// alive.
    fn look(&mut self) -> Result<JobState, Fault> {
        let (place, line) = (quote(&self.place), self.system.shows(&self.job));
        let begin = if self.begun { format!("touch {place}/begin\n") } else { String::new() };
        let answer = self.shell.run(&format!("touch {place}/watched\n{begin}{line}"), ANSWER_TIMEOUT)?;
        self.state(&answer)
    }

    fn state(&mut self, answer: &ScriptOutput) -> Result<JobState, Fault> {
        let state = self.system.state(answer.succeeded, &answer.said);
        let state = state.map_err(|why| {
            why.told(|said| format!("the queue at {} cannot be seen: {said}", self.site.name))
        })?;
        self.over = matches!(state, JobState::Over { .. });
        Ok(state)
    }

    fn cancel(&mut self) -> Result<(), Fault> {
        if self.over || self.cancelled || self.job.is_empty() {
            return Ok(());
        }
        let answer = self.shell.run(&self.system.cancels(&self.job), ANSWER_TIMEOUT)?;
        self.cancelled =
            answer.succeeded || self.look().is_ok_and(|state| matches!(state, JobState::Over { .. }));
        if self.cancelled {
            Ok(())
        } else {
            Err(fault!(
                JOB_REFUSED,
                "the job {} at {} cannot be cancelled: {}",
                self.job,
                self.site.name,
                answer.said.trim()
            ))
        }
    }

    /// Waits until the job is over, but no longer than [`END_TIMEOUT`].
    fn await_end(&mut self) {
        let until = Instant::now() + END_TIMEOUT;
        while !self.over && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(250));
            if self.look().is_err() {
                return;
            }
        }
    }

    /// Watches the job until the run is over: carries out orders, and reports the state of the job to `tell`.
    /// Writes the output of the job to the file `log` at the end.
    pub fn keep(mut self, orders: &Receiver<JobOrder>, tell: &dyn Fn(JobEvent), log: &Path) {
        loop {
            match orders.recv_timeout(ASK) {
                Ok(JobOrder::End { in_order }) => return self.end(in_order, tell, log),
                Err(RecvTimeoutError::Disconnected) => return self.end(false, tell, log),
                Ok(JobOrder::Again) => match self.again() {
                    Ok(()) => tell(JobEvent::Submitted(self.job.clone())),
                    Err(why) => tell(JobEvent::Failed(why)),
                },
                Ok(JobOrder::Begin) => {
                    self.begun = true;
                    self.tell_how_it_stands(tell);
                }
                Err(RecvTimeoutError::Timeout) => self.tell_how_it_stands(tell),
            }
        }
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.cancel()?;
        self.await_end();
        self.queue()
    }

    fn tell_how_it_stands(&mut self, tell: &dyn Fn(JobEvent)) {
        if self.over {
            return;
        }
        match self.look() {
            Ok(JobState::Over { how }) => tell(JobEvent::Over(self.over_because(&how))),
            Ok(state) => tell(JobEvent::Stands(state)),
            Err(why) => tell(JobEvent::Silent(why)),
        }
    }

    fn printed(&mut self) -> String {
        let script = format!("tail -c 65536 {}/job.log", quote(&self.place));
        self.shell
            .run(&script, ANSWER_TIMEOUT)
            .ok()
            .filter(|answer| answer.succeeded)
            .map_or(String::new(), |it| it.said)
    }

    fn over_because(&mut self, how: &str) -> Fault {
        let printed = self.printed();
        let lines: Vec<&str> = printed.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let said = if lines.is_empty() {
            "it printed nothing".to_owned()
        } else {
            format!("it printed: {}", lines[lines.len().saturating_sub(LAST)..].join("\n"))
        };
        fault!(JOB_LOST, "the job {} at {} is over ({how}); {said}", self.job, self.site.name)
    }

    /// Ends the watch: cancels the job and removes the keys of the run, so that nothing of the run stays at the
    /// site.
    fn end(&mut self, in_order: bool, tell: &dyn Fn(JobEvent), log: &Path) {
        // The shell at the site may have ended with the other processes of the run, so a new one is used.
        self.shell = SiteShell::at(&self.site);
        if in_order {
            self.await_end();
        }
        let mut done = self.cancel();
        for pause in CANCEL_RETRY_DELAYS {
            if done.is_ok() {
                break;
            }
            std::thread::sleep(pause);
            done = self.cancel();
        }
        if let Err(why) = done {
            tell(JobEvent::Failed(why));
        }
        self.await_end();
        let printed = self.printed();
        if !printed.trim().is_empty() {
            let _ = std::fs::write(log, printed);
        }
        let mut done = self.take_keys();
        for pause in CANCEL_RETRY_DELAYS {
            if done.is_ok() {
                break;
            }
            std::thread::sleep(pause);
            self.shell = SiteShell::at(&self.site);
            done = self.take_keys();
        }
        if let Err(why) = done {
            tell(JobEvent::Failed(why));
        }
    }

    /// Removes the run's keys from the site.
    fn take_keys(&mut self) -> Result<(), Fault> {
        let why = match self.shell.run(&cleared(&self.place), ANSWER_TIMEOUT) {
            Ok(ScriptOutput { succeeded: true, .. }) => return Ok(()),
            Ok(ScriptOutput { said, .. }) => said.trim().to_owned(),
            Err(why) => why.text().to_owned(),
        };
        Err(fault!(
            SITE_UNREACHABLE,
            "the keys of the run cannot be removed at {}: {why}; remove {} there",
            self.site.name,
            self.place
        ))
    }
}

/// Returns a script that removes the run's keys from the directory `place`. It succeeds even if the directory
/// is gone.
fn cleared(place: &str) -> String {
    let place = quote(place);
    format!("[ ! -e {place} ] || {{ cd {place} && rm -f invitation *.relay watched begin; }}")
}

/// Returns the directory of the job: below the user's home at a site that is reached by ssh, else in the run
/// directory.
pub(super) fn place(
    part: &SiteShare,
    run: &str,
    directory: &Path,
    shell: &mut SiteShell,
) -> Result<String, Fault> {
    if part.site.ssh.is_none() {
        return Ok(directory.join(format!("site-{}", part.site.name)).to_string_lossy().into_owned());
    }
    let answer = shell.run("printf '%s' \"$HOME\"", ANSWER_TIMEOUT)?;
    let home = PathBuf::from(answer.said.trim());
    if !home.is_absolute() {
        return Err(fault!(SITE_UNREACHABLE, "the site {} does not say where its home is", part.site.name));
    }
    let below = part.site.directory.as_deref().unwrap_or("couplings");
    let below = below.strip_prefix("~/").unwrap_or(below);
    Ok(home.join(below).join("runs").join(format!("{run}-{}", part.site.name)).to_string_lossy().into_owned())
}

/// Starts the thread that watches a job. The thread ends at the order `End`, or when `orders` is closed.
pub(super) fn start(
    keeper: JobKeeper,
    number: usize,
    orders: Receiver<JobOrder>,
    told: Sender<(usize, JobEvent)>,
    log: PathBuf,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let tell = |what: JobEvent| {
            let _ = told.send((number, what));
        };
        keeper.keep(&orders, &tell, &log);
    })
}
