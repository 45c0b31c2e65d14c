//! Cuts: which messages belong to a checkpoint. At its save, an endpoint sends a mark on each of its channels.
//! A message that came on a channel before its sender's mark, and is not received at the save, was under way:
//! it belongs to the checkpoint. The resumed sender sends again whatever was received behind the mark, so the
//! resumed receiver drops as many messages. (Chandy and Lamport, ACM TOCS 3(1), 1985, with the difference that
//! a receiver may save later than the mark comes, which is sound because codes repeat what they did.)
//!
//! A mark names its moment, the model time of the checkpoint. A mark of a later moment also says that its
//! sender saves nothing at an earlier one.

use super::arrived::{ArrivedMessage, BodyPlace};
use super::receive::cost;
use super::{Custodian, Endpoint, InChannel};
use crate::memory::ShmError;
use ligament_wire::{Bytes, Header, MessageKind, Value};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Maximum number of marks of a channel that are remembered until this endpoint saves.
const MAX_MARKS: usize = 1024;

/// A message that was under way at a cut.
#[derive(Debug, Clone)]
pub struct MessageUnderWay {
    /// Index of the channel.
    pub channel: usize,
    /// The header without the fields of the ring.
    pub header: Header,
    /// The bytes of the body: the first ones, a number of zeros, and the last ones.
    pub head: Vec<u8>,
    pub zeros: usize,
    pub parts: Bytes,
    /// The overlay that the header names.
    pub overlay: Option<Arc<Value>>,
}

/// The contents of one channel at a cut, for a resumed endpoint.
#[derive(Debug, Clone, Default)]
pub struct ChannelRemainder {
    /// Messages that were under way: header and body.
    pub under_way: Vec<(Header, Bytes, Option<Arc<Value>>)>,
    /// Number of messages to drop.
    pub dropped: u64,
}

/// A cut that is not whole yet.
#[derive(Debug)]
pub(super) struct Cut {
    moment: f64,
    /// Channels whose mark is still to come.
    awaited: BTreeSet<usize>,
    under_way: Vec<MessageUnderWay>,
    /// For each channel: the number of messages that a resumed endpoint drops.
    dropped: Vec<(usize, u64)>,
    /// True if a sender saves nothing at this moment.
    is_void: bool,
}

/// A cut that has ended.
#[derive(Debug)]
pub struct EndedCut {
    /// The moment of the cut: a model time, s.
    pub moment: f64,
    /// `None` if a sender saves nothing at this moment.
    pub contents: Option<CutContents>,
}

/// The contents of a cut.
#[derive(Debug)]
pub struct CutContents {
    /// The messages under way, in the order of each channel. Those that `take_under_way` has returned are not
    /// among them.
    pub under_way: Vec<MessageUnderWay>,
    /// For some channels the number of messages that a resumed endpoint drops.
    pub dropped: Vec<(usize, u64)>,
}

/// The state of a channel that matters for cuts.
#[derive(Debug, Default)]
pub(super) struct ChannelMarks {
    /// Difference between the number of messages for the code and the number of entries of the ring: messages
    /// of a checkpoint count here, and marks and dropped messages do not.
    offset: i64,
    /// Moments of the marks that have come since the last save, with the position of the message behind each.
    /// It is negative if more messages were still to be dropped than had come.
    marks: VecDeque<(f64, i64)>,
    /// Number of messages that are still to be dropped.
    dropped: u64,
    /// Number of messages that were dropped, less those that come from a checkpoint.
    balance: i64,
}

impl InChannel {
    /// Returns the number of messages for the code that have come.
    pub(super) fn position(&self) -> u64 {
        let offset = self.marks.as_ref().map_or(0, |marks| marks.offset);
        self.sequence.saturating_add_signed(offset)
    }

    /// Returns the number of messages that the code has received.
    pub(super) fn received(&self) -> u64 {
        self.position() - self.queue.len() as u64
    }

    /// Returns the number of messages of this run's sender that the code has received, or that were dropped or
    /// are still to be dropped.
    pub(super) fn received_of_sender(&self) -> u64 {
        let (balance, dropped) = self.marks.as_ref().map_or((0, 0), |marks| (marks.balance, marks.dropped));
        self.received().saturating_add_signed(balance) + dropped
    }

    fn marks(&mut self) -> &mut ChannelMarks {
        self.marks.get_or_insert_with(Box::default)
    }

    /// Returns true if messages of this channel are to be dropped.
    fn drops(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.dropped > 0)
    }
}

impl<C: Custodian> Endpoint<C> {
    /// Begins a cut: sends a mark on each channel that has not ended, and notes what is under way. This does
    /// not wait for credit. The caller saves its state before it receives or sends anything else.
    ///
    /// # Errors
    /// As for `send`, except for waits.
    pub fn begin_cut(&mut self, moment: f64) -> Result<(), ShmError> {
        self.hear_agent()?;
        self.take_in()?;
        for channel in 0..self.sends.len() {
            if !self.sends[channel].ended {
                self.send_mark(channel, moment)?;
            }
        }
        let mut cut = Cut {
            moment,
            awaited: BTreeSet::new(),
            under_way: Vec::new(),
            dropped: Vec::new(),
            is_void: false,
        };
        for index in 0..self.receives.len() {
            self.cut_channel(index, &mut cut);
        }
        self.cuts.push(cut);
        self.choose_way();
        Ok(())
    }

    fn send_mark(&mut self, channel: usize, moment: f64) -> Result<(), ShmError> {
        let out = &self.sends[channel];
        let (peer, conduit, sequence) = (out.peer, out.id, out.sequence);
        let header =
            Header { kind: MessageKind::Checkpoint, timestamp: moment, conduit, sequence, ..Header::default() };
        self.write_entry(peer, &header.encode(), 0, None)?;
        let out = &mut self.sends[channel];
        out.sent += cost(0);
        out.sequence += 1;
        out.marks += 1;
        Ok(())
    }

    fn cut_channel(&mut self, index: usize, cut: &mut Cut) {
        let channel = &mut self.receives[index];
        // The end of a channel belongs to no checkpoint: a resumed sender ends it once more.
        let end_waits = channel.queue.back().is_some_and(|message| message.header.is_end());
        let received = channel.received() as i64 - i64::from(channel.ended && !end_waits);
        let waiting = channel.queue.len() as i64 - i64::from(end_waits);
        let ended = channel.ended;
        let marks = &mut channel.marks().marks;
        while marks.front().is_some_and(|&(moment, _)| moment < cut.moment) {
            marks.pop_front();
        }
        let mark = marks.front().copied();
        let behind = match mark {
            Some((moment, at)) if moment == cut.moment => {
                marks.pop_front();
                at
            }
            Some(_) => return cut.is_void = true,
            None => i64::MAX,
        };
        if behind < received {
            return cut.dropped.push((index, (received - behind) as u64));
        }
        if mark.is_none() && !ended {
            cut.awaited.insert(index);
        }
        let under_way = (behind - received).min(waiting);
        for at in 0..under_way as usize {
            let taken = self.taken(index, &self.receives[index].queue[at]);
            cut.under_way.push(taken);
        }
    }

    /// Returns a copy of a message that has come on a channel. Parts in a slab stay where they are.
    fn taken(&self, index: usize, message: &ArrivedMessage) -> MessageUnderWay {
        let (head, zeros, _) = message.body();
        let parts = if message.place == BodyPlace::Nowhere { Bytes::new() } else { message.bytes.clone() };
        let header = message.header.decode().unwrap_or_default().without_carrier();
        let overlay = self.overlay(index, header.overlay).cloned();
        MessageUnderWay { channel: index, header, head: head.to_vec(), zeros, parts, overlay }
    }

    /// Handles a mark that has come on a channel.
    pub(super) fn take_mark(&mut self, index: usize, moment: f64) {
        self.return_credit(index, 0);
        let channel = &mut self.receives[index];
        channel.marks().offset -= 1;
        // The messages that are still to be dropped come behind the mark, and the code has received them in the
        // run before.
        let received_before = channel.marks().dropped;
        let position = channel.position() as i64 - received_before as i64;
        let mut is_new = true;
        for cut in &mut self.cuts {
            if cut.awaited.contains(&index) && cut.moment <= moment {
                cut.awaited.remove(&index);
                cut.is_void |= cut.moment < moment;
                if received_before > 0 {
                    cut.dropped.push((index, received_before));
                }
            }
            is_new &= cut.moment < moment;
        }
        let marks = &mut self.receives[index].marks().marks;
        if is_new {
            // A receiver that saves for a moment whose mark is forgotten finds a later one, and gives up.
            if marks.len() == MAX_MARKS {
                marks.pop_front();
            }
            marks.push_back((moment, position));
        }
    }

    /// Notes a message that has come on a channel and is not in its queue yet. Returns false if the message
    /// is to be dropped.
    pub(super) fn is_kept(&mut self, index: usize, message: &ArrivedMessage) -> bool {
        if self.receives[index].drops() {
            let marks = self.receives[index].marks();
            (marks.dropped, marks.offset) = (marks.dropped - 1, marks.offset - 1);
            marks.balance += 1;
            let held = if message.in_slab() { message.header.body_len() } else { 0 };
            self.return_credit(index, held);
            self.choose_way();
            return false;
        }
        if self.cuts.iter().any(|cut| cut.awaited.contains(&index)) {
            let taken = (!message.header.is_end()).then(|| self.taken(index, message));
            for cut in self.cuts.iter_mut().filter(|cut| cut.awaited.contains(&index)) {
                match &taken {
                    Some(taken) => cut.under_way.push(taken.clone()),
                    // The sender has ended without a save.
                    None => drop(cut.awaited.remove(&index)),
                }
            }
        }
        true
    }

    /// Takes in what has come, and returns the cuts that have ended since the last call.
    ///
    /// # Errors
    /// As for `poll`.
    pub fn ended_cuts(&mut self) -> Result<Vec<EndedCut>, ShmError> {
        if self.cuts.is_empty() {
            return Ok(Vec::new());
        }
        self.hear_agent()?;
        self.take_in()?;
        Ok(self.end_cuts(false))
    }

    /// Takes the messages that were under way at cuts that are still open, with the moments of the cuts. They
    /// hold blocks of their senders' memory. A sender that waits for memory does not come to its mark, so the
    /// caller must write and drop the messages as they come.
    pub fn take_under_way(&mut self) -> Vec<(f64, Vec<MessageUnderWay>)> {
        let open = self.cuts.iter_mut().filter(|cut| !cut.under_way.is_empty());
        open.map(|cut| (cut.moment, std::mem::take(&mut cut.under_way))).collect()
    }

    /// Returns all cuts, also those whose marks have not all come: the endpoint receives nothing more.
    pub fn end_all_cuts(&mut self) -> Vec<EndedCut> {
        self.end_cuts(true)
    }

    fn end_cuts(&mut self, all: bool) -> Vec<EndedCut> {
        let cuts = std::mem::take(&mut self.cuts);
        let (ended, open): (Vec<Cut>, Vec<Cut>) =
            cuts.into_iter().partition(|cut| all || cut.is_void || cut.awaited.is_empty());
        self.cuts = open;
        self.choose_way();
        let ended = ended.into_iter().map(|cut| EndedCut {
            moment: cut.moment,
            contents: (!cut.is_void).then_some(CutContents { under_way: cut.under_way, dropped: cut.dropped }),
        });
        ended.collect()
    }

    /// Gives up the cut at a moment, so that it ends without contents.
    pub fn void_cut(&mut self, moment: f64) {
        self.cuts.iter_mut().filter(|cut| cut.moment == moment).for_each(|cut| cut.is_void = true);
    }

    /// Forgets the cut at a moment.
    pub fn give_up_cut(&mut self, moment: f64) {
        self.cuts.retain(|cut| cut.moment != moment);
        self.choose_way();
    }

    /// Gives a channel what was under way on it at a cut. This must be called before anything is received.
    pub fn restore_channel(&mut self, index: usize, remainder: ChannelRemainder) {
        let peer = self.receives[index].peer;
        for (mut header, body, overlay) in remainder.under_way {
            if let Some(overlay) = overlay {
                // The sender counts its overlays from 1 on, so numbers from the top are free.
                header.overlay = u32::MAX - self.inn[peer].overlays.len() as u32;
                self.inn[peer].overlays.insert(header.overlay, overlay);
            }
            let mut message = ArrivedMessage::empty();
            (message.header, message.place, message.bytes) = (header.into(), BodyPlace::Restored, body);
            let channel = &mut self.receives[index];
            channel.marks().offset += 1;
            channel.marks().balance -= 1;
            channel.queue.push_back(message);
        }
        self.receives[index].marks().dropped = remainder.dropped;
        self.choose_way();
    }

    /// Sends all messages the general way as long as the short way would miss something.
    fn choose_way(&mut self) {
        let special = !self.cuts.is_empty() || self.receives.iter().any(InChannel::drops);
        self.generally = self.always_generally || special;
    }
}
