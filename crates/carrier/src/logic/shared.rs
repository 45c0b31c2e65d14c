//! Bodies for several receivers of one domain. If a message for several receivers has its body in a block, the
//! body travels to each domain once, by itself: on conduit `BODIES` + the number of the first receiver's
//! conduit. Each receiver's conduit carries a reference: the message's header, and the identity of the body.
//! The carrier there keeps the body until it has published the message to all these receivers.
//!
//! References and body arrive in any order. So the order within each conduit, and its credit, are as for any
//! other message, and a receiver that is slow or has ended holds up no other receiver.

use super::inward::AssemblyMemory;
use super::{to_bytes, EndpointSide};
use ligament_catalogue::{fault, Fault};
use ligament_net::MessageId;
use ligament_shm::{Custodian, ShmError};
use ligament_wire::{HeaderWords, HEADER_BYTES};
use std::collections::{BTreeSet, HashMap};

/// The number that is added to a conduit's number for the bodies that its messages share with others.
pub(super) const BODIES: u32 = 1 << 31;
/// Length of a reference: a header, and the conduit and number of the body, bytes.
const REFERENCE_BYTES: u64 = HEADER_BYTES as u64 + 16;

/// Returns the reference to a body that a message is sent as.
pub(super) fn reference(mut header: HeaderWords, body: MessageId) -> Vec<u8> {
    header.set_shared(true);
    let mut bytes = to_bytes(&header).to_vec();
    bytes.extend(u64::from(body.conduit).to_le_bytes());
    bytes.extend(body.number.to_le_bytes());
    bytes
}

/// Returns the bytes before a body that this many references name.
pub(super) fn before_body(references: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&references.to_le_bytes());
    bytes
}

/// Returns the identity of the body to which an arrived message refers. Returns None if the message has its own
/// body.
///
/// # Errors
/// The reference is malformed.
pub(super) fn body_of(memory: &mut AssemblyMemory) -> Result<Option<MessageId>, Fault> {
    if !memory.header().is_some_and(|header| header.is_shared()) {
        return Ok(None);
    }
    let whole = memory.len() == REFERENCE_BYTES;
    let conduit = memory.word(HEADER_BYTES as u64).and_then(|conduit| u32::try_from(conduit).ok());
    let number = memory.word(HEADER_BYTES as u64 + 8);
    match (conduit, number) {
        (Some(conduit), Some(number)) if whole => Ok(Some(MessageId { conduit, number })),
        _ => Err(fault!(DOMAIN_SENDS_NONSENSE, "a malformed reference to a body")),
    }
}

/// A body that several messages share, or of which only references have arrived.
#[derive(Default)]
struct SharedBody {
    /// The bytes before the body, and the body, once it has arrived.
    memory: Option<AssemblyMemory>,
    /// Number of references to the body; 0 before it has arrived.
    references: u64,
    /// Number of references that are done with: published, or dropped because their receivers have ended.
    done: u64,
    /// Channels whose next message waits for the body.
    waiting: BTreeSet<usize>,
}

/// All bodies from other domains that are not published to all their receivers.
#[derive(Default)]
pub(super) struct SharedBodies(HashMap<MessageId, SharedBody>);

impl SharedBodies {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the memory of a body for a publication. `restore` must follow. Returns None if the body has
    /// not arrived; the channel then waits for it.
    pub fn take_or_wait(&mut self, id: MessageId, channel: usize) -> Option<AssemblyMemory> {
        let body = self.0.entry(id).or_default();
        let memory = body.memory.take();
        if memory.is_none() {
            body.waiting.insert(channel);
        }
        memory
    }

    /// Puts the memory of a body back after a publication.
    pub fn restore(&mut self, id: MessageId, memory: AssemblyMemory) {
        self.0.entry(id).or_default().memory = Some(memory);
    }
}

impl<C: Custodian> EndpointSide<C> {
    /// Stores a whole body. The channels that wait for it can go on.
    ///
    /// # Errors
    /// The body has no number of references.
    pub(super) fn take_body(&mut self, id: MessageId, mut memory: AssemblyMemory) -> Result<(), Fault> {
        let Some(references) = memory.word(0).filter(|&references| references > 0) else {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "conduit {}: a body to which nothing refers",
                id.conduit
            ));
        };
        let body = self.bodies.0.entry(id).or_default();
        body.references = references;
        body.memory = Some(memory);
        self.pending.extend(std::mem::take(&mut body.waiting));
        self.drop_body_at_end(id);
        Ok(())
    }

    /// Notes that a reference is done with.
    pub(super) fn reference_ends(&mut self, id: MessageId) {
        self.bodies.0.entry(id).or_default().done += 1;
        self.drop_body_at_end(id);
    }

    fn drop_body_at_end(&mut self, id: MessageId) {
        let over = |body: &SharedBody| body.memory.is_some() && body.done >= body.references;
        if self.bodies.0.get(&id).is_some_and(over) {
            let memory = self.bodies.0.remove(&id).and_then(|body| body.memory);
            self.posted(memory.unwrap_or(AssemblyMemory::Nowhere));
        }
    }

    /// Gives up the memory of a message that was published to all its receivers.
    pub(super) fn posted(&mut self, memory: AssemblyMemory) {
        if let AssemblyMemory::Block(loan) = memory {
            self.endpoint.posted(loan);
        }
    }
}

/// Makes sure that a body has the length that a message's header says.
pub(super) fn check_length(header: &HeaderWords, memory: &AssemblyMemory) -> Result<(), ShmError> {
    let (said, found) = (header.body_len(), memory.len().saturating_sub(HEADER_BYTES as u64));
    if said == found {
        return Ok(());
    }
    Err(ShmError::Malformed(format!("a body of {found} bytes came from elsewhere, where {said} were said")))
}
