//! An endpoint that serves many instances of one process: whoever runs them asks what has come for which of
//! them, waits for all of them at once, and says for which of them the endpoint works at the moment. Its sends
//! never wait for credit: an instance goes on to the end of its step, and is not run again before its conduits
//! have room.

use super::wait::WaitTarget;
use super::{Custodian, Endpoint};
use crate::area::RowTable;
use crate::board::{FOR_CREDIT, FOR_MESSAGES};
use crate::memory::{Mapping, ShmError};

/// Notes for the process that runs the instances.
#[derive(Default)]
pub(super) struct ServedNotes {
    /// Channels on which something has come, by their indices, each time that something came.
    pub arrived: Vec<u32>,
    /// New budgets of channels that are not the endpoint's own, by their numbers in the run.
    pub budgets: Vec<(u32, u64)>,
    /// Channels whose budgets a message went beyond.
    pub overdrawn: Vec<Overdrawn>,
    /// True if the present wait is `idle`.
    pub idle: bool,
}

/// Why the endpoint is not idle any more.
#[derive(Debug, Default)]
pub struct Idle {
    /// Channels on which something has come, by their indices; one may stand here more than once.
    pub arrived: Vec<u32>,
    /// New budgets of channels between the instances, by their numbers in the run.
    pub budgets: Vec<(u32, u64)>,
    /// The agent asks in this round to look once more (see `StatusPage::confirm`).
    pub look: Option<u64>,
}

/// A channel that has taken more than its budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdrawn {
    /// Its index.
    pub channel: usize,
    /// It goes on when no more than these bytes are under way, or no more than its budget: the cost of the
    /// message that went too far, since one message always fits.
    pub until: u64,
}

/// The lack of a channel without credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The channel's number in the run.
    pub channel: u32,
    /// The budget with which it could go on, bytes.
    pub budget: u64,
}

impl<C: Custodian> Endpoint<C> {
    /// From now on the endpoint serves as many instances as its area has rows.
    ///
    /// # Errors
    /// The rows cannot be mapped.
    pub fn serve_many(&mut self) -> Result<(), ShmError> {
        let (at, len) = self.layout.rows();
        let rows = RowTable::new(Mapping::writable(&self.area, at, len)?, self.layout)?;
        // Intervals of many instances would be told apart by nobody.
        (0..self.layout.rows).filter_map(|row| rows.row(row)).for_each(|(page, _)| page.keep_no_timeline());
        self.front.add_rows(rows);
        self.served = Some(Box::default());
        Ok(())
    }

    /// From now on the endpoint's activity is shown on the row of this instance, or on none.
    pub fn show_on(&mut self, row: Option<u32>) {
        self.front.show_on(row);
    }

    /// The rows.
    pub fn rows(&self) -> Option<&RowTable> {
        self.front.rows()
    }

    /// Takes in news, without waiting.
    ///
    /// # Errors
    /// As `receive`.
    pub fn look_around(&mut self) -> Result<Idle, ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        Ok(self.noted())
    }

    /// Waits until something has come on any channel, one of the channels `full` has room, or the agent wants
    /// something.
    ///
    /// # Errors
    /// As `receive`.
    pub fn idle(&mut self, full: &[Overdrawn]) -> Result<Idle, ShmError> {
        let what = if full.is_empty() { FOR_MESSAGES } else { FOR_CREDIT };
        self.note_idle(true);
        let waited = self.wait_until(WaitTarget::Message(&[]), what, None, |me| {
            let noted = me.served.as_ref().is_some_and(|s| !s.arrived.is_empty() || !s.budgets.is_empty());
            Ok(noted || me.look_again.is_some() || full.iter().any(|&one| me.is_short(one).is_none()))
        });
        self.note_idle(false);
        waited?;
        Ok(self.noted())
    }

    fn note_idle(&mut self, idle: bool) {
        if let Some(served) = &mut self.served {
            served.idle = idle;
        }
    }

    fn noted(&mut self) -> Idle {
        let look = self.look_again.take();
        match &mut self.served {
            Some(served) => Idle {
                arrived: std::mem::take(&mut served.arrived),
                budgets: std::mem::take(&mut served.budgets),
                look,
            },
            None => Idle { look, ..Idle::default() },
        }
    }

    /// Channels that have been overdrawn since this was asked last.
    pub fn take_overdrawn(&mut self) -> Vec<Overdrawn> {
        self.served.as_mut().map(|served| std::mem::take(&mut served.overdrawn)).unwrap_or_default()
    }

    /// Returns true if a channel is still overdrawn, and what it lacks.
    pub fn is_short(&mut self, Overdrawn { channel, until }: Overdrawn) -> Option<Needs> {
        if self.has_credit(channel, 0) {
            return None;
        }
        let out = &self.sends[channel];
        let under_way = out.sent.saturating_sub(out.credited);
        (under_way > until).then_some(Needs { channel: out.id, budget: under_way })
    }

    /// Lets go of all that waits on a channel, whose receiver is over: its sender gets its credit back, as if
    /// the receiver had ended as a process of its own.
    pub fn discard(&mut self, channel: usize) {
        while let Some(message) = self.receives[channel].queue.pop_front() {
            let held = if message.in_slab() { message.header.body_len() } else { 0 };
            drop(message);
            self.return_credit(channel, held);
        }
    }

    /// The kind of message that waits on a channel: whether it is the channel's end; none if nothing is.
    pub fn next_is_end(&self, channel: usize) -> Option<bool> {
        self.receives[channel].queue.front().map(|message| message.header.is_end())
    }

    /// The number in the run of a channel that is received on.
    pub fn number_of_incoming(&self, channel: usize) -> u32 {
        self.receives[channel].id
    }

    /// Answers a request to look once more: whether the code holds views of others' memory; none if something
    /// was taken in since the last answer, so that the agent must ask anew.
    pub fn looked(&mut self) -> Option<bool> {
        let holding = self.code_holds_views();
        (!std::mem::take(&mut self.stirred)).then_some(holding)
    }
}
