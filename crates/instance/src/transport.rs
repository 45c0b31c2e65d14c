//! The transport of an instance's messages: either an endpoint of its own, or its share of the endpoint of
//! a process that runs many instances. An endpoint of its own may be recorded, or replaced by a recording.

use crate::light::Share;
use crate::loan::{Draft, Loan, LoanMemory, MAX_DRAFT_BYTES};
use crate::record::{Recorded, Replayed};
use ligament_shm::endpoint::{Contiguous, PortTap, Source};
use ligament_shm::line::AgentLine;
use ligament_shm::steering::Gate;
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::control::{Request, SteerableSetting};
use ligament_wire::{ConduitEnd, EncodingPlan, HeaderWords, Value};
use std::any::Any;
use std::sync::Arc;

/// Time at which waiting ends, in ns of CLOCK_MONOTONIC.
type Deadline = Option<u64>;

/// The transport. Channels are given by the indices that `Endpoint` or `Share` uses.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Transport {
    Own(Endpoint<AgentLine>),
    Shared(Share),
    Recorded(Box<Recorded>),
    Replayed(Box<Replayed>),
}

impl Transport {
    /// As `Endpoint::keeps_busy`. A process with many instances always counts as one core.
    pub fn keeps_busy(&mut self, cores: u32) {
        match self {
            Transport::Own(endpoint) => endpoint.keeps_busy(cores),
            Transport::Recorded(recorded) => recorded.endpoint.keeps_busy(cores),
            Transport::Shared(_) | Transport::Replayed(_) => {}
        }
    }

    /// As `Endpoint::send`.
    #[inline(always)]
    pub fn send(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.send(to, header, source),
            Transport::Shared(share) => share.send(to, header, source),
            Transport::Recorded(recorded) => recorded.send(to, header, source),
            Transport::Replayed(replayed) => replayed.send(to, header, source),
        }
    }

    /// As `Endpoint::may_be_tapped`.
    #[inline(always)]
    pub fn may_be_tapped(&self) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.may_be_tapped(),
            Transport::Shared(share) => share.is_tapped(),
            Transport::Recorded(recorded) => recorded.endpoint.may_be_tapped(),
            Transport::Replayed(_) => false,
        }
    }

    /// Reads the agent's calls, if there are any, and calls `see` for each tap of this instance.
    pub fn each_tap(&mut self, see: impl FnMut(&mut PortTap)) {
        match self {
            Transport::Own(endpoint) => endpoint.taps().iter_mut().for_each(see),
            Transport::Shared(share) => share.each_tap(see),
            Transport::Recorded(recorded) => recorded.endpoint.taps().iter_mut().for_each(see),
            Transport::Replayed(_) => {}
        }
    }

    /// As `Endpoint::receive_to`.
    #[inline(always)]
    pub fn receive_to(
        &mut self,
        channel: usize,
        deadline: Deadline,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.receive_to(channel, deadline, header, to),
            Transport::Shared(share) => share.receive_to(channel, deadline, header, to),
            Transport::Recorded(recorded) => recorded.receive_to(channel, deadline, header, to),
            Transport::Replayed(replayed) => replayed.receive_to(channel, header, to),
        }
    }

    /// As `Endpoint::poll`.
    pub fn poll(&mut self, channel: usize) -> Result<bool, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.poll(channel),
            Transport::Shared(share) => share.poll(channel),
            Transport::Recorded(recorded) => recorded.poll(channel),
            Transport::Replayed(replayed) => replayed.poll(channel),
        }
    }

    /// Returns true if the next item on a channel is the channel's end, false if it is a message, and `None` if
    /// the channel is empty.
    pub fn next_is_end(&mut self, channel: usize) -> Result<Option<bool>, ShmError> {
        match self {
            Transport::Own(endpoint) => Ok(endpoint.next_is_end(channel)),
            Transport::Shared(share) => share.next_is_end(channel),
            Transport::Recorded(recorded) => Ok(recorded.next_is_end(channel)),
            Transport::Replayed(replayed) => replayed.next_is_end(channel),
        }
    }

    /// As `Endpoint::wait_any`.
    pub fn wait_any(&mut self, channels: &[usize], deadline: Deadline) -> Result<usize, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.wait_any(channels, deadline),
            Transport::Shared(share) => share.wait_any(channels, deadline),
            Transport::Recorded(recorded) => recorded.wait_any(channels, deadline),
            Transport::Replayed(replayed) => replayed.wait_any(channels),
        }
    }

    /// Returns an overlay that the sender of a channel has announced.
    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        match self {
            Transport::Own(endpoint) => endpoint.overlay(channel, number).cloned(),
            Transport::Shared(share) => share.overlay(channel, number),
            Transport::Recorded(recorded) => recorded.overlay(channel, number),
            Transport::Replayed(replayed) => replayed.overlay(channel, number),
        }
    }

    /// Returns true if the receivers of these channels know an overlay.
    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.knows_overlay(to, number),
            Transport::Shared(share) => share.knows_overlay(to, number),
            Transport::Recorded(recorded) => recorded.knows_overlay(to, number),
            Transport::Replayed(replayed) => replayed.knows_overlay(to, number),
        }
    }

    /// Sends an overlay to the receivers of these channels that do not know it yet.
    pub fn announce_overlay(
        &mut self,
        to: &[usize],
        number: u32,
        plan: &EncodingPlan<'_, '_>,
    ) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.announce_overlay(to, number, plan),
            Transport::Shared(share) => share.announce_overlay(to, number, plan),
            Transport::Recorded(recorded) => recorded.announce_overlay(to, number, plan),
            Transport::Replayed(replayed) => replayed.announce_overlay(to, number, plan),
        }
    }

    /// Returns true if a loan of `len` bytes is a draft that can be used again.
    pub fn drafts(&self, len: u64) -> bool {
        !matches!(self, Transport::Shared(_)) && len <= MAX_DRAFT_BYTES
    }

    /// Returns memory for `len` bytes of elements.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub fn loan(&mut self, len: u64) -> Result<LoanMemory, ShmError> {
        match self {
            Transport::Own(endpoint) if len > MAX_DRAFT_BYTES => endpoint.loan(len).map(LoanMemory::Block),
            Transport::Own(_) => Draft::roomy(len).map(LoanMemory::Draft),
            // This memory is given away with the message, so it is not used again.
            Transport::Shared(_) => Draft::new(len).map(LoanMemory::Draft),
            // A recording needs the message after it was sent, so the message is copied.
            Transport::Recorded(_) | Transport::Replayed(_) => Draft::roomy(len).map(LoanMemory::Draft),
        }
    }

    /// Returns a handle that keeps the memory of a loan allocated, even after the send.
    pub fn loan_pages(&self, loan: &Loan) -> Arc<dyn Any + Send + Sync> {
        match loan.lent() {
            Some(LoanMemory::Block(loan)) => loan.pages(),
            Some(LoanMemory::Draft(draft)) => draft.pages(),
            None => Arc::new(()),
        }
    }

    /// Sends the array in a loan. `head` describes the array, and `body_len` is the length of the whole
    /// body. A draft is copied, and its memory stays in the loan.
    ///
    /// # Errors
    /// As `send`.
    #[inline]
    pub fn send_loan(
        &mut self,
        to: &[usize],
        header: HeaderWords,
        loan: &mut Loan,
        (head, number): (&[u8], u64),
        body_len: u64,
    ) -> Result<(), ShmError> {
        match (self, loan.take()) {
            (Transport::Own(endpoint), Some(LoanMemory::Draft(draft))) => {
                let sent = endpoint.send(to, header, &Contiguous { head, number, data: draft.bytes() });
                loan.fill(LoanMemory::Draft(draft));
                sent
            }
            (Transport::Own(endpoint), Some(LoanMemory::Block(block))) => {
                endpoint.send_loan(to, header, block, (head, number), body_len)
            }
            (Transport::Shared(share), Some(LoanMemory::Draft(draft))) => {
                share.send_draft(to, header, draft, (head, number), body_len)
            }
            (transport, Some(LoanMemory::Draft(draft))) => {
                let sent = transport.send(to, header, &Contiguous { head, number, data: draft.bytes() });
                if draft.bytes().len() as u64 <= MAX_DRAFT_BYTES {
                    loan.fill(LoanMemory::Draft(draft));
                }
                sent
            }
            _ => Err(ShmError::Malformed("a loan of another instance".into())),
        }
    }

    /// Takes a block back without sending it.
    #[inline]
    pub fn return_loan(&mut self, loan: &mut Loan) {
        if let (Transport::Own(endpoint), Some(block)) = (self, loan.take_block()) {
            endpoint.return_loan(block);
        }
    }

    /// As `Endpoint::end_channel`.
    pub fn end_channel(&mut self, channel: usize, ending: ConduitEnd) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.end_channel(channel, ending),
            Transport::Shared(share) => share.end_channel(channel, ending),
            Transport::Recorded(recorded) => recorded.end_channel(channel, ending),
            Transport::Replayed(replayed) => replayed.end_channel(channel, ending),
        }
    }

    /// Counts another pass of the reuse loop on the status page.
    pub fn count_iteration(&self) {
        match self {
            Transport::Own(endpoint) => endpoint.status().count_iteration(),
            Transport::Shared(share) => share.count_iteration(),
            Transport::Recorded(recorded) => recorded.endpoint.status().count_iteration(),
            Transport::Replayed(_) => {}
        }
    }

    /// As `Endpoint::steer`.
    #[inline]
    pub fn steer(&mut self, gate: Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.steer(0, gate, time),
            Transport::Shared(share) => share.steer(gate, time),
            Transport::Recorded(recorded) => recorded.steer(gate, time),
            Transport::Replayed(replayed) => replayed.steer(gate, time),
        }
    }

    /// As `Endpoint::steer_at_once`.
    #[inline]
    pub fn steer_at_once(&mut self, time: f64) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.steer_at_once(0, Gate::Step, time),
            // A recording has all calls of `steer`, those with nothing to do too.
            Transport::Shared(_) | Transport::Recorded(_) | Transport::Replayed(_) => false,
        }
    }

    /// Declares to the agent that a setting can be steered.
    pub fn declares(&mut self, setting: SteerableSetting) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Steerable { setting, of: None }),
            Transport::Shared(share) => share.tell(|of| Request::Steerable { setting, of }),
            Transport::Recorded(recorded) => {
                recorded.endpoint.custodian().tell(&Request::Steerable { setting, of: None })
            }
            Transport::Replayed(_) => Ok(()),
        }
    }

    /// Tells the agent that this instance sends values on a port to which nothing is joined.
    pub fn publishes(&mut self, port: String) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Publishes { port, of: None }),
            Transport::Shared(share) => share.tell(|of| Request::Publishes { port, of }),
            Transport::Recorded(recorded) => {
                recorded.endpoint.custodian().tell(&Request::Publishes { port, of: None })
            }
            Transport::Replayed(_) => Ok(()),
        }
    }

    /// Writes to the status page that the instance has ended or failed.
    pub fn end(&mut self, failed: bool) {
        match self {
            Transport::Own(endpoint) => endpoint.end(failed),
            Transport::Shared(share) => share.end(failed),
            Transport::Recorded(recorded) => recorded.end(failed),
            Transport::Replayed(replayed) => replayed.end(failed),
        }
    }

    /// As `Endpoint::sent_on`, by index. `None` for light components, because messages within a process are
    /// not counted by channel.
    pub fn sent_on(&self) -> Option<Vec<(u32, u64)>> {
        match self {
            Transport::Own(endpoint) => Some(endpoint.sent_on().collect()),
            Transport::Recorded(recorded) => Some(recorded.endpoint.sent_on().collect()),
            Transport::Shared(_) | Transport::Replayed(_) => None,
        }
    }

    /// As `Endpoint::received_from`, by index. `None` for light components.
    pub fn received_from(&self) -> Option<Vec<(u32, u64)>> {
        match self {
            Transport::Own(endpoint) => Some(endpoint.received_from().collect()),
            Transport::Recorded(recorded) => Some(recorded.endpoint.received_from().collect()),
            Transport::Shared(_) | Transport::Replayed(_) => None,
        }
    }

    /// Reports to the agent which settings and channels were used. A process with many instances reports
    /// when all are over.
    pub fn tell_use(
        &mut self,
        asked: Vec<String>,
        sent: Vec<(u32, u64)>,
        received: Vec<(u32, u64)>,
    ) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Used { asked, sent, received }),
            Transport::Recorded(recorded) => {
                recorded.endpoint.custodian().tell(&Request::Used { asked, sent, received })
            }
            Transport::Shared(_) | Transport::Replayed(_) => Ok(()),
        }
    }

    /// Signs off at the agent. A process with many instances signs off when all of them are over.
    pub fn sign_off(&mut self) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Finished),
            Transport::Recorded(recorded) => recorded.endpoint.custodian().tell(&Request::Finished),
            Transport::Shared(_) | Transport::Replayed(_) => Ok(()),
        }
    }

    /// Reports to the agent why the run cannot go on.
    pub fn fail(&mut self, why: &str) -> Result<(), ShmError> {
        let failed = |of| Request::Failed { why: why.to_owned(), of };
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&failed(None)),
            Transport::Recorded(recorded) => recorded.endpoint.custodian().tell(&failed(None)),
            Transport::Replayed(replayed) => {
                replayed.fail(why);
                Ok(())
            }
            Transport::Shared(share) => share.tell(failed),
        }
    }

    /// Writes a line to the run's log.
    pub fn log(&mut self, level: u8, text: &str) -> Result<(), ShmError> {
        let line = |of| Request::Log { level, text: text.to_owned(), of };
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&line(None)),
            Transport::Recorded(recorded) => recorded.endpoint.custodian().tell(&line(None)),
            // The lines of a replay are those of the run that was recorded.
            Transport::Replayed(_) => Ok(()),
            Transport::Shared(share) => share.tell(line),
        }
    }

    /// As `Endpoint::copy_begins`. Light components record no timeline.
    #[inline]
    pub fn copy_begins(&self, bytes: u64) -> u64 {
        match self {
            Transport::Own(endpoint) => endpoint.copy_begins(bytes),
            Transport::Recorded(recorded) => recorded.endpoint.copy_begins(bytes),
            Transport::Shared(_) | Transport::Replayed(_) => 0,
        }
    }

    /// As `Endpoint::copy_ends`.
    pub fn copy_ends(&mut self, channel: usize, began: u64) {
        match self {
            Transport::Own(endpoint) => endpoint.copy_ends(channel, began),
            Transport::Recorded(recorded) => recorded.endpoint.copy_ends(channel, began),
            Transport::Shared(_) | Transport::Replayed(_) => {}
        }
    }

    /// As `Endpoint::set_interrupt_check`.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        match self {
            Transport::Own(endpoint) => endpoint.set_interrupt_check(check),
            Transport::Shared(share) => share.set_interrupt_check(check),
            Transport::Recorded(recorded) => recorded.endpoint.set_interrupt_check(check),
            Transport::Replayed(_) => {}
        }
    }

    /// Returns the port at the other end of a receiving channel, if the table of ports does not hold it.
    pub fn sender_of(&self, channel: usize) -> Option<String> {
        match self {
            Transport::Own(_) | Transport::Recorded(_) | Transport::Replayed(_) => None,
            Transport::Shared(share) => share.sender_of(channel),
        }
    }

    /// Returns the port at the other end of a sending channel, if the table of ports does not hold it.
    pub fn receiver_of(&self, channel: usize) -> Option<String> {
        match self {
            Transport::Own(_) | Transport::Recorded(_) | Transport::Replayed(_) => None,
            Transport::Shared(share) => share.receiver_of(channel),
        }
    }
}
