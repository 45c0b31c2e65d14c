//! An endpoint that serves many instances of one process. The code that runs the instances asks this module
//! which channels have messages, waits for all instances at once, and names the instance for which the
//! endpoint works now. The sends of this endpoint never wait for credit: an instance continues to the end of
//! its step, and runs again only when its conduits have room.

use super::wait::WaitTarget;
use super::{Custodian, Endpoint};
use crate::area::RowTable;
use crate::board::{FOR_CREDIT, FOR_MESSAGES};
use crate::memory::{Mapping, ShmError};

/// Notes for the code that runs the instances.
#[derive(Default)]
pub(super) struct ServedNotes {
    /// Indices of the channels on which messages have arrived, one for each message.
    pub arrived: Vec<u32>,
    /// New budgets of channels that this endpoint does not send on (channels between its instances), with
    /// the channels' numbers in the run.
    pub budgets: Vec<(u32, u64)>,
    /// Channels on which a message has exceeded the budget.
    pub overdrawn: Vec<Overdrawn>,
    /// True if the present wait is `idle`.
    pub idle: bool,
}

/// The reasons for which the endpoint is no longer idle.
#[derive(Debug, Default)]
pub struct Idle {
    /// Indices of the channels on which messages have arrived. An index may appear more than once.
    pub arrived: Vec<u32>,
    /// New budgets of channels between the instances, with the channels' numbers in the run.
    pub budgets: Vec<(u32, u64)>,
    /// The round in which the agent asks the endpoint to look once more (see `StatusPage::confirm`).
    pub look: Option<u64>,
}

/// A channel on which more bytes are under way than its budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdrawn {
    /// Index of the channel.
    pub channel: usize,
    /// Cost of the message that exceeded the budget, bytes. If the budget is smaller, the channel has room
    /// again when at most this many bytes are under way, because one message always fits.
    pub until: u64,
}

/// The credit that a channel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Number of the channel in the run.
    pub channel: u32,
    /// Budget with which the channel would have room, bytes.
    pub budget: u64,
}

impl<C: Custodian> Endpoint<C> {
    /// Makes the endpoint serve as many instances as its area has rows.
    ///
    /// # Errors
    /// The rows cannot be mapped.
    pub fn serve_many(&mut self) -> Result<(), ShmError> {
        let (at, len) = self.layout.rows();
        let rows = RowTable::new(Mapping::writable(&self.area, at, len)?, self.layout)?;
        // The timeline would mix the intervals of many instances, so none is kept.
        (0..self.layout.rows).filter_map(|row| rows.row(row)).for_each(|(page, _)| page.keep_no_timeline());
        self.front.add_rows(rows);
        self.served = Some(Box::default());
        Ok(())
    }

    /// Shows the endpoint's activity on the row of this instance from now on, or for `None` on the
    /// endpoint's own page.
    pub fn show_on(&mut self, row: Option<u32>) {
        self.front.show_on(row);
    }

    /// Returns the rows, if the endpoint serves many instances.
    pub fn rows(&self) -> Option<&RowTable> {
        self.front.rows()
    }

    /// Takes in messages and notices without waiting.
    ///
    /// # Errors
    /// As for `receive`.
    pub fn look_around(&mut self) -> Result<Idle, ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        Ok(self.noted())
    }

    /// Waits until a message has arrived on any channel, one of the channels `full` has room, or the agent
    /// has a new budget or a request to look once more.
    ///
    /// # Errors
    /// As for `receive`.
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

    /// Returns the channels whose budgets were exceeded since the last call.
    pub fn take_overdrawn(&mut self) -> Vec<Overdrawn> {
        self.served.as_mut().map(|served| std::mem::take(&mut served.overdrawn)).unwrap_or_default()
    }

    /// Returns the credit that an overdrawn channel needs, or None if the channel has room again.
    pub fn is_short(&mut self, Overdrawn { channel, until }: Overdrawn) -> Option<Needs> {
        if self.has_credit(channel, 0) {
            return None;
        }
        let out = &self.sends[channel];
        let under_way = out.sent.saturating_sub(out.credited);
        (under_way > until).then_some(Needs { channel: out.id, budget: under_way })
    }

    /// Drops all messages that wait on a channel whose receiver has ended. The sender gets its credit back,
    /// as if the receiver had ended as a process of its own.
    pub fn discard(&mut self, channel: usize) {
        while let Some(message) = self.receives[channel].queue.pop_front() {
            let held = if message.in_slab() { message.header.body_len() } else { 0 };
            drop(message);
            self.return_credit(channel, held);
        }
    }

    /// Returns true if the next message on a channel is the end of the channel, or None if no message waits.
    pub fn next_is_end(&self, channel: usize) -> Option<bool> {
        self.receives[channel].queue.front().map(|message| message.header.is_end())
    }

    /// Returns the number in the run of an incoming channel.
    pub fn number_of_incoming(&self, channel: usize) -> u32 {
        self.receives[channel].id
    }

    /// Answers a request to look once more. Returns true if the code holds views of other endpoints' memory.
    /// Returns None if the endpoint has taken in a message since the last answer, so that the agent must ask
    /// again.
    pub fn looked(&mut self) -> Option<bool> {
        let holding = self.code_holds_views();
        (!std::mem::take(&mut self.stirred)).then_some(holding)
    }
}
