//! The explanation of an instance's failure from its output. The reason of the run's failure quotes a line of
//! the output, and has advice.

use super::Runtime;
use ligament_agent::{Exit, RunFailure, RunOutcome};
use ligament_launch::{advice, error_line, FailureContext};
use ligament_manager::Names;
use ligament_wire::InstanceId;

/// Number of lines at the end of an instance's output that are searched for the cause. MPI launchers print many
/// lines.
const LINES: usize = 80;

impl Runtime<'_> {
    /// Returns the outcome of the run. The failure of an instance gets an explanation from the instance's
    /// output.
    pub(super) fn explained(&self, outcome: &RunOutcome) -> RunOutcome {
        match outcome {
            RunOutcome::Failed(failure) => RunOutcome::Failed(self.with_cause(failure.clone())),
            other => other.clone(),
        }
    }

    /// Returns the command of the instance that failed first.
    pub(super) fn failed_command(&self, outcome: &RunOutcome) -> Option<String> {
        let RunOutcome::Failed(RunFailure { rank: Some(rank), .. }) = outcome else { return None };
        self.ran.get(&self.instance_of(*rank))?.words()
    }

    fn with_cause(&self, mut failure: RunFailure) -> RunFailure {
        let Some(rank) = failure.rank else { return failure };
        let instance = self.instance_of(rank);
        // If the process ended with status 0, its last lines do not explain the failure.
        if matches!(failure.exit, Some(Exit::Status(0) | Exit::Unknown)) && failure.said.is_none() {
            return failure;
        }
        let name = self.name(instance);
        // All instances of a light program share the process of the first one.
        let first = match self.model.light_program(instance.number()) {
            Some(program) => {
                let before = InstanceId::first(instance.index());
                before.into_iter().find(|i| self.model.light_program(i.number()) == Some(program))
            }
            None => None,
        };
        let first = first.unwrap_or(instance);
        let (directory, model) = (self.directory.workdir(&name), self.model_directory().ok());
        let place = FailureContext {
            program: self.ran.get(&first),
            directory: Some(directory.as_path()).filter(|_| self.is_here(instance)),
            component: &self.component(instance),
            model: model.as_deref(),
        };
        if let Some(said) = &mut failure.said {
            if let Some(advice) = advice(said, &place) {
                said.push_str(&format!("; {advice}"));
            }
            return failure;
        }
        let lines = self.directory.last_lines(&self.manager.names().rank(rank), LINES);
        let Some(line) = error_line(&lines) else { return failure };
        let advice = advice(&line, &place);
        // The last line of a process that has registered may have nothing to do with the failure. The user sees
        // this line anyway, with the lines before it.
        if advice.is_none() && !failure.what.text().ends_with("before it had registered") {
            return failure;
        }
        let advice = advice.map_or(String::new(), |advice| format!("; {advice}"));
        failure.what = failure.what.told(|what| format!("{what}: {line}{advice}"));
        failure
    }
}
