//! The part of the hub that deals with other processes: it takes in their messages, waits for them, and
//! shows on the status pages for which item each instance waits.

use super::{Hub, InstanceStatus, MissingItem};
use ligament_shm::endpoint::{Idle, Needs, Overdrawn};
use ligament_shm::status::{now, Awaits};
use ligament_shm::ShmError;
use std::sync::atomic::Ordering;

impl Hub {
    /// Takes in messages and budgets from other processes without waiting. Returns the round in which the
    /// agent asks for another look, if it asks.
    pub fn look_around(&mut self) -> Result<Option<u64>, ShmError> {
        let came = self.endpoint.look_around()?;
        Ok(self.sort(came))
    }

    /// Waits for a message or a budget from another process with which a member may go on, or until the
    /// agent asks for another look. In that case, returns the number of the agent's round.
    pub fn idle(&mut self) -> Result<Option<u64>, ShmError> {
        self.show_waits();
        self.endpoint.show_on(None);
        let full = self.waiting_for_room();
        let came = self.endpoint.idle(&full)?;
        Ok(self.sort(came))
    }

    fn waiting_for_room(&self) -> Vec<Overdrawn> {
        self.short.iter().filter_map(|&member| self.far_room(member)).collect()
    }

    /// Returns the channel to another process on which a member lacks room.
    pub(super) fn far_room(&self, member: u32) -> Option<Overdrawn> {
        match self.members[member as usize].lacks {
            Some(MissingItem::Room(one)) if one.channel < self.outgoing => Some(one),
            _ => None,
        }
    }

    /// Wakes the members for which a message or a budget has arrived.
    fn sort(&mut self, came: Idle) -> Option<u64> {
        self.tapped.store(self.endpoint.is_tapped(), Ordering::Relaxed);
        for channel in came.arrived {
            let member = self.receivers[channel as usize];
            // A message for an instance that has ended is dropped. Otherwise its sender would wait for room
            // for ever.
            if self.members[member as usize].over {
                self.endpoint.discard(channel as usize);
            } else if self.members[member as usize].lacks == Some(MissingItem::Message(channel as usize)) {
                self.wake(member);
            }
        }
        for (id, budget) in came.budgets {
            if let Some(inner) = self.inner.iter().position(|channel| channel.id == id) {
                self.inner[inner].budget = budget;
                self.room_came(inner);
            }
        }
        for member in std::mem::take(&mut self.short) {
            match self.far_room(member) {
                Some(one) if self.is_overdrawn(one) => self.short.push(member),
                Some(_) => self.wake(member),
                None => {}
            }
        }
        came.look
    }

    /// Writes to the status page of each waiting member for which item it waits.
    fn show_waits(&mut self) {
        let began = now();
        for member in std::mem::take(&mut self.unshown) {
            let standing = &self.members[member as usize];
            let (Some(lack), false) = (standing.lacks, standing.shown) else { continue };
            let needs = self.needs(lack);
            self.show_waited(member, began);
            let Some((page, list)) = self.endpoint.rows().and_then(|rows| rows.row(member)) else { continue };
            match lack {
                MissingItem::Message(_) => {
                    let mut channels = std::iter::once(needs.channel);
                    page.begin_wait(Awaits::Message(&mut channels), false, list, began);
                }
                MissingItem::Room(_) => {
                    let Needs { channel, budget } = needs;
                    page.begin_wait(Awaits::Credit { channel, needs: budget }, false, list, began);
                }
            }
            self.members[member as usize].shown = true;
        }
    }

    /// Returns the channel on which the item is missing, by its number in the run, and the budget with
    /// which the channel would not be overdrawn.
    fn needs(&mut self, lack: MissingItem) -> Needs {
        match lack {
            MissingItem::Message(channel) => Needs {
                channel: match channel.checked_sub(self.incoming) {
                    Some(inner) => self.inner[inner].id,
                    None => self.endpoint.number_of_incoming(channel),
                },
                budget: 0,
            },
            MissingItem::Room(one) => match one.channel.checked_sub(self.outgoing) {
                Some(inner) => Needs { channel: self.inner[inner].id, budget: self.inner[inner].under_way() },
                None => self.endpoint.is_short(one).unwrap_or(Needs { channel: u32::MAX, budget: 0 }),
            },
        }
    }

    /// Confirms on the status pages of all waiting members that nothing has arrived since the agent asked
    /// for a look in this round.
    pub fn confirm(&mut self, round: u64) {
        let looked = self.endpoint.looked();
        for member in 0..self.members.len() {
            let InstanceStatus { lacks: Some(lack), shown: true, .. } = self.members[member] else { continue };
            let needs = self.needs(lack).budget;
            let Some(page) = self.page(member as u32) else { continue };
            match looked {
                Some(holding) => page.confirm(round, holding, needs),
                None => page.stir(),
            }
        }
    }
}
