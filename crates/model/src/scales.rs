//! The scales of components, as a model file has them: texts with units. What they amount to is worked out
//! where a model is checked.

use crate::problem::At;

/// A number with a unit, such as `1 ms`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    pub text: String,
    /// The place in the file.
    pub at: At,
}

/// Which times and lengths a component resolves, and how much of them it covers in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredScales {
    /// The length of a step.
    pub time_step: Option<Scale>,
    /// How much time a pass covers.
    pub total_time: Option<Scale>,
    /// The size of a cell; one for all directions, or one for each.
    pub space_step: Vec<Scale>,
    /// The size of the whole; one for all directions, or one for each.
    pub extent: Vec<Scale>,
    /// The place in the file.
    pub at: At,
}

impl DeclaredScales {
    /// Below this they are settings of their component, each by its key.
    pub const SETTINGS: &'static str = "scale";
    /// The keys that may stand below a component's name.
    pub const KEYS: &'static [&'static str] = &["time_step", "total_time", "space_step", "extent"];
    /// Space has so many directions at most.
    pub const DIRECTIONS: usize = 3;

    /// The given scales, by key.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, &[Scale])> {
        let all = [self.time_step.as_slice(), self.total_time.as_slice(), &self.space_step, &self.extent];
        Self::KEYS.iter().copied().zip(all).filter(|(_, scales)| !scales.is_empty())
    }
}
