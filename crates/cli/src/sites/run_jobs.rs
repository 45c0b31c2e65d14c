//! The agents of a run over several sites. Each site has one job, and all agents begin when the last job runs.
//! `job_wait` decides on the next action from the states of the jobs, and `keeper` carries it out.

use super::job_wait::{JobAction, JobWait, JobWaitLimits};
use super::keeper::{self, JobEvent, JobKeeper, JobOrder};
use super::{part_job, SiteShare};
use ligament_catalogue::Fault;
use ligament_launch::jobs::JobSystem;
use ligament_launch::site::SiteShell;
use ligament_manager::RunDirectory;
use ligament_runtime::client::SiteJob;
use ligament_runtime::{Agents, ExpectedDomain};
use ligament_wire::DomainId;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The jobs of a run, one for each of its sites.
pub(super) struct RunJobs<'p> {
    parts: &'p [SiteShare],
    patience: JobWaitLimits,
    /// Maximum time for which the run's head may be silent before the domains end.
    silence: Duration,
    /// Stream to the process that has started this head. One byte on it reports that all jobs are submitted.
    started: Option<Arc<UnixStream>>,
    waiting: JobWait,
    running: Vec<KeeperHandle>,
    records: Vec<SiteJob>,
    run: Option<RunDirectory>,
    told: Option<Receiver<(usize, JobEvent)>>,
    news: Vec<String>,
    lost: Vec<(DomainId, Fault)>,
    /// True if the head has told its agents that the run is over.
    pub in_order: bool,
}

/// The thread that watches a job, and the channel for orders to it.
struct KeeperHandle {
    orders: Sender<JobOrder>,
    thread: JoinHandle<()>,
}

impl<'p> RunJobs<'p> {
    pub fn new(
        parts: &'p [SiteShare],
        patience: JobWaitLimits,
        silence: Duration,
        started: Option<Arc<UnixStream>>,
    ) -> RunJobs<'p> {
        let names = parts.iter().map(|part| part.site.name.clone());
        RunJobs {
            parts,
            patience,
            silence,
            started,
            waiting: JobWait::new(names, patience),
            running: Vec::new(),
            records: Vec::new(),
            run: None,
            told: None,
            news: Vec::new(),
            lost: Vec::new(),
            in_order: false,
        }
    }

    fn order(&self, job: usize, order: JobOrder) {
        if let Some(one) = self.running.get(job) {
            let _ = one.orders.send(order);
        }
    }

    /// Records a new state of a job, for the log and for clients.
    fn note(&mut self, job: usize, stands: String) {
        let record = &mut self.records[job];
        if record.stands == stands {
            return;
        }
        record.stands = stands;
        self.news.push(record.in_words());
        if let Some(Err(why)) = self.run.as_ref().map(|run| SiteJob::write_all(run, &self.records)) {
            self.news.push(why.to_string());
        }
    }

    /// Marks the domains of a job as lost, because its agents will not take part.
    fn lose(&mut self, job: usize, why: &Fault) {
        let parts = self.parts;
        let domains = parts[job].domains();
        self.lost.extend(domains.map(|domain| (domain, why.clone())));
    }

    fn take(&mut self, job: usize, told: JobEvent) {
        match told {
            JobEvent::Submitted(number) => {
                self.waiting.queues(job);
                (self.records[job].job, self.records[job].over) = (number, false);
                self.note(job, "was submitted".into());
            }
            JobEvent::Stands(state) => {
                self.waiting.saw(job, &state, Instant::now());
                self.note(job, state.to_string());
            }
            JobEvent::Over(why) => {
                self.records[job].over = true;
                self.note(job, "is over".into());
                self.lose(job, &why);
            }
            JobEvent::Silent(why) => {
                self.waiting.silent(job, &why, Instant::now());
                self.note(job, format!("cannot be seen: {why}"));
            }
            JobEvent::Failed(why) => {
                self.note(job, format!("could not be told what to do: {why}"));
                self.lose(job, &why);
            }
        }
    }

    fn go_on(&mut self) {
        let came: Vec<_> = self.told.iter().flat_map(Receiver::try_iter).collect();
        for (job, told) in came {
            self.take(job, told);
        }
        match self.waiting.next(Instant::now()) {
            None => {}
            Some(JobAction::Begin) => {
                self.news.push("the jobs at all sites run; their agents begin".into());
                (0..self.parts.len()).for_each(|job| self.order(job, JobOrder::Begin));
            }
            Some(JobAction::Again { job, time }) => {
                let JobWaitLimits { wait, again } = self.patience;
                let (record, s) = (&self.records[job], wait.as_secs_f64());
                self.news.push(format!(
                    "the job {} at {} has waited {s} s for the others: it gives its nodes back, and queues \
                     again ({time} of {again})",
                    record.job, record.site
                ));
                self.order(job, JobOrder::Again);
            }
            Some(JobAction::GiveUp(why)) => (0..self.parts.len()).for_each(|job| self.lose(job, &why)),
        }
    }
}

impl Agents for RunJobs<'_> {
    fn start(&mut self, invitation: &Path, _: &[ExpectedDomain]) -> Result<(), Fault> {
        let directory = invitation.parent().unwrap_or(Path::new("."));
        let run = RunDirectory::open(directory);
        self.run = Some(RunDirectory::open(directory));
        let invitation = ligament_net::Invitation::read(invitation)?.to_text();
        let (tell, told) = channel();
        self.told = Some(told);
        for (number, part) in self.parts.iter().enumerate() {
            let mut shell = SiteShell::at(&part.site);
            let place = keeper::place(part, &run.name(), directory, &mut shell)?;
            let mut files = vec![("invitation".to_owned(), invitation.to_string())];
            files.extend(part.files.iter().cloned());
            let job = part_job(part, &run.name(), Path::new(&place), self.silence);
            files.push(("job.sh".to_owned(), job.script(&part.site, JobSystem::of(&part.site))));
            // If this submission fails, the jobs that were submitted before are cancelled.
            let keeper = JobKeeper::submit(part, shell, &place, &files)?;
            self.records.push(SiteJob {
                site: part.site.name.clone(),
                system: JobSystem::of(&part.site).name().to_owned(),
                job: keeper.job.clone(),
                nodes: part.nodes,
                stands: "was submitted".to_owned(),
                file: part.site.file.clone(),
                place: place.clone(),
                over: false,
            });
            let (orders, obeys) = channel();
            let log = directory.join(format!("job-{}.log", part.site.name));
            let thread = keeper::start(keeper, number, obeys, tell.clone(), log);
            self.running.push(KeeperHandle { orders, thread });
            // The record is written at once. If the head is killed now, `ligament cancel` can find and cancel
            // this job.
            SiteJob::write_all(&run, &self.records)?;
        }
        self.news.extend(self.records.iter().map(SiteJob::in_words));
        run.link_latest();
        if let Some(started) = &self.started {
            let _ = std::io::Write::write_all(&mut &**started, b".");
        }
        Ok(())
    }

    fn lost(&mut self) -> Vec<(DomainId, Fault)> {
        self.go_on();
        std::mem::take(&mut self.lost)
    }

    fn are_coming(&mut self) -> bool {
        self.waiting.have_begun()
    }

    fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }
}

impl Drop for RunJobs<'_> {
    /// Ends all jobs, so that no job outlasts the run.
    fn drop(&mut self) {
        for job in 0..self.running.len() {
            self.order(job, JobOrder::End { in_order: self.in_order && self.waiting.have_begun() });
        }
        for one in self.running.drain(..) {
            drop(one.orders);
            let _ = one.thread.join();
        }
        self.records.iter_mut().for_each(|record| record.over = true);
        // The log is closed at this time, so a job that could not be cancelled is reported on the terminal.
        let told: Vec<_> = self.told.iter().flat_map(Receiver::try_iter).collect();
        for (job, told) in told {
            if let JobEvent::Failed(why) = told {
                self.records[job].over = false;
                crate::complain(&why);
            }
        }
        if let Some(Err(why)) = self.run.as_ref().map(|run| SiteJob::write_all(run, &self.records)) {
            crate::complain(&why);
        }
    }
}
