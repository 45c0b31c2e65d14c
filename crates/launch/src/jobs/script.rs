//! The script of a job: its requests to the batch system, the site's modules and commands, and the job's
//! own command.

use super::JobSystem;
use crate::command::{plain_or_quoted, quote, quote_path};
use crate::site::{Gpus, Site, Walltime};
use std::fmt::Write;
use std::path::PathBuf;

/// Time before its time limit at which a job is asked to end, in s, so that the run can end in order.
const WARNING_BEFORE_END_S: u64 = 60;

/// A job that runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The name of the run.
    pub run: String,
    /// The full path of the run directory.
    pub directory: PathBuf,
    /// The full path of the directory in which the job is submitted, and in which the run works.
    pub from: PathBuf,
    pub nodes: u32,
    /// Number of cores of each node. `None` means the batch system's default.
    pub cores: Option<u32>,
    pub time: Option<Walltime>,
    /// A description of the command, for readers of the script.
    pub does: &'static str,
    /// The words of the command, beginning with the path of `ligament`.
    pub command: Vec<String>,
}

impl Job {
    /// Returns the script for a site's batch system.
    pub fn script(&self, site: &Site, system: JobSystem) -> String {
        let mut text = format!(
            "#!/bin/bash\n# The job of the run {0}, written by ligament submit {1}.\n\
             # It may be changed and submitted by hand, as long as {0} holds no run.\n\n",
            self.run,
            env!("CARGO_PKG_VERSION")
        );
        let mut line = |what: &str| {
            let _ = writeln!(text, "{what}");
        };
        match system {
            JobSystem::Slurm => self.asks_slurm(site, &mut line),
            JobSystem::Pbs => self.asks_pbs(site, &mut line),
            JobSystem::Lsf => self.asks_lsf(site, &mut line),
            JobSystem::None => line(&format!("cd {} || exit 1", quote(&self.from.to_string_lossy()))),
        }
        let before = site.before();
        if !before.is_empty() {
            line(&format!("\n# As the site \"{}\" wants it.", site.name));
            for before in before {
                let failed = quote(&format!("ligament: this line of the site failed: {before}"));
                line(&format!("{before}\n[ $? -eq 0 ] || {{ echo {failed} >&2; exit 1; }}"));
            }
        }
        line(&format!("\n# {}", self.does));
        let ligament = self.command.iter().take(1).map(|path| {
            if path.starts_with('~') {
                quote_path(path)
            } else {
                plain_or_quoted(path)
            }
        });
        let mut words: Vec<String> =
            ligament.chain(self.command.iter().skip(1).map(|word| plain_or_quoted(word))).collect();
        if site.ssh.is_some() && site.ligament.is_none() {
            // `ligament` may be at the same path on the machine of the job as on this machine.
            line(&format!("l={}\n[ -x \"$l\" ] || l=ligament", words[0]));
            "\"$l\"".clone_into(&mut words[0]);
        }
        line(&format!("exec {}", words.join(" ")));
        text
    }

    fn output(&self) -> String {
        self.directory.join("job.log").to_string_lossy().into_owned()
    }

    fn asks_slurm(&self, site: &Site, line: &mut dyn FnMut(&str)) {
        line(&format!("#SBATCH --job-name={}", one_word(&self.run)));
        line(&format!("#SBATCH --nodes={}", self.nodes));
        line("# One agent on each node starts what runs there.");
        line("#SBATCH --ntasks-per-node=1");
        if let Some(cores) = self.cores {
            line(&format!("#SBATCH --cpus-per-task={cores}"));
        }
        if site.whole_nodes {
            line("#SBATCH --exclusive");
        }
        if let Some(time) = self.time {
            line(&format!("#SBATCH --time={time}"));
            if time.0 > 2 * WARNING_BEFORE_END_S {
                line("# A minute before that the run is asked to end, so that it ends in order.");
                line(&format!("#SBATCH --signal=B:TERM@{WARNING_BEFORE_END_S}"));
            }
        }
        let reservation = &site.reservation;
        for (option, value) in
            [("account", &site.account), ("partition", &site.partition), ("reservation", reservation)]
        {
            if let Some(value) = value {
                line(&format!("#SBATCH --{option}={}", in_quotes(value)));
            }
        }
        if let Some(gpus) = &site.gpus_per_node {
            line(&format!("#SBATCH --gres=gpu:{gpus}"));
        }
        if !site.licences.is_empty() {
            let all: Vec<String> = site.licences.iter().map(ToString::to_string).collect();
            line(&format!("#SBATCH --licenses={}", all.join(",")));
        }
        line(&format!("#SBATCH --chdir={}", in_quotes(&self.from.to_string_lossy())));
        // In file names, % has a special meaning for sbatch.
        line(&format!("#SBATCH --output={}", in_quotes(&self.output().replace('%', "%%"))));
        line("# A run that has begun is not begun again.");
        line("#SBATCH --no-requeue");
        for option in &site.batch_options {
            line(&format!("#SBATCH {option}"));
        }
    }

    /// This function is untested. It follows "PBS Professional Reference Guide", qsub.
    fn asks_pbs(&self, site: &Site, line: &mut dyn FnMut(&str)) {
        line(&format!("#PBS -N {}", short(&self.run, 230)));
        let cores = self.cores.or(site.cores_per_node).map_or(String::new(), |cores| format!(":ncpus={cores}"));
        let gpus = site.gpus_per_node.as_ref().map_or(String::new(), |gpus| format!(":ngpus={}", gpus.count));
        line(&format!("#PBS -l select={}{cores}{gpus}:mpiprocs=1", self.nodes));
        for licence in &site.licences {
            line(&format!("#PBS -l {}={}", licence.name, licence.count));
        }
        line(&format!("#PBS -l place=scatter{}", if site.whole_nodes { ":excl" } else { "" }));
        if let Some(time) = self.time {
            let (hours, rest) = (time.0 / 3600, time.0 % 3600);
            line(&format!("#PBS -l walltime={hours:02}:{:02}:{:02}", rest / 60, rest % 60));
        }
        // A reservation has a queue of its own, with its name.
        let queue = if site.reservation.is_some() { &site.reservation } else { &site.partition };
        for (option, value) in [("A", &site.account), ("q", queue)] {
            if let Some(value) = value {
                line(&format!("#PBS -{option} {}", in_quotes(value)));
            }
        }
        line("#PBS -j oe");
        line(&format!("#PBS -o {}", in_quotes(&self.output())));
        line("#PBS -r n");
        for option in &site.batch_options {
            line(&format!("#PBS {option}"));
        }
        line(&format!("cd {} || exit 1", quote(&self.from.to_string_lossy())));
    }

    /// This function is untested. It follows "IBM Spectrum LSF 10.1, Command reference", bsub.
    fn asks_lsf(&self, site: &Site, line: &mut dyn FnMut(&str)) {
        line(&format!("#BSUB -J {}", one_word(&self.run)));
        line(&format!("#BSUB -n {}", self.nodes));
        line("#BSUB -R \"span[ptile=1]\"");
        if site.whole_nodes {
            line("#BSUB -x");
        }
        if let Some(time) = self.time {
            let minutes = time.0.div_ceil(60);
            line(&format!("#BSUB -W {}:{:02}", minutes / 60, minutes % 60));
            if time.0 > 2 * WARNING_BEFORE_END_S {
                line("#BSUB -wt 1");
                line("#BSUB -wa TERM");
            }
        }
        for (option, value) in [("P", &site.account), ("q", &site.partition), ("U", &site.reservation)] {
            if let Some(value) = value {
                line(&format!("#BSUB -{option} {}", in_quotes(value)));
            }
        }
        if let Some(Gpus { kind, count }) = &site.gpus_per_node {
            let kind = kind.as_ref().map_or(String::new(), |kind| format!(":gmodel={kind}"));
            line(&format!("#BSUB -gpu \"num={count}{kind}\""));
        }
        for licence in &site.licences {
            line(&format!("#BSUB -R \"rusage[{}={}/job]\"", licence.name, licence.count));
        }
        line(&format!("#BSUB -cwd {}", in_quotes(&self.from.to_string_lossy())));
        line(&format!("#BSUB -o {}", in_quotes(&self.output())));
        line("#BSUB -rn");
        for option in &site.batch_options {
            line(&format!("#BSUB {option}"));
        }
    }
}

/// Quotes a text for sbatch, which splits its options at blanks and respects double quotes.
fn in_quotes(text: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\' | '#');
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Returns the text, cut to `most` characters: PBS limits the length of names.
fn short(text: &str, most: usize) -> String {
    one_word(text).chars().take(most).collect()
}

fn one_word(text: &str) -> String {
    text.replace(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)), "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{LauncherKind, Licence};

    fn job() -> Job {
        Job {
            run: "town-1".into(),
            directory: "/home/me/my runs/50%/town-1".into(),
            from: "/home/me".into(),
            nodes: 3,
            cores: None,
            time: Some(Walltime(3600)),
            does: "The head of the run.",
            command: vec!["/opt/ligament".into(), "run".into(), "my town.ymmsl".into()],
        }
    }

    #[test]
    fn a_script_asks_for_whole_nodes_and_becomes_the_run() {
        let script = job().script(&Site::default(), JobSystem::Slurm);
        for line in [
            "#!/bin/bash",
            "#SBATCH --job-name=town-1",
            "#SBATCH --nodes=3",
            "#SBATCH --ntasks-per-node=1",
            "#SBATCH --exclusive",
            "#SBATCH --time=01:00:00",
            "#SBATCH --signal=B:TERM@60",
            "#SBATCH --chdir=/home/me",
            "#SBATCH --output=\"/home/me/my runs/50%%/town-1/job.log\"",
            "exec /opt/ligament run 'my town.ymmsl'",
        ] {
            assert!(script.lines().any(|found| found == line), "{line} is not in\n{script}");
        }
        assert!(!script.contains("--account") && !script.contains("--cpus-per-task"), "{script}");
    }

    #[test]
    fn what_the_site_says_is_in_the_script_in_its_order() {
        let site = Site {
            name: "big".into(),
            modules: vec!["gcc/12".into()],
            commands: vec!["source env.sh".into()],
            account: Some("p 1".into()),
            partition: Some("fat".into()),
            whole_nodes: false,
            batch_options: vec!["--qos=low".into()],
            ..Site::default()
        };
        let script = Job { cores: Some(4), ..job() }.script(&site, JobSystem::Slurm);
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text} is not in\n{script}"));
        assert!(at("#SBATCH --qos=low") < at("module load 'gcc/12'\n[ $? -eq 0 ]"));
        assert!(at("module load") < at("\nsource env.sh\n"));
        assert!(at("\nsource env.sh\n") < at("\nexec "));
        at("#SBATCH --account=\"p 1\"\n");
        at("#SBATCH --partition=fat\n");
        at("#SBATCH --cpus-per-task=4\n");
        assert!(!script.contains("--exclusive"), "{script}");
    }

    #[test]
    fn reservations_gpus_and_licences_are_asked_for_in_each_systems_words() {
        let site = Site {
            reservation: Some("workshop".into()),
            gpus_per_node: Gpus::parse("a100:2"),
            licences: ["solver", "mesher:4"].iter().filter_map(|text| Licence::parse(text)).collect(),
            ..Site::default()
        };
        for (system, lines) in [
            (
                JobSystem::Slurm,
                [
                    "#SBATCH --reservation=workshop",
                    "#SBATCH --gres=gpu:a100:2",
                    "#SBATCH --licenses=solver:1,mesher:4",
                ],
            ),
            (JobSystem::Pbs, ["#PBS -q workshop", "#PBS -l select=3:ngpus=2:mpiprocs=1", "#PBS -l mesher=4"]),
            (
                JobSystem::Lsf,
                ["#BSUB -U workshop", "#BSUB -gpu \"num=2:gmodel=a100\"", "#BSUB -R \"rusage[mesher=4/job]\""],
            ),
        ] {
            let script = job().script(&site, system);
            for line in lines {
                assert!(script.lines().any(|found| found == line), "{line} is not in\n{script}");
            }
        }
    }

    #[test]
    fn pbs_and_lsf_are_asked_in_their_words() {
        let of = |launcher| Site {
            launcher: Some(launcher),
            partition: Some("fat".into()),
            commands: vec!["source env.sh".into()],
            cores_per_node: Some(8),
            ..Site::default()
        };
        let pbs = job().script(&of(LauncherKind::Pbs), JobSystem::Pbs);
        for line in [
            "#PBS -l select=3:ncpus=8:mpiprocs=1",
            "#PBS -l walltime=01:00:00",
            "#PBS -q fat",
            "cd '/home/me' || exit 1",
        ] {
            assert!(pbs.lines().any(|found| found == line), "{line} is not in\n{pbs}");
        }
        let lsf = job().script(&of(LauncherKind::Lsf), JobSystem::Lsf);
        for line in
            ["#BSUB -n 3", "#BSUB -R \"span[ptile=1]\"", "#BSUB -W 1:00", "#BSUB -q fat", "#BSUB -cwd /home/me"]
        {
            assert!(lsf.lines().any(|found| found == line), "{line} is not in\n{lsf}");
        }
        for script in [pbs, lsf] {
            assert!(!script.contains("SBATCH") && script.contains("\nsource env.sh\n"), "{script}");
            assert!(script.ends_with("exec /opt/ligament run 'my town.ymmsl'\n"), "{script}");
        }
    }

    #[test]
    fn a_command_below_the_home_directory_is_found_there() {
        let mut job = job();
        job.command[0] = "~/my bin/ligament".into();
        let script = job.script(&Site::default(), JobSystem::Slurm);
        assert!(script.ends_with("exec \"$HOME\"/'my bin/ligament' run 'my town.ymmsl'\n"), "{script}");
    }
}
