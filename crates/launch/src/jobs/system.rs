//! Batch systems that are used over a shell at a site, so none of them needs to be installed on this machine:
//! the commands that submit, show and cancel a job, and the parsers of their answers. Slurm is tested. PBS
//! ("PBS Professional Reference Guide": qsub, qstat, qdel) and LSF ("IBM Spectrum LSF 10.1, Command reference":
//! bsub, bjobs, bkill) follow their documentation. At a site without a batch system, a job is a process that is
//! started at once.

use super::{slurm, JobState};
use crate::command::quote;
use crate::site::{LauncherKind, Site};
use ligament_catalogue::{fault, Fault};

/// The system that runs the jobs of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSystem {
    Slurm,
    Pbs,
    Lsf,
    /// The site has no batch system: its machines may be used at any time.
    None,
}

impl JobSystem {
    /// Returns the batch system of a site: Slurm, unless the site's file names another system.
    pub fn of(site: &Site) -> JobSystem {
        match site.launcher {
            _ if !site.hosts.is_empty() => JobSystem::None,
            Some(LauncherKind::Pbs) => JobSystem::Pbs,
            Some(LauncherKind::Lsf) => JobSystem::Lsf,
            _ => JobSystem::Slurm,
        }
    }

    /// Returns the system's name in files.
    pub fn name(self) -> &'static str {
        match self {
            JobSystem::Slurm => "slurm",
            JobSystem::Pbs => "pbs",
            JobSystem::Lsf => "lsf",
            JobSystem::None => "none",
        }
    }

    /// Returns the system of this name.
    pub fn from_name(name: &str) -> Option<JobSystem> {
        [JobSystem::Slurm, JobSystem::Pbs, JobSystem::Lsf, JobSystem::None]
            .into_iter()
            .find(|one| one.name() == name)
    }

    /// Returns a shell command that fails if the job's number belongs to something else by now. This can happen
    /// to numbers of processes, which the system uses again. `place` is the directory of the job's files.
    pub fn is_still(self, job: &str, place: &str) -> String {
        match self {
            JobSystem::Slurm | JobSystem::Pbs | JobSystem::Lsf => "true".to_owned(),
            JobSystem::None => {
                format!("tr '\\0' ' ' </proc/{}/cmdline | grep -qF -- {}", quote(job), quote(place))
            }
        }
    }

    /// Returns a shell command that submits a script. `script` is its full path.
    pub fn submits(self, script: &str) -> String {
        let script = quote(script);
        match self {
            JobSystem::Slurm => format!("sbatch --parsable {script}"),
            JobSystem::Pbs => format!("qsub {script}"),
            JobSystem::Lsf => format!("bsub < {script}"),
            // The process gets a session of its own, and so a process group.
            JobSystem::None => {
                format!(
                    "setsid nohup bash {script} > \"$(dirname {script})/job.log\" 2>&1 < /dev/null & echo $!"
                )
            }
        }
    }

    /// Returns the job's number, from the output of the command that submits it, or `None` if the output
    /// has no number.
    pub fn number(self, said: &str) -> Option<String> {
        let lines = said.lines().rev().map(str::trim);
        let plain = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-[]".contains(c))
        };
        let digits = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
        match self {
            // The output has the form "17" or "17;cluster". Warnings may precede it.
            JobSystem::Slurm => lines
                .into_iter()
                .find(|line| {
                    let (number, cluster) = line.split_once(';').unwrap_or((line, "0"));
                    digits(&number) && plain(cluster)
                })
                .map(str::to_owned),
            JobSystem::None => lines.into_iter().find(digits).map(str::to_owned),
            // The output has the form "123.server".
            JobSystem::Pbs => {
                let mut numbers =
                    lines.filter(|line| plain(line) && line.starts_with(|c: char| c.is_ascii_digit()));
                numbers.next().map(str::to_owned)
            }
            // The output has the form "Job <123> is submitted to queue <normal>."
            JobSystem::Lsf => said.split('<').nth(1)?.split('>').next().filter(digits).map(str::to_owned),
        }
    }

    /// Returns a shell command that shows the state of a job.
    pub fn shows(self, job: &str) -> String {
        let (number, cluster) = of_cluster(job);
        let job = quote(job);
        match self {
            JobSystem::Slurm => {
                format!("squeue --noheader --states=all --jobs={number}{cluster} '--format=%T|%r|%N'")
            }
            JobSystem::Pbs => format!("qstat -x -f {job}"),
            JobSystem::Lsf => format!("bjobs -noheader -o \"stat exec_host pend_reason delimiter='|'\" {job}"),
            JobSystem::None => format!(
                // A zombie counts as ended: its parent may be the run's head, which reaps it later.
                "if ps -e -o pgid=,stat= | awk -v g={job} '$1 == g && $2 !~ /^Z/ {{ f = 1 }} END {{ exit !f \
                }}'; then echo running; else echo over; fi"
            ),
        }
    }

    /// Returns the state of a job, from the output of the command that shows it and from the command's
    /// success. Batch systems forget jobs that ended long ago.
    ///
    /// # Errors
    /// The output is no answer. A later attempt may succeed.
    pub fn state(self, succeeded: bool, said: &str) -> Result<JobState, Fault> {
        let gone = || JobState::Over { how: "gone".into() };
        let said = said.trim();
        let unknown = ["Invalid job id", "Unknown Job", "is not found"].iter().any(|text| said.contains(text));
        match (succeeded, unknown) {
            (_, true) => return Ok(gone()),
            (false, false) => {
                let last = said.lines().last().unwrap_or("it says nothing").trim();
                return Err(fault!(SITE_UNREACHABLE, "{last}"));
            }
            (true, false) => {}
        }
        Ok(match self {
            JobSystem::Slurm => slurm::of_line(said.lines().last().unwrap_or_default()),
            JobSystem::Pbs => of_qstat(said),
            JobSystem::Lsf => of_bjobs(said.lines().last().unwrap_or_default()),
            JobSystem::None if said == "running" => JobState::Running { nodes: "the site's machines".into() },
            JobSystem::None => JobState::Over { how: "ended".into() },
        })
    }

    /// Returns a shell command that cancels a job.
    pub fn cancels(self, job: &str) -> String {
        let (number, cluster) = of_cluster(job);
        let job = quote(job);
        match self {
            JobSystem::Slurm => format!("scancel{cluster} {number}"),
            JobSystem::Pbs => format!("qdel {job}"),
            JobSystem::Lsf => format!("bkill {job}"),
            JobSystem::None => format!("kill -TERM -- -{job} 2>/dev/null || true"),
        }
    }
}

/// Splits Slurm's "17;big" into words of squeue and scancel: the number, and the option that names the cluster.
fn of_cluster(job: &str) -> (String, String) {
    match job.split_once(';') {
        Some((number, cluster)) => (quote(number), format!(" --clusters={}", quote(cluster))),
        None => (quote(job), String::new()),
    }
}

/// Returns the state of a job from lines such as ` job_state = Q`.
fn of_qstat(said: &str) -> JobState {
    let value = |key: &str| {
        let of = |line: &str| {
            let (found, value) = line.trim().split_once(" = ")?;
            (found == key).then(|| value.to_owned())
        };
        said.lines().find_map(of)
    };
    match value("job_state").as_deref() {
        Some("R" | "E" | "B" | "S" | "U") => {
            JobState::Running { nodes: value("exec_host").unwrap_or_default() }
        }
        Some(state @ ("Q" | "H" | "W" | "T")) => {
            JobState::Waiting { why: value("comment").unwrap_or_else(|| state.to_owned()) }
        }
        _ => JobState::Over {
            how: value("Exit_status")
                .map_or_else(|| "gone".to_owned(), |status| format!("exit status {status}")),
        },
    }
}

fn of_bjobs(line: &str) -> JobState {
    let mut fields = line.splitn(3, '|').map(|field| field.trim().to_owned());
    let mut next = || fields.next().unwrap_or_default();
    let (state, nodes, why) = (next(), next(), next());
    match state.as_str() {
        "PEND" | "PSUSP" | "WAIT" => {
            JobState::Waiting { why: if why.is_empty() || why == "-" { state } else { why } }
        }
        "RUN" | "USUSP" | "SSUSP" | "PROV" => JobState::Running { nodes },
        "" => JobState::Over { how: "gone".into() },
        _ => JobState::Over { how: state },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_number_is_found_in_what_its_submission_prints() {
        for (system, said, number) in [
            (JobSystem::Slurm, "17\n", Some("17")),
            (JobSystem::Slurm, "sbatch: warning: no time\n17;big\n", Some("17;big")),
            (JobSystem::Slurm, "sbatch: error: invalid partition\n", None),
            (JobSystem::Pbs, "123.server\n", Some("123.server")),
            (JobSystem::Pbs, "qsub: Unknown queue\n", None),
            (JobSystem::Lsf, "Job <123> is submitted to queue <normal>.\n", Some("123")),
            (JobSystem::Lsf, "no such queue\n", None),
            (JobSystem::None, "4711\n", Some("4711")),
        ] {
            assert_eq!(system.number(said).as_deref(), number, "{said}");
        }
    }

    #[test]
    fn what_batch_systems_say_of_a_job_is_understood() {
        let waiting = |why: &str| Ok(JobState::Waiting { why: why.into() });
        let running = |nodes: &str| Ok(JobState::Running { nodes: nodes.into() });
        let over = |how: &str| Ok(JobState::Over { how: how.into() });
        for (system, succeeded, said, state) in [
            (JobSystem::Slurm, true, "PENDING|Resources|\n", waiting("Resources")),
            (JobSystem::Slurm, true, "RUNNING|None|n[1-2]\n", running("n[1-2]")),
            (JobSystem::Slurm, true, "", over("gone")),
            (JobSystem::Slurm, false, "slurm_load_jobs error: Invalid job id specified\n", over("gone")),
            (
                JobSystem::Slurm,
                false,
                "Unable to contact slurm controller",
                Err(fault!(SITE_UNREACHABLE, "Unable to contact slurm controller")),
            ),
            (
                JobSystem::Pbs,
                true,
                "Job Id: 1.s\n    job_state = Q\n    comment = Not Running: no nodes\n",
                waiting("Not Running: no nodes"),
            ),
            (JobSystem::Pbs, true, "    job_state = R\n    exec_host = n1/0+n2/0\n", running("n1/0+n2/0")),
            (JobSystem::Pbs, true, "    job_state = F\n    Exit_status = 271\n", over("exit status 271")),
            (JobSystem::Pbs, false, "qstat: Unknown Job Id 1.s", over("gone")),
            (
                JobSystem::Lsf,
                true,
                "PEND|-|New job is waiting for scheduling\n",
                waiting("New job is waiting for scheduling"),
            ),
            (JobSystem::Lsf, true, "RUN|h1:h2|-\n", running("h1:h2")),
            (JobSystem::Lsf, true, "EXIT|h1|-\n", over("EXIT")),
            (JobSystem::Lsf, false, "Job <9> is not found", over("gone")),
            (JobSystem::None, true, "over\n", over("ended")),
        ] {
            assert_eq!(system.state(succeeded, said), state, "{said}");
        }
    }

    #[test]
    fn the_number_of_a_process_is_a_job_only_as_long_as_it_names_the_jobs_files() {
        let holds = |place: &str| {
            let own = JobSystem::None.is_still(&std::process::id().to_string(), place);
            std::process::Command::new("bash").args(["-c", &own]).status().is_ok_and(|status| status.success())
        };
        let program = std::env::current_exe().unwrap();
        assert!(holds(&program.file_name().unwrap().to_string_lossy()));
        assert!(!holds("/no/such/place"));
        assert_eq!(JobSystem::Slurm.is_still("17", "/x"), "true", "a batch system gives numbers once");
    }

    #[test]
    fn names_of_systems_are_read_as_they_are_written() {
        for system in [JobSystem::Slurm, JobSystem::Pbs, JobSystem::Lsf, JobSystem::None] {
            assert_eq!(JobSystem::from_name(system.name()), Some(system));
        }
        assert_eq!(JobSystem::from_name("cron"), None);
    }

    #[test]
    fn a_site_that_lists_its_machines_has_no_queue() {
        let hosts = crate::parse_hosts("a,b").unwrap();
        assert_eq!(JobSystem::of(&Site { hosts, ..Site::default() }), JobSystem::None);
        let of = |kind| JobSystem::of(&Site { launcher: Some(kind), ..Site::default() });
        assert_eq!(
            [of(LauncherKind::Slurm), of(LauncherKind::Pbs), of(LauncherKind::Lsf)],
            [JobSystem::Slurm, JobSystem::Pbs, JobSystem::Lsf]
        );
        assert_eq!(
            [JobSystem::of(&Site::default()), of(LauncherKind::Ssh)],
            [JobSystem::Slurm, JobSystem::Slurm]
        );
    }
}
