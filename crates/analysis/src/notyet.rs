//! Features of yMMSL that a run does not support yet. A model with such a feature is refused, because a run
//! without the feature would give other results. The user may ignore a feature that has no influence on
//! messages; some of those a run can do.

use crate::CheckOptions;
use ligament_catalogue::Code;
use ligament_model::{At, Checkpoints, Configuration, Problem, ResolvedModel, WaitMode};
use std::collections::HashSet;

/// A feature that a run may ignore although the model asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ignorable {
    /// The times at which to save checkpoints. If ignored, no checkpoint is saved.
    Checkpoints,
    /// The checkpoint from which to continue. If ignored, the run begins at the beginning.
    Resume,
    /// The way in which instances wait. It influences only the speed.
    Wait,
    /// A deadlock that the check has found. If ignored, the run goes on until it is in the deadlock.
    Deadlocks,
}

impl Ignorable {
    /// The names of all features, as users write them.
    pub const NAMES: &'static [&'static str] = &["checkpoints", "resume", "wait", "deadlocks"];

    /// Returns the feature with this name.
    pub fn from_name(name: &str) -> Option<Ignorable> {
        Some(match name {
            "checkpoints" => Ignorable::Checkpoints,
            "resume" => Ignorable::Resume,
            "wait" => Ignorable::Wait,
            "deadlocks" => Ignorable::Deadlocks,
            _ => return None,
        })
    }

    /// Returns the name of the feature.
    pub fn name(self) -> &'static str {
        match self {
            Ignorable::Checkpoints => "checkpoints",
            Ignorable::Resume => "resume",
            Ignorable::Wait => "wait",
            Ignorable::Deadlocks => "deadlocks",
        }
    }
}

/// Reports features that the configuration uses outside its models.
pub(crate) fn check_configuration(config: &Configuration, options: &CheckOptions, problems: &mut Vec<Problem>) {
    let mut found = UnsupportedFeatures { options, problems };
    let ligament = &config.ligament;
    if let Some(mode) = ligament.wait.filter(|mode| *mode != WaitMode::Auto) {
        found.ignorable(
            Ignorable::Wait,
            Code::WAIT_NOT_YET,
            &ligament.wait_at,
            format!("instances are to wait by \"{}\", and this version knows only \"auto\" yet", mode.name()),
            "write \"wait: auto\", or leave it out; only the speed depends on it",
        );
    }
}

/// Takes the parts out of a model that the user ignores although a run could do them.
pub(crate) fn leave_out(ignore: &HashSet<Ignorable>, model: &mut ResolvedModel) {
    if ignore.contains(&Ignorable::Checkpoints) {
        model.checkpoints = Checkpoints::default();
    }
    if ignore.contains(&Ignorable::Resume) {
        model.resume.clear();
    }
}

/// Collects the problems of unsupported features.
pub(crate) struct UnsupportedFeatures<'a> {
    pub options: &'a CheckOptions,
    pub problems: &'a mut Vec<Problem>,
}

impl UnsupportedFeatures<'_> {
    /// Reports a feature: as a warning if the user ignores it, otherwise as an error.
    pub fn ignorable(&mut self, what: Ignorable, code: Code, at: &At, message: String, remedy: &str) {
        self.problems.push(if self.options.ignore.contains(&what) {
            Problem::warning(code, at, message, "it is ignored, as you have asked")
        } else {
            let advice = format!("{remedy}, or ignore it with \"--ignore {}\"", what.name());
            Problem::error(code, at, message, advice)
        });
    }
}
