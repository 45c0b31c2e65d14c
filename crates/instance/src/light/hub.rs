//! The shared state of all instances of one process: the endpoint that connects them to other processes,
//! the queues between them, and the item for which each instance waits. One thread at a time uses it, and
//! nothing here blocks.

mod outside;

use super::queue::{MessagePool, QueueState, QueuedMessage};
use ligament_shm::endpoint::{Overdrawn, Source};
use ligament_shm::line::AgentLine;
use ligament_shm::own::OwnMemory;
use ligament_shm::status::{now, EndpointActivity, StatusPage};
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::control::{InnerEnd, Light};
use ligament_wire::{decode_body, Bytes, ConduitEnd, HeaderWords, Limits, RankId, Value};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// The item that an instance needs for its next step and that is missing: a message, or room. Channels are
/// given by the indices that instances use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingItem {
    /// A message on a channel on which the instance receives.
    Message(usize),
    /// Room on a channel on which the instance has sent more than the budget.
    Room(Overdrawn),
}

/// The status of one instance of the process.
struct InstanceStatus {
    /// Number of the instance's rank in the run.
    number: RankId,
    name: String,
    /// Index of the instance's list of port names in `port_names`.
    ports: u32,
    lacks: Option<MissingItem>,
    /// Total time for which the instance's functions have run, in ns.
    spent: u64,
    /// True if the instance's status page shows that the instance waits.
    shown: bool,
    over: bool,
    /// Channels on which the instance has sent more than their budgets allow.
    overdrawn: Vec<Overdrawn>,
}

/// The shared state of the instances of a process (its members). Channels to and from other processes have
/// the indices that the endpoint gives them. Channels between members have the indices after those.
pub(super) struct Hub {
    pub endpoint: Endpoint<AgentLine>,
    outgoing: usize,
    incoming: usize,
    /// For each channel from another process, the member that receives on it.
    receivers: Vec<u32>,
    inner: Vec<QueueState>,
    pool: MessagePool,
    members: Vec<InstanceStatus>,
    /// Time at which the instances began, in ns of CLOCK_MONOTONIC.
    began: u64,
    /// Members whose next step may be possible.
    ready: VecDeque<u32>,
    /// Members that wait, or have waited, for room on a channel to another process.
    short: Vec<u32>,
    /// Members that wait and whose status pages do not yet show it.
    unshown: Vec<u32>,
    /// Names of the ports, for texts that people read.
    port_names: Vec<Vec<Arc<str>>>,
    /// Settings overlays. The first one has the number 1.
    overlays: Vec<Arc<Value>>,
    /// Number of each overlay, by the bytes of its body.
    overlay_numbers: HashMap<Vec<u8>, u32>,
    /// True if any of the instances is tapped.
    pub tapped: Arc<AtomicBool>,
}

impl Hub {
    /// Makes the state. `receivers` gives, for each channel from another process, the member that receives
    /// on it.
    pub fn new(
        endpoint: Endpoint<AgentLine>,
        outgoing: usize,
        receivers: Vec<u32>,
        light: &Light,
        port_names: Vec<Vec<Arc<str>>>,
    ) -> Hub {
        let members = light.members.iter().map(|member| InstanceStatus {
            number: member.number,
            name: member.name.clone(),
            ports: member.ports,
            lacks: None,
            spent: 0,
            shown: false,
            over: false,
            overdrawn: Vec::new(),
        });
        let began = now();
        for i in 0..light.members.len() as u32 {
            if let Some((page, _)) = endpoint.rows().and_then(|rows| rows.row(i)) {
                page.start(began);
            }
        }
        Hub {
            endpoint,
            outgoing,
            incoming: receivers.len(),
            receivers,
            inner: light.channels.iter().map(QueueState::new).collect(),
            pool: MessagePool::default(),
            members: members.collect(),
            began,
            ready: (0..light.members.len() as u32).collect(),
            short: Vec::new(),
            unshown: Vec::new(),
            port_names,
            overlays: Vec::new(),
            overlay_numbers: HashMap::new(),
            tapped: Arc::default(),
        }
    }

    /// Returns the number of a member's rank in the run.
    pub fn number(&self, member: u32) -> RankId {
        self.members[member as usize].number
    }

    // --- sending ---

    /// Sends a value for `member` on the channels `to`, whatever their budgets are.
    pub fn send(
        &mut self,
        member: u32,
        to: &[usize],
        header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        self.send_value(member, to, header, || value_of(source), source)
    }

    /// Does the same as `send`. For receivers within the process, `value` is called once to make the value.
    pub fn send_value(
        &mut self,
        member: u32,
        to: &[usize],
        header: HeaderWords,
        value: impl FnOnce() -> Result<Option<Box<Value>>, ShmError>,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        let (near, far) = self.split(to);
        self.check_size(to, source.body_len())?;
        let value = if near > 0 { value()? } else { None };
        // The send to other processes may fail, so it comes first: no receiver has the message then.
        match (near, far) {
            (0, _) => self.send_outside(to, header, source)?,
            (_, Some(far)) => self.send_outside(&far, header, source)?,
            // A message that also goes to other processes is counted by the endpoint.
            (_, None) if header.is_data() => {
                let bytes = source.body_len() * to.len() as u64;
                self.endpoint.status().count_sent(bytes, header.timestamp());
            }
            (_, None) => {}
        }
        if near > 0 {
            self.send_inside(member, to, &header, value, source.body_len())?;
        }
        let overdrawn = self.endpoint.take_overdrawn();
        self.members[member as usize].overdrawn.extend(overdrawn);
        Ok(())
    }

    /// Sends to other processes. If this fails, the channels are not noted as overdrawn.
    fn send_outside(
        &mut self,
        to: &[usize],
        header: HeaderWords,
        source: &impl Source,
    ) -> Result<(), ShmError> {
        let sent = self.endpoint.send(to, header, source);
        if sent.is_err() {
            drop(self.endpoint.take_overdrawn());
        }
        sent
    }

    /// Returns the number of channels in `to` that stay within the process. If `to` also has channels to
    /// other processes, returns them as well.
    fn split(&self, to: &[usize]) -> (usize, Option<Vec<usize>>) {
        let near = to.iter().filter(|&&channel| channel >= self.outgoing).count();
        let both = near > 0 && near < to.len();
        let far = || to.iter().copied().filter(|&channel| channel < self.outgoing).collect();
        (near, both.then(far))
    }

    /// Fails if a message of `bytes` is larger than a channel within the process permits.
    fn check_size(&self, to: &[usize], bytes: u64) -> Result<(), ShmError> {
        let near = to.iter().filter_map(|channel| channel.checked_sub(self.outgoing));
        match near.map(|inner| self.inner[inner].limit).find(|&limit| bytes > limit) {
            Some(limit) => Err(ShmError::TooLarge { bytes, limit }),
            None => Ok(()),
        }
    }

    /// Puts a value into the queues of the channels of `to` that stay within the process.
    fn send_inside(
        &mut self,
        member: u32,
        to: &[usize],
        header: &HeaderWords,
        value: Option<Box<Value>>,
        len: u64,
    ) -> Result<(), ShmError> {
        let header = header.decode().map_err(|error| ShmError::Malformed(error.to_string()))?;
        let mut value = Some(value);
        let outgoing = self.outgoing;
        let mut near = to.iter().copied().filter(|&channel| channel >= outgoing).peekable();
        while let Some(channel) = near.next() {
            let one = match near.peek() {
                Some(_) => value.clone().flatten(),
                None => value.take().flatten(),
            };
            let inner = channel - outgoing;
            if header.kind == ligament_wire::MessageKind::Data {
                self.count(2 * inner, len, header.timestamp);
            }
            if let Some(until) = self.deliver(inner, QueuedMessage::new(&header, one, len)) {
                self.members[member as usize].overdrawn.push(Overdrawn { channel, until });
            }
        }
        Ok(())
    }

    /// Counts a message at one end of a channel within the process. `end` is twice the channel's index,
    /// plus one for the receiving end.
    fn count(&self, end: usize, bytes: u64, time: f64) {
        if let Some(end) = self.endpoint.channel_end(self.outgoing + end) {
            end.count(bytes, time);
        }
    }

    /// Puts a message into a queue within the process, and wakes the receiver if it waits for this message.
    /// Returns the message's cost in bytes if it exceeds the queue's budget.
    fn deliver(&mut self, inner: usize, queued: QueuedMessage) -> Option<u64> {
        let receiver = self.inner[inner].to.member;
        let standing = &self.members[receiver as usize];
        if standing.over {
            return None;
        }
        let awaited = standing.lacks == Some(MissingItem::Message(self.incoming + inner));
        let overdrawn = self.inner[inner].push(&mut self.pool, queued);
        if awaited {
            self.wake(receiver);
        }
        overdrawn
    }

    /// Returns true if a channel still holds more than its budget, so that its sender must wait.
    fn is_overdrawn(&mut self, one: Overdrawn) -> bool {
        let Some(inner) = one.channel.checked_sub(self.outgoing) else {
            return self.endpoint.is_short(one).is_some();
        };
        let channel = &self.inner[inner];
        let over = self.members[channel.to.member as usize].over;
        !over && channel.under_way() > channel.budget.max(one.until)
    }

    /// Ends a channel: the receiver finds the end after the last message.
    pub fn end_channel(&mut self, channel: usize, ending: ConduitEnd) -> Result<(), ShmError> {
        let Some(inner) = channel.checked_sub(self.outgoing) else {
            return self.endpoint.end_channel(channel, ending);
        };
        self.deliver(inner, QueuedMessage::new(&ending.header(), None, 0));
        Ok(())
    }

    // --- receiving ---

    /// Returns true if the next item on a channel is the channel's end, false if it is a message, and
    /// `None` if the channel is empty.
    pub fn next_is_end(&mut self, channel: usize) -> Result<Option<bool>, ShmError> {
        match channel.checked_sub(self.incoming) {
            Some(inner) => Ok(self.inner[inner].next_is_end(&self.pool)),
            None => {
                if self.endpoint.next_is_end(channel).is_none() {
                    self.endpoint.poll(channel)?;
                }
                Ok(self.endpoint.next_is_end(channel))
            }
        }
    }

    /// Receives the next message of a channel. Fails with `NotHere` if there is none.
    pub fn receive(
        &mut self,
        channel: usize,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        let Some(inner) = channel.checked_sub(self.incoming) else {
            return match self.next_is_end(channel)? {
                Some(_) => self.endpoint.receive_to(channel, None, header, to),
                None => Err(ShmError::NotHere),
            };
        };
        let queued = self.inner[inner].pop(&mut self.pool).ok_or(ShmError::NotHere)?;
        *header = queued.header();
        if header.is_data() {
            self.endpoint.status().count_received(queued.len, queued.timestamp);
            self.count(2 * inner + 1, queued.len, queued.timestamp);
        }
        *to = queued.value.map_or(Value::None, |value| *value);
        self.room_came(inner);
        Ok(())
    }

    /// Wakes the sender of a channel within the process if it waits for room and now has enough. Called
    /// after a message was taken from the channel, or after its budget has grown.
    fn room_came(&mut self, inner: usize) {
        let sender = self.inner[inner].from.member;
        let Some(MissingItem::Room(one)) = self.members[sender as usize].lacks else { return };
        if one.channel == self.outgoing + inner && !self.is_overdrawn(one) {
            self.wake(sender);
        }
    }

    /// Returns the sending port of a channel, if the sender is within the process.
    pub fn sender_of(&self, channel: usize) -> Option<String> {
        self.end_name(self.inner.get(channel.checked_sub(self.incoming)?)?.from)
    }

    /// Returns the receiving port of a channel, if the receiver is within the process.
    pub fn receiver_of(&self, channel: usize) -> Option<String> {
        self.end_name(self.inner.get(channel.checked_sub(self.outgoing)?)?.to)
    }

    fn end_name(&self, end: InnerEnd) -> Option<String> {
        let member = &self.members[end.member as usize];
        let port = self.port_names.get(member.ports as usize)?.get(end.port as usize)?;
        Some(match end.slot {
            Some(slot) => format!("{}.{port}[{slot}]", member.name),
            None => format!("{}.{port}", member.name),
        })
    }

    // --- overlays ---

    /// Returns the number that an overlay has in the whole process. The overlay is given by its body.
    pub fn overlay_number(&mut self, parts: u16, body: Vec<u8>) -> Result<u32, ShmError> {
        if let Some(&known) = self.overlay_numbers.get(&body) {
            return Ok(known);
        }
        let value = decode_body(parts, Bytes::from(body.clone()), &Limits::default())
            .map_err(|error| ShmError::Malformed(error.to_string()))?;
        self.overlays.push(Arc::new(value));
        let number = self.overlays.len() as u32;
        self.overlay_numbers.insert(body, number);
        Ok(number)
    }

    /// Returns the channels of `to` that lead to other processes.
    pub fn far(&self, to: &[usize]) -> Vec<usize> {
        to.iter().copied().filter(|&channel| channel < self.outgoing).collect()
    }

    /// Returns the overlay that a message on a channel names by its number.
    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        if channel >= self.incoming {
            self.overlays.get(number.checked_sub(1)? as usize).cloned()
        } else {
            self.endpoint.overlay(channel, number).cloned()
        }
    }

    // --- waiting members and their missing items ---

    /// Takes the next member whose step may be possible.
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// Returns true if no member can go on.
    pub fn is_quiet(&self) -> bool {
        self.ready.is_empty()
    }

    /// Puts a member at the end of the list of members whose step may be possible.
    pub fn again(&mut self, member: u32) {
        self.ready.push_back(member);
    }

    /// Makes `member` the current one: the endpoint shows what is done now on this member's status page.
    pub fn attend(&mut self, member: u32) {
        self.endpoint.show_on(Some(member));
        let standing = &mut self.members[member as usize];
        if std::mem::take(&mut standing.shown) {
            self.endpoint.status().end_wait();
        }
    }

    /// Notes that the functions of a member have run between two times, in ns of CLOCK_MONOTONIC.
    pub fn ran(&mut self, member: u32, from: u64, to: u64) {
        self.members[member as usize].spent += to.saturating_sub(from);
        self.show_waited(member, to);
    }

    /// Writes to a member's status page for how long the member has not run until `now`.
    fn show_waited(&self, member: u32, now: u64) {
        if let Some(page) = self.page(member) {
            let spent = self.members[member as usize].spent;
            page.set_waited(now.saturating_sub(self.began).saturating_sub(spent));
        }
    }

    /// Returns a channel that a member has overdrawn, if there is one.
    pub fn overdrawn(&mut self, member: u32) -> Option<Overdrawn> {
        while let Some(&one) = self.members[member as usize].overdrawn.last() {
            if self.is_overdrawn(one) {
                return Some(one);
            }
            self.members[member as usize].overdrawn.pop();
        }
        None
    }

    /// Notes that a member cannot go on before it gets the missing item.
    pub fn lacks(&mut self, member: u32, lack: MissingItem) {
        self.members[member as usize].lacks = Some(lack);
        self.unshown.push(member);
        if self.far_room(member).is_some() {
            self.short.push(member);
        }
    }

    fn wake(&mut self, member: u32) {
        self.members[member as usize].lacks = None;
        self.ready.push_back(member);
    }

    /// Ends a member. Messages that wait for it on these channels are dropped.
    pub fn retire(&mut self, member: u32, channels: impl Iterator<Item = usize>) {
        self.members[member as usize].over = true;
        for channel in channels {
            let Some(inner) = channel.checked_sub(self.incoming) else {
                self.endpoint.discard(channel);
                continue;
            };
            while self.inner[inner].pop(&mut self.pool).is_some() {}
            self.room_came(inner);
        }
    }

    /// Writes to a member's status page that the member has ended or failed.
    pub fn end_row(&mut self, member: u32, failed: bool) {
        self.members[member as usize].over = true;
        if let Some(page) = self.page(member) {
            page.end(if failed { EndpointActivity::Failed } else { EndpointActivity::Ended }, now());
        }
    }

    /// Returns the status page of a member.
    pub fn page(&self, member: u32) -> Option<&StatusPage> {
        Some(self.endpoint.rows()?.row(member)?.0)
    }
}

/// Copies a source's message into memory of its own, and returns its value.
fn value_of(source: &impl Source) -> Result<Option<Box<Value>>, ShmError> {
    if source.body_len() == 0 {
        return Ok(None);
    }
    let mut body = OwnMemory::new(source.body_len())?;
    source.write_body(body.bytes_mut());
    let value = decode_body(source.parts(), Bytes::from_owner(body), &Limits::default());
    value.map(|value| Some(Box::new(value))).map_err(|error| ShmError::Malformed(error.to_string()))
}
