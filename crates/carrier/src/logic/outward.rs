//! The way of messages from instances of this domain to instances of other domains. Messages are taken from the
//! rings and passed to paths, which read them from the senders' own slabs. A block is released when the other
//! domain has acknowledged the whole message. Credit is returned when the other domain reports it.

use super::overlays::encoded;
use super::{to_bytes, CarrierStage, EndpointSide, Logic, EVERYTHING};
use crate::{Paths, Quiet};
use ligament_net::MessageId;
use ligament_shm::endpoint::ArrivedMessage;
use ligament_shm::{Custodian, ShmError};
use ligament_wire::control::ChannelInfo;
use ligament_wire::{DomainId, Header, HeaderWords, MessageKind, HEADER_BYTES, PART_ALIGNMENT_BYTES};
use std::collections::HashMap;
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

impl<C: Custodian> Logic<C> {
    /// Takes the messages of this domain's instances and passes them to paths.
    pub(super) fn collect(&mut self, paths: &mut dyn Paths) {
        let Logic { stage: CarrierStage::During(side), outgoing, counts, .. } = self else { return };
        if let Err(error) = side.collect(paths, outgoing, counts) {
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
    fn collect(
        &mut self,
        paths: &mut dyn Paths,
        outgoing: &mut Shipments,
        counts: &mut Quiet,
    ) -> Result<(), ShmError> {
        let mut arrived = std::mem::take(&mut self.arrived);
        let gathered = self.endpoint.gather(&mut arrived);
        for channel in arrived.drain(..) {
            self.take_off(channel as usize, paths, outgoing, counts)?;
        }
        self.arrived = arrived;
        gathered
    }

    fn take_off(
        &mut self,
        channel: usize,
        paths: &mut dyn Paths,
        outgoing: &mut Shipments,
        counts: &mut Quiet,
    ) -> Result<(), ShmError> {
        let Some(message) = self.endpoint.take_off(channel) else { return Ok(()) };
        let Out { id, domain, credited } = self.outs[channel];
        if credited == EVERYTHING {
            self.released = true;
            return Ok(());
        }
        let number = message.header.overlay();
        if number != 0 && self.overlays.is_news(channel, number) {
            let bytes = self.overlay(channel, id, number)?;
            let sent = paths.send(domain, id, bytes.len() as u64);
            outgoing.insert((domain, sent), Shipment::Bytes(bytes));
            counts.sent += 1;
        }
        let header = message.header_elsewhere();
        self.spoken_to.insert(domain);
        let sent = paths.send(domain, id, HEADER_BYTES as u64 + header.body_len());
        outgoing.insert((domain, sent), Shipment::Message { header: to_bytes(&header), message });
        counts.sent += 1;
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
