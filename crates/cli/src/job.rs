//! `ligament cancel`: ends a submitted run in its queue or while it runs, and any other run as `ligament
//! stop` does.

use crate::arguments::print;
use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::{self, JobState};
use ligament_launch::site::find_site;
use ligament_manager::{find_run, RunDirectory, RunState};
use ligament_runtime::client::{record_of, JobRecord, SiteJob};

#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// The site that it was submitted to, if that is reached by ssh.
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,
    /// Say what would be ended, and end nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Carries out `ligament cancel`. Returns the exit status.
pub(crate) fn cancel(arguments: &Cancel) -> i32 {
    if let Some(name) = &arguments.site {
        match find_site(name) {
            Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
            Ok(site) if site.ssh.is_some() => return crate::remote::cancel(&site, arguments),
            Ok(_) => {}
        }
    }
    if let Ok(run) = find_run(&arguments.run) {
        let jobs = crate::sites::left(&run);
        if !jobs.is_empty() {
            return crate::sites::cancel_left(&run, jobs, arguments);
        }
    }
    let found = find_run(&arguments.run).and_then(|run| Ok((JobRecord::of(&run)?, run)));
    let (job, run) = match found {
        Ok((Some(job), run)) => (job, run),
        // A run without a job is stopped in place of cancelled. A dry run only reports this.
        Ok((None, run)) if arguments.dry_run => {
            if let Some(error) = is_over(&run) {
                return crate::fail(arguments.json, &error, crate::FAILED);
            }
            let jobs = SiteJob::all_of(&run);
            let jobs: Vec<String> =
                jobs.iter().filter(|job| !job.over).map(|job| format!("{} at {}", job.job, job.site)).collect();
            let too = if jobs.is_empty() {
                String::new()
            } else {
                format!(", and with it its jobs: {}", jobs.join(", "))
            };
            return told(arguments, None, &format!("{} would be told to end{too}", run.name()));
        }
        Ok((None, _)) => {
            let stop = crate::arguments::Stop { run: arguments.run.clone(), json: arguments.json };
            return crate::client::stop(&stop);
        }
        Err(error) => return crate::fail(arguments.json, &error, crate::BAD_USE),
    };
    // A job may stay in the queue for a moment after the end of its run, so the record of the run is read
    // first.
    if let Some(error) = is_over(&run) {
        return crate::fail(arguments.json, &error, crate::FAILED);
    }
    match jobs::state(&job.job) {
        Ok(JobState::Over { how }) => {
            let error =
                fault!(NOT_RUNNING, "{} is not running: its job {} is over ({how})", run.name(), job.job);
            return crate::fail(arguments.json, &error, crate::FAILED);
        }
        Ok(_) => {}
        Err(error) => return crate::fail(arguments.json, &error, crate::FAILED),
    }
    if arguments.dry_run {
        let said = format!("the job {} of {} would be cancelled: scancel {}", job.job, run.name(), job.job);
        return told(arguments, Some(&job.job), &said);
    }
    match jobs::cancel(&job.job) {
        Ok(()) => told(arguments, Some(&job.job), &format!("the job {} of {} ends", job.job, run.name())),
        Err(error) => crate::fail(arguments.json, &error, crate::FAILED),
    }
}

/// Returns an error if the run is over, so that it cannot be cancelled.
fn is_over(run: &RunDirectory) -> Option<Fault> {
    let record = record_of(run).ok().filter(|record| record.state != RunState::Running)?;
    Some(fault!(NOT_RUNNING, "{} is not running: it is {}", run.name(), record.state.name()))
}

fn told(arguments: &Cancel, job: Option<&str>, text: &str) -> i32 {
    if arguments.json {
        let json = serde_json::json!({ "ok": true, "job": job, "dry_run": arguments.dry_run });
        print(&format!("{json}\n"));
    } else {
        print(&format!("{text}\n"));
    }
    crate::DONE
}
