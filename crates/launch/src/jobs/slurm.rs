//! Slurm's queue on this machine: sbatch, squeue, scancel.

use super::JobState;
use crate::terminal_text::last_lines;
use ligament_catalogue::{fault, Fault};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(words: &[&str]) -> Result<Output, Fault> {
    let (program, rest) = words.split_first().ok_or_else(|| fault!(JOB_REFUSED, "there is no command"))?;
    Command::new(program).args(rest).stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => fault!(
            JOB_REFUSED,
            "the command \"{program}\" is not in PATH; is this a machine from which jobs are submitted to \
            Slurm? A site that is elsewhere has \"ssh:\" in its file"
        ),
        _ => fault!(JOB_REFUSED, "{program}: {error}"),
    })
}

fn output_text(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let lines = last_lines(text.as_bytes(), usize::MAX);
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Submits a script. Returns the job's number.
///
/// # Errors
/// Slurm refuses the script; the error has Slurm's words.
pub fn submit(script: &Path) -> Result<String, Fault> {
    let output = run(&["sbatch", "--parsable", &script.to_string_lossy()])?;
    if !output.status.success() {
        return Err(fault!(
            JOB_REFUSED,
            "Slurm does not take the job: {}; the script is {}",
            output_text(&output),
            script.display()
        ));
    }
    // The output has the form "17" or "17;cluster".
    let text = String::from_utf8_lossy(&output.stdout);
    let job = text.trim().split(';').next().unwrap_or_default();
    if job.chars().all(|c| c.is_ascii_digit()) && !job.is_empty() {
        Ok(job.to_owned())
    } else {
        Err(fault!(JOB_REFUSED, "sbatch gave no number of a job: {}; look with squeue", output_text(&output)))
    }
}

/// Returns the state of a job.
///
/// # Errors
/// Slurm does not answer; the error has Slurm's words. A later attempt may succeed.
pub fn state(job: &str) -> Result<JobState, Fault> {
    let output = run(&["squeue", "--noheader", "--states=all", &format!("--jobs={job}"), "--format=%T|%r|%N"])?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = output_text(&output);
        // Slurm forgets jobs that ended long ago.
        return if said.contains("Invalid job id") {
            Ok(JobState::Over { how: "gone".into() })
        } else {
            Err(fault!(JOB_REFUSED, "the queue of Slurm cannot be seen: {said}"))
        };
    }
    Ok(of_line(text.lines().next().unwrap_or_default()))
}

pub(super) fn of_line(line: &str) -> JobState {
    let mut fields = line.splitn(3, '|').map(|field| field.trim().to_owned());
    let mut next = || fields.next().unwrap_or_default();
    let (state, why, nodes) = (next(), next(), next());
    match state.as_str() {
        "" => JobState::Over { how: "gone".into() },
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESV_DEL_HOLD" => {
            JobState::Waiting { why: if why.is_empty() || why == "None" { state } else { why } }
        }
        "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "RESIZING" | "STAGE_OUT" => {
            JobState::Running { nodes }
        }
        _ => JobState::Over { how: state },
    }
}

/// Cancels a job. If the job is over already, this is no error.
///
/// # Errors
/// Slurm refuses; the error has Slurm's words.
pub fn cancel(job: &str) -> Result<(), Fault> {
    let output = run(&["scancel", job])?;
    if output.status.success() || output_text(&output).contains("Invalid job id") {
        Ok(())
    } else {
        Err(fault!(JOB_REFUSED, "the job {job} cannot be cancelled: {}", output_text(&output)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_squeue_says_is_understood() {
        for (line, state) in [
            ("PENDING|Resources|", JobState::Waiting { why: "Resources".into() }),
            ("CONFIGURING|None|n[1-2]", JobState::Waiting { why: "CONFIGURING".into() }),
            ("RUNNING|None|n[1-3]", JobState::Running { nodes: "n[1-3]".into() }),
            ("COMPLETED|None|n1", JobState::Over { how: "COMPLETED".into() }),
            ("TIMEOUT|TimeLimit|n1", JobState::Over { how: "TIMEOUT".into() }),
            ("", JobState::Over { how: "gone".into() }),
        ] {
            assert_eq!(of_line(line), state, "{line}");
        }
    }
}
