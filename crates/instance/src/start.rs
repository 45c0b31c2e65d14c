//! The start of a pass of the reuse loop, where timelines matter: messages and milestones on the ports that are
//! received from at the start. Messages that are stale are passed over; milestones are passed on. Nothing here
//! sends or receives.

use crate::iteration::{innermost, Iteration};
use std::collections::BTreeMap;

/// A port and its slot.
pub(crate) type PortSlot = (usize, usize);

/// An item that came at a port's slot.
#[derive(Debug)]
pub(crate) enum StartItem<T> {
    /// A message of an iteration.
    Message(Iteration, T),
    /// An iteration is over.
    Milestone(Iteration),
    /// Nothing will come any more.
    End,
}

impl<T> StartItem<T> {
    fn iteration(&self) -> Option<&Iteration> {
        match self {
            StartItem::Message(iteration, _) | StartItem::Milestone(iteration) => Some(iteration),
            StartItem::End => None,
        }
    }
}

/// The next action.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PassDecision {
    /// All messages of an iteration are there: a pass can begin.
    Pass,
    /// An iteration is over; then look again for what is missing. Whether it is the pass that has just ended.
    Over { iteration: Iteration, own: bool },
    /// There is no pass any more.
    End,
}

/// The items do not belong together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MismatchedStart(pub Iteration, pub Iteration);

/// The items so far.
#[derive(Debug)]
pub(crate) struct Start<T> {
    came: BTreeMap<PortSlot, StartItem<T>>,
    /// The iteration of the pass that runs, or ran last.
    iteration: Option<Iteration>,
    /// True if the last pass has been ended.
    ended: bool,
}

impl<T> Default for Start<T> {
    fn default() -> Start<T> {
        Start { came: BTreeMap::new(), iteration: None, ended: true }
    }
}

impl<T> Start<T> {
    /// The pass that runs is over, if one does. Its own milestone comes first.
    pub fn end_pass(&mut self) -> Option<PassDecision> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        let iteration = self.iteration.clone()?;
        self.came.retain(|_, came| came.iteration() != Some(&iteration));
        Some(match iteration.depth() {
            0 => PassDecision::End,
            _ => PassDecision::Over { iteration, own: true },
        })
    }

    /// Returns true if something is there for a place.
    pub fn has(&self, place: PortSlot) -> bool {
        self.came.contains_key(&place)
    }

    /// The iteration of what is there for a place.
    pub fn iteration_at(&self, place: PortSlot) -> Option<&Iteration> {
        self.came.get(&place)?.iteration()
    }

    /// Returns true if a milestone or the end came at a place.
    pub fn is_over_at(&self, place: PortSlot) -> bool {
        matches!(self.came.get(&place), Some(StartItem::Milestone(_) | StartItem::End))
    }

    /// The message at a place.
    pub fn message(&self, place: PortSlot) -> Option<&T> {
        match self.came.get(&place)? {
            StartItem::Message(_, message) => Some(message),
            StartItem::Milestone(_) | StartItem::End => None,
        }
    }

    /// Notes what came.
    pub fn put(&mut self, place: PortSlot, came: StartItem<T>) {
        self.came.insert(place, came);
    }

    /// The iteration of the pass that runs.
    pub fn iteration(&self) -> Option<&Iteration> {
        self.iteration.as_ref()
    }

    /// The next action, now that there is an item for each slot.
    ///
    /// # Errors
    /// Two iterations that cannot be met by one pass.
    pub fn next(&mut self) -> Result<PassDecision, MismatchedStart> {
        let apart = |(one, other): (&Iteration, &Iteration)| MismatchedStart(one.clone(), other.clone());
        let milestones = self.came.values().filter_map(|came| match came {
            StartItem::Milestone(iteration) => Some(iteration),
            StartItem::Message(..) | StartItem::End => None,
        });
        if let Some(over) = innermost(milestones).map_err(apart)?.cloned() {
            self.came.retain(|_, came| came.iteration() != Some(&over));
            return Ok(PassDecision::Over { iteration: over, own: false });
        }
        if self.came.values().any(|came| matches!(came, StartItem::End)) {
            return Ok(PassDecision::End);
        }
        let all = self.came.values().filter_map(StartItem::iteration);
        let new = innermost(all).map_err(apart)?.cloned().unwrap_or_default();
        if let Some(before) = self.iteration.as_ref().filter(|before| new <= **before) {
            return Err(MismatchedStart(before.clone(), new));
        }
        self.iteration = Some(new);
        self.ended = false;
        Ok(PassDecision::Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: PortSlot = (0, 0);
    const OUTER: PortSlot = (1, 0);

    fn path(numbers: &[u64]) -> Iteration {
        Iteration(numbers.to_vec())
    }

    fn message(numbers: &[u64]) -> StartItem<()> {
        StartItem::Message(path(numbers), ())
    }

    fn over(numbers: &[u64], own: bool) -> PassDecision {
        PassDecision::Over { iteration: path(numbers), own }
    }

    #[test]
    fn a_repeated_message_stays_until_its_iteration_is_over() {
        let mut start = Start::default();
        start.put(INNER, message(&[0, 0]));
        start.put(OUTER, message(&[0]));
        assert_eq!(start.next(), Ok(PassDecision::Pass));
        assert_eq!(start.iteration(), Some(&path(&[0, 0])));
        assert_eq!(start.end_pass(), Some(over(&[0, 0], true)));
        assert!(!start.has(INNER) && start.has(OUTER));
        start.put(INNER, message(&[0, 1]));
        assert_eq!(start.next(), Ok(PassDecision::Pass));
        start.end_pass();
        start.put(INNER, StartItem::Milestone(path(&[0])));
        assert_eq!(start.next(), Ok(over(&[0], false)));
        assert!(!start.has(INNER) && !start.has(OUTER));
    }

    #[test]
    fn what_was_meant_for_an_iteration_without_a_pass_is_passed_over() {
        let mut start: Start<()> = Start::default();
        assert_eq!(start.end_pass(), None);
        start.put(OUTER, message(&[0]));
        start.put(INNER, StartItem::Milestone(path(&[0])));
        assert_eq!(start.next(), Ok(over(&[0], false)));
        start.put(OUTER, message(&[1]));
        start.put(INNER, message(&[1, 0]));
        assert_eq!(start.next(), Ok(PassDecision::Pass));
        assert_eq!(start.iteration(), Some(&path(&[1, 0])));
    }

    #[test]
    fn inner_iterations_are_over_before_outer_ones_and_these_before_the_end() {
        let mut start = Start::default();
        start.put(INNER, StartItem::<()>::Milestone(path(&[3, 1])));
        start.put(OUTER, StartItem::Milestone(path(&[3])));
        start.put((2, 0), StartItem::End);
        assert_eq!(start.next(), Ok(over(&[3, 1], false)));
        start.put(INNER, StartItem::Milestone(path(&[3])));
        assert_eq!(start.next(), Ok(over(&[3], false)));
        start.put(INNER, StartItem::End);
        start.put(OUTER, message(&[4]));
        assert_eq!(start.next(), Ok(PassDecision::End));
    }

    #[test]
    fn a_component_that_nothing_starts_has_one_pass() {
        let mut start: Start<()> = Start::default();
        assert_eq!((start.end_pass(), start.next()), (None, Ok(PassDecision::Pass)));
        assert_eq!(start.iteration(), Some(&path(&[])));
        assert_eq!(start.end_pass(), Some(PassDecision::End));
    }

    #[test]
    fn messages_that_belong_to_no_common_pass_are_named() {
        let mut start = Start::default();
        start.put(INNER, message(&[0, 0]));
        start.put(OUTER, message(&[1]));
        assert_eq!(start.next(), Err(MismatchedStart(path(&[0, 0]), path(&[1]))));
        let mut start = Start::default();
        start.put(INNER, message(&[1]));
        assert_eq!(start.next(), Ok(PassDecision::Pass));
        start.put(INNER, message(&[0]));
        assert_eq!(start.next(), Err(MismatchedStart(path(&[1]), path(&[0]))), "time does not go back");
    }
}
