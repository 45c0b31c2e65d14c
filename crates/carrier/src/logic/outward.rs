//! The way of messages from instances of this domain to instances of other domains. Messages are taken from the
//! rings and passed to paths, which read them from the senders' own slabs. A block is released when the other
//! domain has acknowledged the whole message. Credit is returned when the other domain reports it. The body of
//! a message for several receivers travels once to each of their domains.

use super::overlays::encoded;
use super::shared::{before_body, reference, BODIES};
use super::{to_bytes, CarrierStage, EndpointSide, Logic, EVERYTHING};
use crate::{Paths, Quiet};
use ligament_net::MessageId;
use ligament_shm::endpoint::ArrivedMessage;
use ligament_shm::ring::BODY_BYTES;
use ligament_shm::{Custodian, ShmError};
use ligament_wire::control::ChannelInfo;
use ligament_wire::{DomainId, Header, HeaderWords, MessageKind, HEADER_BYTES, PART_ALIGNMENT_BYTES};
use std::collections::{BTreeMap, HashMap};
use std::io::IoSlice;

/// A channel from an instance of this domain to one of another domain.
pub(super) struct Out {
    id: u32,
    /// Domain of the receiver.
    domain: DomainId,
    /// Total number of bytes that the receiver has received. `EVERYTHING` once the receiver has ended; then all
    /// messages to the receiver are dropped.
    credited: u64,
}

impl Out {
    pub fn new(channel: &ChannelInfo, domain: DomainId) -> Out {
        Out { id: channel.id, domain, credited: 0 }
    }
}

/// Messages with the same body, from one sender, with their channels.
pub(super) type ArrivedGroup = Vec<(usize, Box<ArrivedMessage>)>;

/// A message that is on its way to another domain.
pub(super) enum Shipment {
    /// A message of an instance. Its body lies where the instance wrote it.
    Message { header: [u8; HEADER_BYTES], message: Box<ArrivedMessage> },
    /// A message of the carrier itself, or of the agent.
    Bytes(Vec<u8>),
}

/// The zeros between the head of a body and its first part.
static ZEROS: [u8; PART_ALIGNMENT_BYTES as usize] = [0; PART_ALIGNMENT_BYTES as usize];

impl Shipment {
    fn len(&self) -> u64 {
        match self {
            Shipment::Bytes(bytes) => bytes.len() as u64,
            Shipment::Message { message, .. } => HEADER_BYTES as u64 + message.header.body_len(),
        }
    }

    /// Appends to `into` the slices of the `len` bytes from `offset` on.
    pub fn slices<'a>(&'a self, offset: u64, len: usize, into: &mut Vec<IoSlice<'a>>) {
        let pieces: [&'a [u8]; 4] = match self {
            Shipment::Bytes(bytes) => [bytes, &[], &[], &[]],
            Shipment::Message { header, message } => {
                let (head, zeros, parts) = message.body();
                [header, head, &ZEROS[..zeros], parts]
            }
        };
        let (mut skip, mut left) = (offset as usize, len);
        for piece in pieces {
            let from = skip.min(piece.len());
            let here = left.min(piece.len() - from);
            if here > 0 {
                into.push(IoSlice::new(&piece[from..from + here]));
            }
            skip -= from;
            left -= here;
        }
    }
}

type Shipments = HashMap<(DomainId, MessageId), Shipment>;

/// The way to other domains: the paths, the messages on them, and their count.
struct WayOut<'a> {
    paths: &'a mut dyn Paths,
    outgoing: &'a mut Shipments,
    counts: &'a mut Quiet,
}

impl WayOut<'_> {
    fn send(&mut self, domain: DomainId, conduit: u32, shipment: Shipment) -> MessageId {
        let id = self.paths.send(domain, conduit, shipment.len());
        self.outgoing.insert((domain, id), shipment);
        self.counts.sent += 1;
        id
    }
}

impl<C: Custodian> Logic<C> {
    /// Takes the messages of this domain's instances and passes them to paths.
    pub(super) fn collect(&mut self, paths: &mut dyn Paths) {
        let Logic { stage: CarrierStage::During(side), outgoing, counts, .. } = self else { return };
        if let Err(error) = side.collect(&mut WayOut { paths, outgoing, counts }) {
            self.met(error);
        }
    }

    /// Handles a report of another domain: the number of bytes of a conduit that were received there.
    pub(super) fn heard_credit(&mut self, domain: DomainId, conduit: u32, bytes: u64) {
        let known = self.credits.entry((domain, conduit)).or_default();
        self.counts.credited = self.counts.credited.wrapping_add(bytes.saturating_sub(*known));
        *known = bytes.max(*known);
        self.grant(domain, conduit);
    }

    /// Returns the credit that a domain has last reported for a conduit to the sender in this domain.
    pub(super) fn grant(&mut self, domain: DomainId, conduit: u32) {
        let Some(&bytes) = self.credits.get(&(domain, conduit)) else { return };
        let CarrierStage::During(side) = &mut self.stage else { return };
        let Some(&channel) = side.out_of.get(&conduit) else { return };
        let out = &mut side.outs[channel];
        if out.domain == domain && bytes > out.credited {
            out.credited = bytes;
            side.endpoint.set_credit(channel, bytes);
        }
    }
}

impl<C: Custodian> EndpointSide<C> {
    fn collect(&mut self, way: &mut WayOut<'_>) -> Result<(), ShmError> {
        let mut arrived = std::mem::take(&mut self.arrived);
        let gathered = self.endpoint.gather(&mut arrived);
        for channel in arrived.drain(..) {
            self.take_off(channel as usize, way)?;
        }
        self.arrived = arrived;
        gathered
    }

    /// Takes a message off its ring. Messages with the same body are shipped when all of them are taken off.
    /// If their sender dies before it has written the last of them, the ends of its channels follow.
    fn take_off(&mut self, channel: usize, way: &mut WayOut<'_>) -> Result<(), ShmError> {
        let Some(message) = self.endpoint.take_off(channel) else { return Ok(()) };
        // A small body takes hardly more bytes than a reference to it.
        let more = message.header.is_shared() && message.header.body_len() > BODY_BYTES as u64;
        let sender = self.endpoint.sender(channel);
        let group = match self.groups.remove(&sender) {
            None if !more => return self.ship(channel, message, way),
            Some(mut group) if group.iter().all(|(_, other)| message.has_body_of(other)) => {
                group.push((channel, message));
                group
            }
            before => {
                self.ship_group(before.unwrap_or_default(), way)?;
                vec![(channel, message)]
            }
        };
        if more {
            self.groups.insert(sender, group);
            return Ok(());
        }
        self.ship_group(group, way)
    }

    /// Sends messages with the same body to their receivers: the body once to each domain.
    fn ship_group(&mut self, group: ArrivedGroup, way: &mut WayOut<'_>) -> Result<(), ShmError> {
        let mut by_domain: BTreeMap<DomainId, ArrivedGroup> = BTreeMap::new();
        for (channel, message) in group {
            let Out { domain, credited, .. } = self.outs[channel];
            if credited == EVERYTHING {
                self.released = true;
            } else {
                by_domain.entry(domain).or_default().push((channel, message));
            }
        }
        for (domain, mut messages) in by_domain {
            if messages.len() > 1 {
                self.ship_shared(domain, messages, way)?;
            } else if let Some((channel, message)) = messages.pop() {
                self.ship(channel, message, way)?;
            }
        }
        Ok(())
    }

    /// Sends messages with the same body to receivers of one domain.
    fn ship_shared(
        &mut self,
        domain: DomainId,
        mut messages: ArrivedGroup,
        way: &mut WayOut<'_>,
    ) -> Result<(), ShmError> {
        for (channel, message) in &messages {
            self.ship_overlay(*channel, message, way)?;
        }
        let header = |(channel, message): &(usize, Box<ArrivedMessage>)| {
            (self.outs[*channel].id, message.header_elsewhere())
        };
        let headers: Vec<(u32, HeaderWords)> = messages.iter().map(header).collect();
        // The entry of one receiver holds the block until the body has arrived.
        let (_, message) = messages.swap_remove(0);
        let before = before_body(headers.len() as u64);
        let body = way.send(domain, BODIES + headers[0].0, Shipment::Message { header: before, message });
        for (conduit, header) in headers {
            way.send(domain, conduit, Shipment::Bytes(reference(header, body)));
        }
        self.spoken_to.insert(domain);
        self.released = true;
        Ok(())
    }

    /// Sends a message with its body.
    fn ship(
        &mut self,
        channel: usize,
        message: Box<ArrivedMessage>,
        way: &mut WayOut<'_>,
    ) -> Result<(), ShmError> {
        let Out { id, domain, credited } = self.outs[channel];
        if credited == EVERYTHING {
            self.released = true;
            return Ok(());
        }
        self.ship_overlay(channel, &message, way)?;
        self.spoken_to.insert(domain);
        let header = to_bytes(&message.header_elsewhere());
        way.send(domain, id, Shipment::Message { header, message });
        Ok(())
    }

    /// Sends the settings overlay of a message, unless it was sent on this channel before.
    fn ship_overlay(
        &mut self,
        channel: usize,
        message: &ArrivedMessage,
        way: &mut WayOut<'_>,
    ) -> Result<(), ShmError> {
        let number = message.header.overlay();
        if number != 0 && self.overlays.is_news(channel, number) {
            let Out { id, domain, .. } = self.outs[channel];
            let bytes = self.overlay(channel, id, number)?;
            way.send(domain, id, Shipment::Bytes(bytes));
        }
        Ok(())
    }

    /// Makes the message that carries the settings overlay `number` of a channel's sender to another domain.
    /// It is sent on the same channel, so it arrives before the first message that needs it.
    fn overlay(&self, channel: usize, id: u32, number: u32) -> Result<Vec<u8>, ShmError> {
        let Some(value) = self.endpoint.overlay(channel, number) else {
            return Err(ShmError::Malformed(format!(
                "channel {id} names settings overlay {number}, which never came"
            )));
        };
        let (parts, body) = encoded(value)?;
        let header = Header {
            kind: MessageKind::Overlay,
            conduit: id,
            overlay: number,
            parts,
            body_len: body.len() as u64,
            ..Header::default()
        };
        let mut bytes = to_bytes(&HeaderWords::from(header)).to_vec();
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }
}
