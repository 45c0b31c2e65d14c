//! The batch job of a run, and the jobs of a run over several sites. Their records are in the run directory, so
//! other commands find them even before the run has begun.

use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs;
use ligament_manager::{RunDirectory, UtcTime, JOB_FILE};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file with the jobs of a run over several sites.
const SITES: &str = "sites.json";

/// The record of a batch job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Number of the job.
    pub job: String,
    /// The site to which the job was submitted.
    pub site: String,
    /// Time at which the job was submitted.
    pub submitted: String,
}

impl JobRecord {
    /// Makes the record of a job that has just been submitted.
    pub fn new(job: String, site: &str) -> JobRecord {
        JobRecord { job, site: site.to_owned(), submitted: UtcTime::now().rfc3339() }
    }

    /// Returns the record as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "version": 1, "system": "slurm", "job": self.job, "site": self.site, "submitted": self.submitted,
        })
    }

    /// Writes the record. From then on, other commands find the run, although it has not begun.
    pub fn write(&self, run: &RunDirectory) -> Result<(), Fault> {
        run.write(JOB_FILE, &format!("{:#}\n", self.to_json()))?;
        run.link_latest();
        Ok(())
    }

    /// Reads the record of a run's job. Returns `None` if the run was not submitted.
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

    /// Returns a sentence about the state of the job.
    pub fn in_words(&self) -> String {
        match jobs::state(&self.job) {
            Ok(state) => format!("its job {} {state}", self.job),
            Err(error) => format!("its job {}: {error}", self.job),
        }
    }
}

/// The job of a run at one of its sites, in the state that the run's head has last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteJob {
    pub site: String,
    /// The batch system: `slurm`, `pbs`, `lsf` or `none`.
    pub system: String,
    /// Number of the job.
    pub job: String,
    pub nodes: u32,
    /// State of the job in words, such as "waits in the queue (Resources)".
    pub stands: String,
    /// The site's file, and the directory of the job at the site. A command needs both to end the job if the
    /// head is gone.
    #[serde(default)]
    pub file: Option<PathBuf>,
    #[serde(default)]
    pub place: String,
    /// True if no process of the job is left.
    #[serde(default)]
    pub over: bool,
}

#[derive(Serialize, Deserialize)]
struct SiteJobs {
    version: u32,
    sites: Vec<SiteJob>,
}

impl SiteJob {
    /// Returns a sentence about the job.
    pub fn in_words(&self) -> String {
        format!("the job {} at {} {}", self.job, self.site, self.stands)
    }

    /// Writes the records of all jobs of a run.
    ///
    /// # Errors
    /// The system's message.
    pub fn write_all(run: &RunDirectory, jobs: &[SiteJob]) -> Result<(), Fault> {
        let all = SiteJobs { version: 1, sites: jobs.to_vec() };
        run.write(SITES, &format!("{}\n", serde_json::to_string_pretty(&all).unwrap_or_default()))
    }

    /// Reads the records of a run's jobs. There are no records if the run is not over several sites.
    pub fn all_of(run: &RunDirectory) -> Vec<SiteJob> {
        let text = ligament_model::read_text(&run.path().join(SITES)).unwrap_or_default();
        serde_json::from_str::<SiteJobs>(&text).map_or_else(|_| Vec::new(), |all| all.sites)
    }
}
