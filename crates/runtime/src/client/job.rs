//! The job of a batch system that a run is: what is written down of it in the run directory, so that others find it before
//! the run has begun.

use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs;
use ligament_manager::{Moment, RunDirectory, JOB};

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
        JobRecord { job, site: site.to_owned(), submitted: Moment::now().rfc3339() }
    }

    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "version": 1, "system": "slurm", "job": self.job, "site": self.site, "submitted": self.submitted,
        })
    }

    /// Writes it down: from now on there is a run, though it has not begun.
    pub fn write(&self, run: &RunDirectory) -> Result<(), Fault> {
        run.write(JOB, &format!("{:#}\n", self.to_json()))?;
        run.link_latest();
        Ok(())
    }

    /// The job of a run; `None` if it was not submitted.
    ///
    /// # Errors
    /// What is written down cannot be read.
    pub fn of(run: &RunDirectory) -> Result<Option<JobRecord>, Fault> {
        let path = run.path().join(JOB);
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
