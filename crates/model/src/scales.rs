//! The scales of components, as a model file has them: texts with units. Their values are computed where a
//! model is checked.

use crate::problem::At;

/// A number with a unit, such as `1 ms`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    pub text: String,
    /// The place in the file.
    pub at: At,
}

/// The times and lengths that a component resolves, and the time and size that it covers in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredScales {
    /// The length of a step.
    pub time_step: Option<Scale>,
    /// The time that a pass covers.
    pub total_time: Option<Scale>,
    /// The size of a cell: one size for all directions, or one for each.
    pub space_step: Vec<Scale>,
    /// The size of the whole space: one size for all directions, or one for each.
    pub extent: Vec<Scale>,
    /// The place in the file.
    pub at: At,
}

impl DeclaredScales {
    /// Prefix of the settings that give a component its scales, one setting for each key.
    pub const SETTINGS: &'static str = "scale";
    /// The keys that are allowed below a component's name.
    pub const KEYS: &'static [&'static str] = &["time_step", "total_time", "space_step", "extent"];
    /// Maximum number of directions in space.
    pub const DIRECTIONS: usize = 3;

    /// Returns the given scales, by key.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, &[Scale])> {
        let all = [self.time_step.as_slice(), self.total_time.as_slice(), &self.space_step, &self.extent];
        Self::KEYS.iter().copied().zip(all).filter(|(_, scales)| !scales.is_empty())
    }
}
