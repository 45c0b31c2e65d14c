//! The script of a Slurm job: its requests, what is run first, and `ligament run`.

use crate::command::{plain_or_quoted, quote};
use crate::site::{Site, Walltime};
use std::fmt::Write;
use std::path::PathBuf;

/// How many seconds before its time limit a job is asked to end, so that the run can end in order.
const WARNING: u64 = 60;

/// A job that runs a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The run's name.
    pub run: String,
    /// The run directory; full.
    pub directory: PathBuf,
    /// Where it is submitted from, and where the run works; full.
    pub from: PathBuf,
    pub nodes: u32,
    /// Cores of each node; `None`: as the batch system gives them.
    pub cores: Option<u32>,
    pub time: Option<Walltime>,
    /// The words of `ligament run …`, the first the command's path.
    pub command: Vec<String>,
}

impl Job {
    /// The script for sbatch.
    pub fn script(&self, site: &Site) -> String {
        let mut text = String::from("#!/bin/bash\n");
        let mut line = |what: &str| {
            let _ = writeln!(text, "{what}");
        };
        line(&format!(
            "# The job of the run {}, written by ligament submit {}.",
            self.run,
            env!("CARGO_PKG_VERSION")
        ));
        line(&format!(
            "# It may be changed and given to sbatch by hand, as long as {} holds no run.",
            self.run
        ));
        line("");
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
            if time.0 > 2 * WARNING {
                line("# A minute before that the run is asked to end, so that it ends in order.");
                line(&format!("#SBATCH --signal=B:TERM@{WARNING}"));
            }
        }
        for (option, value) in [("account", &site.account), ("partition", &site.partition)] {
            if let Some(value) = value {
                line(&format!("#SBATCH --{option}={}", in_quotes(value)));
            }
        }
        line(&format!("#SBATCH --chdir={}", in_quotes(&self.from.to_string_lossy())));
        // In file names, sbatch gives % a meaning of its own.
        let output = self.directory.join("job.log").to_string_lossy().replace('%', "%%");
        line(&format!("#SBATCH --output={}", in_quotes(&output)));
        line("# A run that has begun is not begun again.");
        line("#SBATCH --no-requeue");
        for option in &site.batch_options {
            line(&format!("#SBATCH {option}"));
        }
        let before = site.before();
        if !before.is_empty() {
            line(&format!("\n# As the site \"{}\" wants it.", site.name));
            for before in before {
                let failed = quote(&format!("ligament: this line of the site failed: {before}"));
                line(&format!("{before}\n[ $? -eq 0 ] || {{ echo {failed} >&2; exit 1; }}"));
            }
        }
        line("\n# The head of the run, on the first node; it starts an agent on each of the others.");
        let words: Vec<String> = self.command.iter().map(|word| plain_or_quoted(word)).collect();
        line(&format!("exec {}", words.join(" ")));
        text
    }
}

/// sbatch splits its options at blanks, and knows double quotes.
fn in_quotes(text: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\' | '#');
    match text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn one_word(text: &str) -> String {
    text.replace(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)), "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            run: "town-1".into(),
            directory: "/home/me/my runs/50%/town-1".into(),
            from: "/home/me".into(),
            nodes: 3,
            cores: None,
            time: Some(Walltime(3600)),
            command: vec!["/opt/ligament".into(), "run".into(), "my town.ymmsl".into()],
        }
    }

    #[test]
    fn a_script_asks_for_whole_nodes_and_becomes_the_run() {
        let script = job().script(&Site::default());
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
        let script = Job { cores: Some(4), ..job() }.script(&site);
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("{text} is not in\n{script}"));
        assert!(at("#SBATCH --qos=low") < at("module load 'gcc/12'\n[ $? -eq 0 ]"));
        assert!(at("module load") < at("\nsource env.sh\n"));
        assert!(at("\nsource env.sh\n") < at("\nexec "));
        at("#SBATCH --account=\"p 1\"\n");
        at("#SBATCH --partition=fat\n");
        at("#SBATCH --cpus-per-task=4\n");
        assert!(!script.contains("--exclusive"), "{script}");
    }
}
