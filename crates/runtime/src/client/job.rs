//! The job of a batch system that a run is, and those that a run over several sites has: what is written down
//! of them in the run directory, so that others find them before the run has begun.

use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs;
use ligament_manager::{RunDirectory, UtcTime, JOB_FILE};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file with the jobs of a run over several sites.
const SITES: &str = "sites.json";

/// A job, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its number.
    pub job: String,
    /// The site that it was submitted to.
    pub site: String,
    /// When.
    pub submitted: String,
}

impl JobRecord {
    /// A job that has just been submitted.
    pub fn new(job: String, site: &str) -> JobRecord {
        JobRecord { job, site: site.to_owned(), submitted: UtcTime::now().rfc3339() }
    }

    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "version": 1, "system": "slurm", "job": self.job, "site": self.site, "submitted": self.submitted,
        })
    }

    /// Writes it down: from now on there is a run, though it has not begun.
    pub fn write(&self, run: &RunDirectory) -> Result<(), Fault> {
        run.write(JOB_FILE, &format!("{:#}\n", self.to_json()))?;
        run.link_latest();
        Ok(())
    }

    /// The job of a run; `None` if it was not submitted.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(run: &RunDirectory) -> Result<Option<JobRecord>, Fault> {
        let path = run.path().join(JOB_FILE);
        let Ok(text) = ligament_model::read_text(&path) else { return Ok(None) };
        let json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| fault!(RUN_UNREADABLE, "{} cannot be read: {error}", path.display()))?;
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        Ok(Some(JobRecord { job: text("job"), site: text("site"), submitted: text("submitted") }))
    }

    /// How it stands, in words.
    pub fn in_words(&self) -> String {
        match jobs::state(&self.job) {
            Ok(state) => format!("its job {} {state}", self.job),
            Err(error) => format!("its job {}: {error}", self.job),
        }
    }
}

/// The job of a run at one of its sites, as the run's head has last seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteJob {
    pub site: String,
    /// The batch system: `slurm`, `pbs`, `lsf` or `none`.
    pub system: String,
    /// Its number.
    pub job: String,
    pub nodes: u32,
    /// How it stands, in words, such as "waits in the queue (Resources)".
    pub stands: String,
    /// The site's file, and where the job has its files there: for who ends it if the head is gone.
    #[serde(default)]
    pub file: Option<PathBuf>,
    #[serde(default)]
    pub place: String,
    /// True if nothing of it is left to be ended.
    #[serde(default)]
    pub over: bool,
}

#[derive(Serialize, Deserialize)]
struct SiteJobs {
    version: u32,
    sites: Vec<SiteJob>,
}

impl SiteJob {
    /// It as a sentence.
    pub fn in_words(&self) -> String {
        format!("the job {} at {} {}", self.job, self.site, self.stands)
    }

    /// Writes down all that a run has.
    ///
    /// # Errors
    /// The error of the system.
    pub fn write_all(run: &RunDirectory, jobs: &[SiteJob]) -> Result<(), Fault> {
        let all = SiteJobs { version: 1, sites: jobs.to_vec() };
        run.write(SITES, &format!("{}\n", serde_json::to_string_pretty(&all).unwrap_or_default()))
    }

    /// The jobs of a run; none if it is not one over several sites.
    pub fn all_of(run: &RunDirectory) -> Vec<SiteJob> {
        let text = ligament_model::read_text(&run.path().join(SITES)).unwrap_or_default();
        serde_json::from_str::<SiteJobs>(&text).map_or_else(|_| Vec::new(), |all| all.sites)
    }
}
