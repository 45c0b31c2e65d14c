//! The start of a pass of the reuse loop for an instance on timelines: it combines the messages and
//! milestones on all ports that are received from at the start of a pass. Stale messages are dropped, and
//! milestones are passed on. Nothing in this file sends or receives.

use crate::iteration::{innermost, Iteration};
use std::collections::BTreeMap;

/// The indices of a port and its slot.
pub(crate) type PortSlot = (usize, usize);

/// An item that has arrived on a slot.
#[derive(Debug)]
pub(crate) enum StartItem<T> {
    /// A message of an iteration.
    Message(Iteration, T),
    /// The end of an iteration.
    Milestone(Iteration),
    /// The end of the conduit.
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

/// The action that follows from the items.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PassDecision {
    /// Begin a pass, because all messages of an iteration have arrived.
    Pass,
    /// Report the end of an iteration, and then check again for missing items. `own` is true if the
    /// iteration is the pass that has just ended.
    Over { iteration: Iteration, own: bool },
    /// End, because no further pass is possible.
    End,
}

/// An error: two items belong to iterations that do not lie within each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MismatchedStart(pub Iteration, pub Iteration);

/// The items that have arrived for the next pass.
#[derive(Debug)]
pub(crate) struct Start<T> {
    came: BTreeMap<PortSlot, StartItem<T>>,
    /// The iteration of the current pass, or of the last one.
    iteration: Option<Iteration>,
    /// True if the end of the last pass was reported.
    ended: bool,
}

impl<T> Default for Start<T> {
    fn default() -> Start<T> {
        Start { came: BTreeMap::new(), iteration: None, ended: true }
    }
}

impl<T> Start<T> {
    /// Ends the current pass, if there is one, and returns the action for its end. An instance's own
    /// milestone precedes others.
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

    /// Returns the items that have arrived, except for ends of conduits: a resumed sender ends its conduit once
    /// more.
    pub fn arrived(&self) -> impl Iterator<Item = (PortSlot, &StartItem<T>)> {
        let arrived = self.came.iter().map(|(&place, came)| (place, came));
        arrived.filter(|(_, came)| !matches!(came, StartItem::End))
    }

    /// Returns true if the end of the last pass was reported.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Sets the iteration of the current or last pass, as a checkpoint has it.
    pub fn restore_iteration(&mut self, iteration: Option<Iteration>, ended: bool) {
        (self.iteration, self.ended) = (iteration, ended);
    }

    /// Returns true if an item has arrived on a slot.
    pub fn has(&self, place: PortSlot) -> bool {
        self.came.contains_key(&place)
    }

    /// Returns the iteration of the item on a slot.
    pub fn iteration_at(&self, place: PortSlot) -> Option<&Iteration> {
        self.came.get(&place)?.iteration()
    }

    /// Returns true if the item on a slot is a milestone or the end.
    pub fn is_over_at(&self, place: PortSlot) -> bool {
        matches!(self.came.get(&place), Some(StartItem::Milestone(_) | StartItem::End))
    }

    /// Returns the message on a slot.
    pub fn message(&self, place: PortSlot) -> Option<&T> {
        match self.came.get(&place)? {
            StartItem::Message(_, message) => Some(message),
            StartItem::Milestone(_) | StartItem::End => None,
        }
    }

    /// Stores an item that has arrived on a slot.
    pub fn put(&mut self, place: PortSlot, came: StartItem<T>) {
        self.came.insert(place, came);
    }

    /// Returns the iteration of the current pass.
    pub fn iteration(&self) -> Option<&Iteration> {
        self.iteration.as_ref()
    }

    /// Returns the next action. Every slot must have an item.
    ///
    /// # Errors
    /// Two iterations that one pass cannot serve.
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
