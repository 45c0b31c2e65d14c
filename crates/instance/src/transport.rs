//! The transport of an instance's messages: either an endpoint of its own, or its share of the endpoint of
//! a process that runs many instances.

use crate::light::Share;
use crate::loan::{Draft, Loan, LoanMemory, MAX_DRAFT_BYTES};
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
}

impl Transport {
    /// As `Endpoint::keeps_busy`. A process with many instances always counts as one core.
    pub fn keeps_busy(&mut self, cores: u32) {
        if let Transport::Own(endpoint) = self {
            endpoint.keeps_busy(cores);
        }
    }

    /// As `Endpoint::send`.
    #[inline(always)]
    pub fn send(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.send(to, header, source),
            Transport::Shared(share) => share.send(to, header, source),
        }
    }

    /// As `Endpoint::may_be_tapped`.
    #[inline(always)]
    pub fn may_be_tapped(&self) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.may_be_tapped(),
            Transport::Shared(share) => share.is_tapped(),
        }
    }

    /// Reads the agent's calls, if there are any, and calls `see` for each tap of this instance.
    pub fn each_tap(&mut self, see: impl FnMut(&mut PortTap)) {
        match self {
            Transport::Own(endpoint) => endpoint.taps().iter_mut().for_each(see),
            Transport::Shared(share) => share.each_tap(see),
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
        }
    }

    /// As `Endpoint::poll`.
    pub fn poll(&mut self, channel: usize) -> Result<bool, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.poll(channel),
            Transport::Shared(share) => share.poll(channel),
        }
    }

    /// Returns true if the next item on a channel is the channel's end, false if it is a message, and `None` if
    /// the channel is empty.
    pub fn next_is_end(&mut self, channel: usize) -> Result<Option<bool>, ShmError> {
        match self {
            Transport::Own(endpoint) => Ok(endpoint.next_is_end(channel)),
            Transport::Shared(share) => share.next_is_end(channel),
        }
    }

    /// As `Endpoint::wait_any`.
    pub fn wait_any(&mut self, channels: &[usize], deadline: Deadline) -> Result<usize, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.wait_any(channels, deadline),
            Transport::Shared(share) => share.wait_any(channels, deadline),
        }
    }

    /// Returns an overlay that the sender of a channel has announced.
    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        match self {
            Transport::Own(endpoint) => endpoint.overlay(channel, number).cloned(),
            Transport::Shared(share) => share.overlay(channel, number),
        }
    }

    /// Returns true if the receivers of these channels know an overlay.
    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.knows_overlay(to, number),
            Transport::Shared(share) => share.knows_overlay(to, number),
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
        }
    }

    /// Returns true if a loan of `len` bytes is a draft that can be used again.
    pub fn drafts(&self, len: u64) -> bool {
        matches!(self, Transport::Own(_)) && len <= MAX_DRAFT_BYTES
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
        }
    }

    /// Counts another pass of the reuse loop on the status page.
    pub fn count_iteration(&self) {
        match self {
            Transport::Own(endpoint) => endpoint.status().count_iteration(),
            Transport::Shared(share) => share.count_iteration(),
        }
    }

    /// As `Endpoint::steer`.
    #[inline]
    pub fn steer(&mut self, gate: Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.steer(0, gate, time),
            Transport::Shared(share) => share.steer(gate, time),
        }
    }

    /// As `Endpoint::steer_at_once`.
    #[inline]
    pub fn steer_at_once(&mut self, time: f64) -> bool {
        match self {
            Transport::Own(endpoint) => endpoint.steer_at_once(0, Gate::Step, time),
            Transport::Shared(_) => false,
        }
    }

    /// Declares to the agent that a setting can be steered.
    pub fn declares(&mut self, setting: SteerableSetting) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Steerable { setting, of: None }),
            Transport::Shared(share) => share.tell(|of| Request::Steerable { setting, of }),
        }
    }

    /// Tells the agent that this instance sends values on a port to which nothing is joined.
    pub fn publishes(&mut self, port: String) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Publishes { port, of: None }),
            Transport::Shared(share) => share.tell(|of| Request::Publishes { port, of }),
        }
    }

    /// Writes to the status page that the instance has ended or failed.
    pub fn end(&mut self, failed: bool) {
        match self {
            Transport::Own(endpoint) => endpoint.end(failed),
            Transport::Shared(share) => share.end(failed),
        }
    }

    /// As `Endpoint::sent_on`, by index. `None` for light components, because messages within a process are
    /// not counted by channel.
    pub fn sent_on(&self) -> Option<Vec<(u32, u64)>> {
        match self {
            Transport::Own(endpoint) => Some(endpoint.sent_on().collect()),
            Transport::Shared(_) => None,
        }
    }

    /// As `Endpoint::received_from`, by index. `None` for light components.
    pub fn received_from(&self) -> Option<Vec<(u32, u64)>> {
        match self {
            Transport::Own(endpoint) => Some(endpoint.received_from().collect()),
            Transport::Shared(_) => None,
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
            Transport::Shared(_) => Ok(()),
        }
    }

    /// Signs off at the agent. A process with many instances signs off when all of them are over.
    pub fn sign_off(&mut self) -> Result<(), ShmError> {
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&Request::Finished),
            Transport::Shared(_) => Ok(()),
        }
    }

    /// Reports to the agent why the run cannot go on.
    pub fn fail(&mut self, why: &str) -> Result<(), ShmError> {
        let failed = |of| Request::Failed { why: why.to_owned(), of };
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&failed(None)),
            Transport::Shared(share) => share.tell(failed),
        }
    }

    /// Writes a line to the run's log.
    pub fn log(&mut self, level: u8, text: &str) -> Result<(), ShmError> {
        let line = |of| Request::Log { level, text: text.to_owned(), of };
        match self {
            Transport::Own(endpoint) => endpoint.custodian().tell(&line(None)),
            Transport::Shared(share) => share.tell(line),
        }
    }

    /// As `Endpoint::copy_begins`. Light components record no timeline.
    #[inline]
    pub fn copy_begins(&self, bytes: u64) -> u64 {
        match self {
            Transport::Own(endpoint) => endpoint.copy_begins(bytes),
            Transport::Shared(_) => 0,
        }
    }

    /// As `Endpoint::copy_ends`.
    pub fn copy_ends(&mut self, channel: usize, began: u64) {
        if let Transport::Own(endpoint) = self {
            endpoint.copy_ends(channel, began);
        }
    }

    /// As `Endpoint::set_interrupt_check`.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        match self {
            Transport::Own(endpoint) => endpoint.set_interrupt_check(check),
            Transport::Shared(share) => share.set_interrupt_check(check),
        }
    }

    /// Returns the port at the other end of a receiving channel, if the table of ports does not hold it.
    pub fn sender_of(&self, channel: usize) -> Option<String> {
        match self {
            Transport::Own(_) => None,
            Transport::Shared(share) => share.sender_of(channel),
        }
    }

    /// Returns the port at the other end of a sending channel, if the table of ports does not hold it.
    pub fn receiver_of(&self, channel: usize) -> Option<String> {
        match self {
            Transport::Own(_) => None,
            Transport::Shared(share) => share.receiver_of(channel),
        }
    }
}
