//! The way of messages from instances of other domains to instances of this domain. A message gets a block of
//! the carrier's own slabs as soon as it begins to arrive, so that the socket is read straight into memory that
//! the receiver maps. The message is published when it is whole. The budget of its conduit is not checked
//! again, because the sender has taken the credit already.

use super::credits::MIN_CREDIT_PAUSE_NS;
use super::overlays::decoded;
use super::shared::{body_of, check_length, BODIES};
use super::{from_bytes, CarrierStage, EndpointSide, Logic};
use ligament_catalogue::{fault, Fault};
use ligament_net::{MessageId, Nanos, CONTROL};
use ligament_shm::endpoint::{Loan, RemoteBody};
use ligament_shm::{Custodian, ShmError};
use ligament_wire::control::ChannelInfo;
use ligament_wire::{flags, DomainId, Encoder, HeaderWords, MessageKind, ValueRef, HEADER_BYTES};
use std::collections::VecDeque;

/// Maximum size of a message that fits into a ring's entry: header and body, bytes.
const MAX_SMALL_BYTES: u64 = HEADER_BYTES as u64 + ligament_shm::ring::BODY_BYTES as u64;
/// Number of bytes of a block whose pages are allocated at once. All other work of the carrier waits
/// meanwhile, for about a millisecond. Pages that the kernel has just cleared are still in a cache when the
/// socket is read into them.
pub(super) const PREFAULTED_BYTES: u64 = 4 << 20;
/// Maximum length of a message between agents, bytes.
const MAX_CONTROL_BYTES: u64 = 1 << 30;

/// A channel from an instance of another domain to one of this domain.
pub(super) struct In {
    pub id: u32,
    /// Domain of the sender.
    pub domain: DomainId,
    /// Name of the receiving port, for error messages.
    to: String,
    /// Whole messages that are not published yet.
    pending: VecDeque<PendingPublication>,
    /// The receiver's credit at the last report; `EVERYTHING` once the receiver has ended.
    pub told: u64,
    /// Cost of the most expensive message so far, bytes.
    pub largest: u64,
}

impl In {
    pub fn new(channel: &ChannelInfo, domain: DomainId) -> In {
        let (id, to) = (channel.id, channel.peer_port.clone());
        In { id, domain, to, pending: VecDeque::new(), told: 0, largest: 0 }
    }
}

/// A message or an overlay that is to be published.
enum PendingPublication {
    Message {
        header: HeaderWords,
        body: PendingBody,
        /// Number of bytes of the body that were published in pieces.
        at: u64,
    },
    /// A settings overlay, with its number in this domain.
    Overlay { number: u32, parts: u16, body: Vec<u8> },
}

/// The body of a message that is to be published.
enum PendingBody {
    Own(AssemblyMemory),
    /// The message shares this body with messages of other conduits.
    Shared(MessageId),
}

/// A message of which a part has arrived.
pub(super) struct PartialMessage(pub AssemblyMemory);

/// The memory of an arriving message: its header, then its body.
pub(super) enum AssemblyMemory {
    /// A block of a slab.
    Block(Loan),
    /// Private memory of the agent: for small messages, for messages between agents, for messages that arrive
    /// before the carrier is an endpoint, and for messages that get no block.
    Own(Vec<u8>),
    /// No memory: the message is dropped, because it has no receiver.
    Nowhere,
}

impl AssemblyMemory {
    /// Allocates private memory of the agent. Returns None if there is not enough.
    fn own(len: u64) -> Option<AssemblyMemory> {
        let mut bytes = Vec::new();
        let len = usize::try_from(len).ok()?;
        bytes.try_reserve_exact(len).ok()?;
        bytes.resize(len, 0);
        Some(AssemblyMemory::Own(bytes))
    }

    /// Returns the memory for the `len` bytes from `offset` on.
    pub fn at(&mut self, offset: u64, len: usize) -> Option<&mut [u8]> {
        let from = usize::try_from(offset).ok()?;
        let range = from..from.checked_add(len)?;
        match self {
            AssemblyMemory::Block(loan) => loan.bytes_mut().get_mut(range),
            AssemblyMemory::Own(bytes) => bytes.get_mut(range),
            AssemblyMemory::Nowhere => None,
        }
    }

    /// Returns the header if the memory holds a whole one.
    pub fn header(&mut self) -> Option<HeaderWords> {
        let header: &[u8; HEADER_BYTES] = (&*self.at(0, HEADER_BYTES)?).try_into().ok()?;
        Some(from_bytes(header))
    }

    /// Returns the number in the 8 bytes at `offset`.
    pub fn word(&mut self, offset: u64) -> Option<u64> {
        Some(u64::from_le_bytes((&*self.at(offset, 8)?).try_into().ok()?))
    }

    /// Gives up a block, because the endpoint that would publish it is gone.
    pub fn let_go(&mut self) {
        if let AssemblyMemory::Block(_) = self {
            *self = AssemblyMemory::Nowhere;
        }
    }

    pub fn len(&self) -> u64 {
        match self {
            AssemblyMemory::Block(loan) => loan.len() as u64,
            AssemblyMemory::Own(bytes) => bytes.len() as u64,
            AssemblyMemory::Nowhere => 0,
        }
    }

    /// Returns the bytes of a message between agents.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            AssemblyMemory::Own(bytes) => bytes,
            AssemblyMemory::Block(_) | AssemblyMemory::Nowhere => Vec::new(),
        }
    }
}

impl<C: Custodian> Logic<C> {
    /// Returns the memory for a message that begins to arrive.
    ///
    /// # Errors
    /// The other domain sends invalid data.
    pub(super) fn memory_for(
        &mut self,
        domain: DomainId,
        conduit: u32,
        total: u64,
    ) -> Result<AssemblyMemory, Fault> {
        if conduit == CONTROL {
            let too_long = || {
                fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "domain {domain}'s agent says something of {total} bytes, which is too long"
                )
            };
            return (total <= MAX_CONTROL_BYTES)
                .then(|| AssemblyMemory::own(total))
                .flatten()
                .ok_or_else(too_long);
        }
        if total < HEADER_BYTES as u64 {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "domain {domain} sent a message of {total} bytes, less than its header has"
            ));
        }
        let side = match &mut self.stage {
            CarrierStage::Before(_) => match AssemblyMemory::own(total) {
                Some(memory) => return Ok(memory),
                None => {
                    self.fail(fault!(
                        NO_MEMORY_FOR_OTHERS,
                        "there is no memory for {total} bytes from domain {domain}"
                    ));
                    return Ok(AssemblyMemory::Nowhere);
                }
            },
            CarrierStage::After => return Ok(AssemblyMemory::Nowhere),
            CarrierStage::During(side) => side,
        };
        let channel = side.incoming(domain, conduit & !BODIES)?;
        // A shared body may have other receivers. A small message may refer to such a body.
        let alone = conduit & BODIES == 0 && total > MAX_SMALL_BYTES;
        if alone && side.endpoint.has_ended(channel) {
            return Ok(AssemblyMemory::Nowhere);
        }
        let block =
            if total > MAX_SMALL_BYTES { side.endpoint.claim_block(total, PREFAULTED_BYTES) } else { Ok(None) };
        let reason = match block {
            Ok(Some(loan)) => return Ok(AssemblyMemory::Block(loan)),
            Ok(None) => {
                fault!(NO_MEMORY_FOR_OTHERS, "neither the memory for messages nor the agent's own allows it")
            }
            Err(ShmError::OutOfMemory { reason, .. }) => reason,
            Err(error) => {
                self.met(error);
                return Ok(AssemblyMemory::Nowhere);
            }
        };
        if let Some(memory) = AssemblyMemory::own(total) {
            return Ok(memory);
        }
        let to = side.ins[channel].to.clone();
        self.fail(no_memory(&to, total, &reason));
        Ok(AssemblyMemory::Nowhere)
    }

    /// Makes sure that the memory of an arriving message can be written up to `end`.
    pub(super) fn place(&mut self, message: (DomainId, MessageId), end: u64) {
        let Logic { stage: CarrierStage::During(side), incoming, .. } = self else { return };
        let Some(PartialMessage(memory)) = incoming.get_mut(&message) else { return };
        let (total, end) = (memory.len(), end.checked_next_multiple_of(PREFAULTED_BYTES).unwrap_or(end));
        let error = match std::mem::replace(memory, AssemblyMemory::Nowhere) {
            AssemblyMemory::Block(loan) => match side.endpoint.place_more(loan, end as usize) {
                Ok(loan) => return *memory = AssemblyMemory::Block(loan),
                Err(error) => error,
            },
            other => return *memory = other,
        };
        match error {
            ShmError::OutOfMemory { reason, .. } => {
                let to =
                    side.in_of.get(&(message.1.conduit & !BODIES)).map(|&channel| side.ins[channel].to.clone());
                self.fail(no_memory(&to.unwrap_or_default(), total, &reason));
            }
            error => self.met(error),
        }
    }

    /// Handles a whole message. All earlier messages of its conduit have arrived before.
    pub(super) fn arrive(&mut self, domain: DomainId, id: MessageId, memory: AssemblyMemory) {
        let side = match &mut self.stage {
            CarrierStage::Before(early) => return early.push((domain, id, memory)),
            CarrierStage::After => return,
            CarrierStage::During(side) => side,
        };
        let taken = match memory {
            AssemblyMemory::Nowhere => Ok(()),
            memory => side.incoming(domain, id.conduit & !BODIES).and_then(|channel| {
                let shared = id.conduit & BODIES != 0;
                if shared {
                    side.take_body(id, memory)
                } else {
                    side.take(channel, memory)
                }
            }),
        };
        if let Err(what) = taken {
            self.fail(fault!(DOMAIN_SENDS_NONSENSE, "malformed data from another domain of this run: {what}"));
        }
    }

    /// Publishes all messages that can be published now.
    pub(super) fn publish_all(&mut self, now: Nanos) {
        let CarrierStage::During(side) = &mut self.stage else { return };
        let waiting: Vec<usize> = side.pending.iter().copied().collect();
        for channel in waiting {
            match side.publish(channel) {
                Ok(true) => {
                    side.live.insert(channel);
                    // Receivers may soon read some of these messages, and return their credit.
                    self.pause = MIN_CREDIT_PAUSE_NS;
                    self.look_at = Some(self.look_at.unwrap_or(Nanos::MAX).min(now + MIN_CREDIT_PAUSE_NS));
                }
                Ok(false) => {}
                Err(ShmError::OutOfMemory { bytes, reason }) => {
                    let to = side.ins[channel].to.clone();
                    return self.fail(no_memory(&to, bytes, &reason));
                }
                Err(error) => return self.met(error),
            }
        }
    }
}

fn no_memory(to: &str, bytes: u64, reason: &Fault) -> Fault {
    fault!(
        NO_MEMORY_FOR_OTHERS,
        "there is no memory for a message of {bytes} bytes that came from another domain for {to}: {reason}; \
         lower the budget of its conduit, or raise \"memory:\" under \"ligament:\" in the model"
    )
}

impl<C: Custodian> EndpointSide<C> {
    /// Returns the channel of a conduit from a domain.
    fn incoming(&self, domain: DomainId, conduit: u32) -> Result<usize, Fault> {
        match self.in_of.get(&conduit) {
            Some(&channel) if self.ins[channel].domain == domain => Ok(channel),
            _ => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "domain {domain} sent a message of conduit {conduit}, which does not lead from there to domain \
                 {}",
                self.me
            )),
        }
    }

    /// Adds a whole message to the queue of messages to publish.
    fn take(&mut self, channel: usize, mut memory: AssemblyMemory) -> Result<(), Fault> {
        let shared = body_of(&mut memory)?;
        if let Some(body) = shared {
            self.incoming(self.ins[channel].domain, body.conduit & !BODIES)?;
        }
        if self.endpoint.has_ended(channel) {
            match shared {
                Some(body) => self.reference_ends(body),
                None => self.drop_memory(memory),
            }
            return Ok(());
        }
        let id = self.ins[channel].id;
        let malformed =
            |error: ligament_wire::WireError| fault!(DOMAIN_SENDS_NONSENSE, "conduit {id}: {error}");
        let mut header = memory
            .header()
            .ok_or_else(|| fault!(DOMAIN_SENDS_NONSENSE, "conduit {id}: a message without a header"))?;
        let kind = header.decode().map_err(malformed)?.kind;
        let body_len = memory.len() - HEADER_BYTES as u64;
        if shared.is_none() && header.body_len() != body_len {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "conduit {id}: a body of {body_len} bytes, where {} were said",
                header.body_len()
            ));
        }
        let pending = if kind == MessageKind::Overlay {
            let body = memory.at(HEADER_BYTES as u64, body_len as usize).unwrap_or_default().to_vec();
            let number = self.overlays.learn(channel, header.overlay(), &body);
            self.drop_memory(memory);
            PendingPublication::Overlay { number, parts: header.parts(), body }
        } else {
            let number = self.overlays.number(channel, header.overlay()).ok_or_else(|| {
                fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "conduit {id}: settings overlay {} is named and never came",
                    header.overlay()
                )
            })?;
            header.set_overlay(number);
            let body = shared.map_or(PendingBody::Own(memory), PendingBody::Shared);
            PendingPublication::Message { header, body, at: 0 }
        };
        self.ins[channel].pending.push_back(pending);
        self.pending.insert(channel);
        Ok(())
    }

    fn drop_memory(&mut self, memory: AssemblyMemory) {
        if let AssemblyMemory::Block(loan) = memory {
            self.endpoint.return_loan(loan);
        }
    }

    /// Drops the messages to be published on a channel.
    pub(super) fn drop_pending(&mut self, channel: usize) {
        for pending in std::mem::take(&mut self.ins[channel].pending) {
            match pending {
                PendingPublication::Message { body: PendingBody::Own(memory), .. } => self.drop_memory(memory),
                PendingPublication::Message { body: PendingBody::Shared(id), .. } => self.reference_ends(id),
                PendingPublication::Overlay { .. } => {}
            }
        }
        self.pending.remove(&channel);
    }

    /// Publishes waiting messages of a channel, as far as there is room. Returns true if any were published.
    fn publish(&mut self, channel: usize) -> Result<bool, ShmError> {
        let mut published = false;
        while let Some(next) = self.ins[channel].pending.pop_front() {
            if !self.endpoint.has_room(channel)? {
                self.ins[channel].pending.push_front(next);
                return Ok(published);
            }
            if let Some(rest) = self.publish_one(channel, next)? {
                self.ins[channel].pending.push_front(rest);
                return Ok(published);
            }
            published = true;
        }
        self.pending.remove(&channel);
        Ok(published)
    }

    /// Publishes a message, or a piece of it. Returns the rest if there is no memory for it now, or if its body
    /// has not arrived.
    fn publish_one(
        &mut self,
        channel: usize,
        next: PendingPublication,
    ) -> Result<Option<PendingPublication>, ShmError> {
        let (header, mut body, mut at) = match next {
            PendingPublication::Overlay { number, parts, body } => {
                let value = decoded(parts, &body)?;
                let mut encoder = Encoder::new();
                let plan = encoder
                    .plan(&ValueRef::Owned(&value))
                    .map_err(|error| ShmError::Malformed(error.to_string()))?;
                self.endpoint.announce_overlay(&[channel], number, &plan)?;
                return Ok(None);
            }
            PendingPublication::Message { header, body, at } => (header, body, at),
        };
        let before = self.endpoint.progress(channel).0;
        let whole = match &mut body {
            PendingBody::Own(memory) => self.publish_body(channel, header, memory, &mut at)?,
            &mut PendingBody::Shared(id) => {
                let Some(mut memory) = self.bodies.take_or_wait(id, channel) else {
                    self.pending.remove(&channel);
                    return Ok(Some(PendingPublication::Message { header, body, at }));
                };
                check_length(&header, &memory)?;
                let whole = self.publish_body(channel, header, &mut memory, &mut at)?;
                self.bodies.restore(id, memory);
                whole
            }
        };
        if !whole {
            return Ok(Some(PendingPublication::Message { header, body, at }));
        }
        let cost = self.endpoint.progress(channel).0 - before;
        let into = &mut self.ins[channel];
        into.largest = into.largest.max(cost);
        match body {
            PendingBody::Own(memory) => self.posted(memory),
            PendingBody::Shared(id) => self.reference_ends(id),
        }
        Ok(None)
    }

    /// Publishes a message whose header and body are in `memory`, from byte `at` of the body on. Returns false
    /// if there is no memory for the rest now. The memory may become a block.
    fn publish_body(
        &mut self,
        channel: usize,
        header: HeaderWords,
        memory: &mut AssemblyMemory,
        at: &mut u64,
    ) -> Result<bool, ShmError> {
        let in_slab = header.flags() & flags::PLACED != 0;
        if let AssemblyMemory::Own(bytes) = memory {
            if !in_slab && bytes.len() as u64 <= MAX_SMALL_BYTES {
                self.endpoint.publish(channel, header, RemoteBody::Small(&bytes[HEADER_BYTES..]))?;
                return Ok(true);
            }
            if *at == 0 {
                match self.endpoint.claim_block(bytes.len() as u64, u64::MAX) {
                    Ok(Some(mut loan)) => {
                        loan.bytes_mut().copy_from_slice(bytes);
                        *memory = AssemblyMemory::Block(loan);
                    }
                    Ok(None) | Err(ShmError::OutOfMemory { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        match memory {
            AssemblyMemory::Block(loan) if *at == 0 => {
                self.endpoint.publish(channel, header, RemoteBody::Placed(loan, HEADER_BYTES as u64))?;
                return Ok(true);
            }
            _ => {}
        }
        let body = memory.at(HEADER_BYTES as u64, header.body_len() as usize).unwrap_or_default();
        while *at < body.len() as u64 {
            if !self.endpoint.has_room(channel)? {
                return Ok(false);
            }
            let Some(len) = self.endpoint.publish_piece(channel, header, body, *at)? else { return Ok(false) };
            *at += len;
        }
        Ok(true)
    }
}
