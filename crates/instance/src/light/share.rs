//! The calls of one instance in a process that runs many. Channels to and from other processes have the
//! indices that the endpoint gives them; channels within the process have the indices after those.

use super::hub::Hub;
use crate::loan::Draft;
use ligament_shm::endpoint::{Contiguous, PortTap, Source};
use ligament_shm::steering::Gate;
use ligament_shm::ShmError;
use ligament_wire::control::Request;
use ligament_wire::{decode_array_to, ConduitEnd, EncodingPlan, HeaderWords, Limits, RankId, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Access of one instance to the shared state of its process.
pub(crate) struct Share {
    hub: Arc<Mutex<Hub>>,
    member: u32,
    /// For each overlay number of this instance, the number of the same overlay in the whole process.
    overlays: HashMap<u32, u32>,
    /// True if any instance of the process is tapped.
    tapped: Arc<AtomicBool>,
}

/// Locks the shared state. A poisoned lock is accepted, because no call leaves the state half changed when
/// it panics.
pub(super) fn lock(hub: &Mutex<Hub>) -> MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Share {
    /// Makes the access of a member.
    pub(super) fn new(hub: Arc<Mutex<Hub>>, member: u32) -> Share {
        let tapped = lock(&hub).tapped.clone();
        Share { hub, member, overlays: HashMap::new(), tapped }
    }

    /// Returns true if a client may be watching messages of an instance of this process.
    pub fn is_tapped(&self) -> bool {
        self.tapped.load(Ordering::Relaxed)
    }

    /// Calls `see` for each tap of this instance.
    pub fn each_tap(&self, mut see: impl FnMut(&mut PortTap)) {
        let mut hub = self.hub();
        let own = hub.endpoint.taps().iter_mut().filter(|one| one.tap.member == self.member);
        own.for_each(&mut see);
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        lock(&self.hub)
    }

    /// Returns the header with the overlay's number in the whole process.
    fn renumbered(&self, mut header: HeaderWords) -> HeaderWords {
        if header.overlay() != 0 {
            header.set_overlay(self.overlays.get(&header.overlay()).copied().unwrap_or(0));
        }
        header
    }

    pub fn send(&self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        let header = self.renumbered(header);
        self.hub().send(self.member, to, header, source)
    }

    pub fn receive_to(
        &self,
        channel: usize,
        deadline: Option<u64>,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        match self.hub().receive(channel, header, to) {
            Err(ShmError::NotHere) if deadline.is_some() => Err(ShmError::TimedOut),
            other => other,
        }
    }

    pub fn poll(&self, channel: usize) -> Result<bool, ShmError> {
        Ok(self.next_is_end(channel)?.is_some())
    }

    /// Returns true if the next item on a channel is the channel's end, false if it is a message, and
    /// `None` if the channel is empty.
    pub fn next_is_end(&self, channel: usize) -> Result<Option<bool>, ShmError> {
        self.hub().next_is_end(channel)
    }

    pub fn wait_any(&self, channels: &[usize], deadline: Option<u64>) -> Result<usize, ShmError> {
        for &channel in channels {
            if self.poll(channel)? {
                return Ok(channel);
            }
        }
        Err(if deadline.is_some() { ShmError::TimedOut } else { ShmError::NotHere })
    }

    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        self.hub().overlay(channel, number)
    }

    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        let Some(&number) = self.overlays.get(&number) else { return false };
        let hub = self.hub();
        hub.endpoint.knows_overlay(&hub.far(to), number)
    }

    pub fn announce_overlay(
        &mut self,
        to: &[usize],
        number: u32,
        plan: &EncodingPlan<'_, '_>,
    ) -> Result<(), ShmError> {
        let mut hub = lock(&self.hub);
        let mut body = vec![0; plan.body_len() as usize];
        plan.write_body(&mut body);
        let ours = hub.overlay_number(plan.parts(), body)?;
        let far = hub.far(to);
        hub.endpoint.announce_overlay(&far, ours, plan)?;
        drop(hub);
        self.overlays.insert(number, ours);
        Ok(())
    }

    pub fn send_draft(
        &self,
        to: &[usize],
        header: HeaderWords,
        draft: Draft,
        (head, number): (&[u8], u64),
        body_len: u64,
    ) -> Result<(), ShmError> {
        let header = self.renumbered(header);
        let bytes = draft.into_bytes();
        let mut value = Value::None;
        decode_array_to(1, body_len, head, bytes.clone(), &Limits::default(), &mut value)
            .map_err(|error| ShmError::Malformed(error.to_string()))?;
        let source = Contiguous { head, number, data: &bytes };
        self.hub().send_value(self.member, to, header, || Ok(Some(Box::new(value))), &source)
    }

    pub fn end_channel(&self, channel: usize, ending: ConduitEnd) -> Result<(), ShmError> {
        self.hub().end_channel(channel, ending)
    }

    pub fn count_iteration(&self) {
        if let Some(page) = self.hub().page(self.member) {
            page.count_iteration();
        }
    }

    pub fn steer(&self, gate: Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        self.hub().endpoint.steer(self.member, gate, time)
    }

    pub fn end(&self, failed: bool) {
        // A failure is ignored: if the agent cannot be reached, the run is over anyway.
        let _ = self.hub().endpoint.steers_no_more(self.member);
        self.hub().end_row(self.member, failed);
    }

    /// Sends the agent a request about this instance. `what` gets the instance's number in the run.
    pub fn tell(&self, what: impl FnOnce(Option<RankId>) -> Request) -> Result<(), ShmError> {
        let mut hub = self.hub();
        let number = hub.number(self.member);
        hub.endpoint.custodian().tell(&what(Some(number)))
    }

    pub fn set_interrupt_check(&self, check: Box<dyn Fn() -> bool + Send>) {
        self.hub().endpoint.set_interrupt_check(check);
    }

    pub fn sender_of(&self, channel: usize) -> Option<String> {
        self.hub().sender_of(channel)
    }

    pub fn receiver_of(&self, channel: usize) -> Option<String> {
        self.hub().receiver_of(channel)
    }
}
