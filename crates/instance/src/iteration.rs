//! Numbering of iterations. A path of numbers names an iteration: `[2, 0]` is the first iteration within
//! the third one. A milestone says that an iteration is over. Nothing in this file sends or receives.

use std::fmt;

/// The path of an iteration, with the number of the outermost iteration first. An empty path is the run as
/// a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Iteration(pub Vec<u64>);

impl Iteration {
    /// Returns true if `self` is `outer` or lies within it.
    pub fn is_within(&self, outer: &Iteration) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// Returns the depth to which the iteration is nested.
    pub fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Returns the innermost of some iterations, or `None` if `all` is empty.
///
/// # Errors
/// Returns two iterations if neither of them lies within the other.
pub(crate) fn innermost<'a>(
    all: impl Iterator<Item = &'a Iteration>,
) -> Result<Option<&'a Iteration>, (&'a Iteration, &'a Iteration)> {
    let mut inner: Option<&Iteration> = None;
    for one in all {
        inner = Some(match inner {
            None => one,
            Some(known) if one.is_within(known) => one,
            Some(known) if known.is_within(one) => known,
            Some(known) => return Err((known, one)),
        });
    }
    Ok(inner)
}

/// Counts the iterations of one conduit. Each message belongs to the next iteration; a milestone ends an
/// outer iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counter {
    next: Vec<u64>,
}

impl Counter {
    /// Makes a counter for messages whose iterations are nested to `depth`.
    pub fn new(depth: usize) -> Counter {
        Counter { next: vec![0; depth] }
    }

    /// Returns the iteration of the next message.
    pub fn next(&self) -> Iteration {
        Iteration(self.next.clone())
    }

    /// Makes a counter whose next message belongs to an iteration.
    pub fn from_next(next: Iteration) -> Counter {
        Counter { next: next.0 }
    }

    /// Counts a message, and returns its iteration.
    pub fn message(&mut self) -> Iteration {
        let this = Iteration(self.next.clone());
        if let Some(last) = self.next.last_mut() {
            *last += 1;
        }
        this
    }

    /// Counts a milestone: the messages after it belong to the iteration after `over`.
    ///
    /// # Errors
    /// Returns the current iteration if `over` cannot end now.
    pub fn milestone(&mut self, over: &Iteration) -> Result<(), Iteration> {
        let depth = over.depth();
        if depth == 0 || depth >= self.next.len() || self.next[..depth] != over.0[..] {
            return Err(Iteration(self.next.clone()));
        }
        self.next[depth - 1] += 1;
        self.next[depth..].fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(numbers: &[u64]) -> Iteration {
        Iteration(numbers.to_vec())
    }

    #[test]
    fn an_iteration_lies_in_itself_and_in_those_around_it() {
        assert!(path(&[1, 2, 3]).is_within(&path(&[1, 2])) && path(&[1]).is_within(&path(&[])));
        assert!(path(&[1, 2]).is_within(&path(&[1, 2])));
        assert!(!path(&[1, 2]).is_within(&path(&[0])) && !path(&[1]).is_within(&path(&[1, 2])));
    }

    #[test]
    fn the_innermost_one_is_found_and_strangers_are_named() {
        let all = [path(&[1, 2, 3]), path(&[1]), path(&[1, 2, 3, 4]), path(&[])];
        assert_eq!(innermost(all.iter()), Ok(Some(&all[2])));
        assert_eq!(innermost(all[..0].iter()), Ok(None));
        let apart = [path(&[1]), path(&[2])];
        assert_eq!(innermost(apart.iter()), Err((&apart[0], &apart[1])));
    }

    #[test]
    fn messages_count_up_and_milestones_begin_anew() {
        let mut counter = Counter::new(3);
        assert_eq!(counter.message(), path(&[0, 0, 0]));
        assert_eq!(counter.message(), path(&[0, 0, 1]));
        assert_eq!(counter.milestone(&path(&[0, 0])), Ok(()));
        // The caller may step without sending anything.
        assert_eq!(counter.milestone(&path(&[0, 1])), Ok(()));
        assert_eq!(counter.message(), path(&[0, 2, 0]));
        assert_eq!(counter.milestone(&path(&[0, 2])), Ok(()));
        assert_eq!(counter.milestone(&path(&[0])), Ok(()));
        assert_eq!(counter.message(), path(&[1, 0, 0]));
    }

    #[test]
    fn a_milestone_out_of_step_is_refused_with_what_was_due() {
        let mut counter = Counter::new(2);
        assert_eq!(counter.milestone(&path(&[1])), Err(path(&[0, 0])));
        assert_eq!(counter.milestone(&path(&[0, 0])), Err(path(&[0, 0])), "it is of the messages themselves");
        assert_eq!(counter.milestone(&path(&[])), Err(path(&[0, 0])), "that is the conduit's end");
    }
}
