//! `ligament cancel` for a run at several sites whose head is gone: cancels the jobs that `sites.json` does not
//! record as over.

use super::keeper::JobKeeper;
use crate::arguments::print;
use crate::job::Cancel;
use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::JobState;
use ligament_manager::{RunDirectory, RunState};
use ligament_runtime::client::{is_alive, is_here, record_of, SiteJob};

/// Returns the recorded jobs of a run that no head watches. Returns none if the head may be alive or if all
/// jobs are over.
pub(crate) fn left(run: &RunDirectory) -> Vec<SiteJob> {
    let watched = record_of(run).is_ok_and(|record| {
        // The head counts as alive on another machine, because this machine cannot check it.
        record.state == RunState::Running && (!is_here(&record) || is_alive(record.pid))
    });
    let jobs = SiteJob::all_of(run);
    if watched || jobs.iter().all(|job| job.over) {
        Vec::new()
    } else {
        jobs
    }
}

/// The outcome of cancelling a job.
enum CancelOutcome {
    Ends,
    /// The job was already over, for the reason given.
    Over(String),
    Unknown(Fault),
}

/// Cancels the jobs. A job at an unreachable site stays in the record, so that the user can call the command
/// again.
pub(crate) fn cancel(run: &RunDirectory, mut jobs: Vec<SiteJob>, arguments: &Cancel) -> i32 {
    let one = |job: &SiteJob| -> Result<CancelOutcome, Fault> {
        let mut keeper = JobKeeper::of(job)?;
        match keeper.stands()? {
            JobState::Over { how } => {
                if !arguments.dry_run {
                    keeper.take_back()?;
                }
                Ok(CancelOutcome::Over(how))
            }
            _ if arguments.dry_run => Ok(CancelOutcome::Ends),
            _ => keeper.take_back().map(|()| CancelOutcome::Ends),
        }
    };
    let mut said = Vec::new();
    for job in jobs.iter_mut().filter(|job| !job.over) {
        let became = one(job).unwrap_or_else(CancelOutcome::Unknown);
        if !arguments.dry_run && !matches!(became, CancelOutcome::Unknown(_)) {
            (job.over, job.stands) = (true, "is over".to_owned());
        }
        said.push((job.clone(), became));
    }
    if let Some(Err(why)) = (!arguments.dry_run).then(|| SiteJob::write_all(run, &jobs)) {
        return crate::fail(arguments.json, &why, crate::FAILED);
    }
    tell(run, &said, arguments)
}

fn tell(run: &RunDirectory, said: &[(SiteJob, CancelOutcome)], arguments: &Cancel) -> i32 {
    let failed = said.iter().any(|(_, became)| matches!(became, CancelOutcome::Unknown(_)));
    let none = said.iter().all(|(_, became)| matches!(became, CancelOutcome::Over(_)));
    let status = if failed || none { crate::FAILED } else { crate::DONE };
    if arguments.json {
        let one = |(job, became): &(SiteJob, CancelOutcome)| {
            let (ends, error) = match became {
                CancelOutcome::Ends => (true, None),
                CancelOutcome::Over(_) => (false, None),
                CancelOutcome::Unknown(why) => (false, Some(why.text())),
            };
            serde_json::json!({ "site": job.site, "job": job.job, "ends": ends, "error": error })
        };
        let sites: Vec<_> = said.iter().map(one).collect();
        let ok = status == crate::DONE;
        print(&format!("{}\n", serde_json::json!({ "ok": ok, "dry_run": arguments.dry_run, "sites": sites })));
        return status;
    }
    for (job, became) in said {
        let (number, site, name) = (&job.job, &job.site, run.name());
        match became {
            CancelOutcome::Ends if arguments.dry_run => {
                print(&format!("the job {number} at {site} of {name} would be cancelled\n"));
            }
            CancelOutcome::Ends => print(&format!("the job {number} at {site} of {name} ends\n")),
            CancelOutcome::Over(how) => {
                print(&format!("the job {number} at {site} of {name} is over ({how})\n"))
            }
            CancelOutcome::Unknown(why) => crate::complain(&why.clone().told(|why| {
                format!("the job {number} at {site} of {name} may still be there: {why}; call this again")
            })),
        }
    }
    if none {
        let error = fault!(NOT_RUNNING, "{} is not running: no job of it is left", run.name());
        return crate::fail(false, &error, status);
    }
    status
}
