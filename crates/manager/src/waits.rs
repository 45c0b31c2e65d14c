//! Who waits for whom, and whether anybody can still go on. A knot is a set of instances that all wait for each
//! other: with a full conduit in it the smallest budget may be grown (Parks, 1995); without one it is a deadlock.

use crate::observation::{Observation, Standing};

/// An instance waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub instance: u32,
    /// For the message on this channel, or for room on it.
    pub channel: u32,
    /// For this instance.
    pub on: u32,
    /// Whether it waits for room, and not for a message.
    pub to_send: bool,
    /// For how long, s.
    pub seconds: f64,
}

/// A cycle of waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Knot {
    /// Each waits for the next, the last for the first.
    pub waits: Vec<Wait>,
}

/// All waits of a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waits {
    pub waits: Vec<Wait>,
}

impl Waits {
    /// Collects them. `ends` gives a channel's sending and receiving instance.
    pub fn of(observations: &[Observation], ends: impl Fn(u32) -> Option<(u32, u32)>) -> Waits {
        let mut waits = Vec::new();
        for (i, seen) in observations.iter().enumerate() {
            let (channel, to_send) = match seen.standing {
                Standing::WaitingToReceive(Some(channel)) => (channel, false),
                Standing::WaitingToSend(Some(channel)) => (channel, true),
                _ => continue,
            };
            if let Some((from, to)) = ends(channel) {
                let on = if to_send { to } else { from };
                let seconds = seen.since.unwrap_or(0.0);
                waits.push(Wait { instance: i as u32, channel, on, to_send, seconds });
            }
        }
        Waits { waits }
    }

    /// The first cycle among them, if there is one.
    pub fn knot(&self) -> Option<Knot> {
        let n = self.waits.iter().map(|wait| wait.instance.max(wait.on) as usize + 1).max()?;
        let mut next: Vec<Option<&Wait>> = vec![None; n];
        for wait in &self.waits {
            next[wait.instance as usize] = Some(wait);
        }
        // Every instance waits for one other at most: follow each path once, marked with where it began.
        let mut mark = vec![usize::MAX; n];
        for start in 0..n {
            let mut at = start;
            while mark[at] == usize::MAX {
                mark[at] = start;
                match next[at] {
                    Some(wait) => at = wait.on as usize,
                    None => break,
                }
            }
            if mark[at] == start && next[at].is_some() {
                let mut waits = Vec::new();
                let first = at;
                while let Some(wait) = next[at] {
                    waits.push(wait.clone());
                    at = wait.on as usize;
                    if at == first {
                        return Some(Knot { waits });
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(instance: u32, on: u32) -> Wait {
        Wait { instance, channel: instance, on, to_send: false, seconds: 1.0 }
    }

    #[test]
    fn a_chain_is_no_knot() {
        assert_eq!(Waits { waits: vec![wait(0, 1), wait(1, 2), wait(3, 1)] }.knot(), None);
        assert_eq!(Waits::default().knot(), None);
    }

    #[test]
    fn a_cycle_is_found_behind_a_chain_that_leads_into_it() {
        let waits = Waits { waits: vec![wait(0, 1), wait(1, 2), wait(2, 3), wait(3, 1)] };
        let members: Vec<u32> = waits.knot().unwrap().waits.iter().map(|wait| wait.instance).collect();
        assert_eq!(members, [1, 2, 3]);
    }

    #[test]
    fn one_that_waits_for_itself_is_a_knot() {
        assert_eq!(Waits { waits: vec![wait(5, 5)] }.knot().unwrap().waits.len(), 1);
    }
}
