//! Instances whose calls are recorded (`ligament run --record`): which they are, and the command of each, by
//! which `ligament replay` starts its program again.

use super::Runtime;
use crate::replay::{RecordedCommand, RECORDINGS_DIRECTORY};
use ligament_agent::RunPlan;
use ligament_catalogue::{fault, Fault};
use ligament_launch::Command;
use ligament_manager::Level;
use ligament_model::ResolvedModel;
use ligament_wire::InstanceId;
use std::collections::BTreeSet;
use std::path::Path;

/// Marks the recorded instances in the plan of a run. `names` are components and instances.
///
/// # Errors
/// The model does not have one of them, or the instance cannot be recorded.
pub(super) fn begin(
    model: &ResolvedModel,
    names: &[String],
    run: &Path,
    plan: &mut RunPlan,
) -> Result<BTreeSet<InstanceId>, Fault> {
    let directory = run.join(RECORDINGS_DIRECTORY);
    let mut recorded = BTreeSet::new();
    for name in names {
        let is_meant = |i: usize| {
            let instance = &model.instances[i];
            instance.name.to_string() == *name
                || model.components[instance.component as usize].name.to_string() == *name
        };
        let meant: Vec<usize> = (0..model.instances.len()).filter(|&i| is_meant(i)).collect();
        if meant.is_empty() {
            let error = crate::check_instance(model, name).err();
            let error = error.unwrap_or_else(|| fault!(INSTANCE_OF_NO_MODEL, "the model has no \"{name}\""));
            return Err(error.told(|error| format!("--record: {error}")));
        }
        for i in meant {
            if model.light_program(i as u32).is_some() {
                return Err(fault!(
                    REPLAY_UNUSABLE,
                    "--record: {} shares its process with other instances (it is light, or comes with \
                     Ligament), and only an instance with a process of its own can be recorded",
                    plan.instances[i].name
                ));
            }
            plan.instances[i].recording = Some(directory.display().to_string());
            recorded.insert(InstanceId::at(i));
        }
    }
    Ok(recorded)
}

pub(super) fn unusable(why: &str) -> Fault {
    fault!(REPLAY_UNUSABLE, "--record: {why}")
}

impl Runtime<'_> {
    /// Writes down the command of a recorded instance, or of one of its ranks. Without it, a replay must be
    /// given the program, so a failure is a warning.
    pub(super) fn note_recorded_command(&mut self, name: &str, command: &Command, is_rank: bool) {
        let written = RecordedCommand::of(command, is_rank)
            .and_then(|recorded| recorded.write(&self.directory.path().join(RECORDINGS_DIRECTORY), name));
        if let Err(fault) = written {
            self.add(Level::Warning, "run", &fault.with_code());
        }
    }
}
