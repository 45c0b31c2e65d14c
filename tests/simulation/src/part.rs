//! A simulated instance: it registers, goes through its program on a real endpoint, and ends. It checks each
//! received message against the one that must have been sent.

mod saving;

use crate::cuts::SavedState;
use crate::line::{Line, Pipe};
use crate::script::{By, How, Letter, Manners, Script, Step, MS, US};
use crate::stage::{Actor, ProcessEnd};
use ligament_shm::endpoint::{Contiguous, EmptySource};
use ligament_shm::line::{AgentLine, Identity};
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::control::{ChannelInfo, Request};
use ligament_wire::{
    array_head, ArrayKind, ArrayOrder, ArrayRef, ConduitEnd as EndingOfConduit, DType, Encoder, Header,
    HeaderWords, MessageKind, Value, ValueRef,
};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The progress of an instance, by which two runs of a schedule are compared.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// The agent has accepted its registration.
    pub registered: bool,
    /// It has reported that it is done.
    pub finished: bool,
    /// For each channel of the run: messages sent and received, and if it has ended the channel or received its
    /// end.
    pub channels: Vec<PassedMessages>,
    /// It was told that the run ends, or that the agent is gone.
    pub told: bool,
}

impl Progress {
    /// The state at the start of a run with `channels` channels.
    pub fn of(channels: usize) -> Progress {
        Progress { channels: vec![PassedMessages::default(); channels], ..Progress::default() }
    }
}

/// The traffic of a channel, as seen from one end.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassedMessages {
    pub sent: usize,
    pub received: usize,
    pub end_sent: bool,
    pub end_received: bool,
}

/// The way in which an instance ends by itself.
enum Stop {
    /// It ends as its program says.
    Done,
    /// It exits with this status.
    Exit(i32),
    /// It ends by an error of the library.
    Error(ShmError),
}

impl From<ShmError> for Stop {
    fn from(error: ShmError) -> Stop {
        Stop::Error(error)
    }
}

/// A simulated instance.
pub struct PlayedInstance<'a> {
    actor: Rc<Actor>,
    script: &'a Script,
    manners: Manners,
    /// The step at which the instance fails, if the schedule wants it.
    fails_at: Option<usize>,
    /// The step at which the instance ends early, if the schedule wants it.
    leaves_at: Option<usize>,
    pub progress: Progress,
    endpoint: Option<Endpoint<Line>>,
    sends: Vec<ChannelInfo>,
    receives: Vec<ChannelInfo>,
    /// Received values whose memory the instance still holds: the step at which it drops the value, the
    /// number of the letter, and the value.
    kept: Vec<(usize, u32, Value)>,
    /// The moment of the last checkpoint, and the states at those whose marks have not all come.
    saved: Option<f64>,
    open: Vec<SavedState>,
    /// The changes of settings that the instance has made, by their numbers.
    made: BTreeSet<u64>,
}

/// The content of a letter.
enum LetterContent {
    View(Value),
    Copy(Vec<u8>),
}

/// Element `i` of letter `letter`.
fn element(letter: u32, i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(letter).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn elements(letter: u32, count: u32) -> Vec<u64> {
    (0..count as usize).map(|i| element(letter, i)).collect()
}

fn bytes_of(elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_ne_bytes()).collect()
}

/// Returns the size of a letter's body in bytes.
pub fn body_len(letter: &Letter) -> u64 {
    letter.elements.map_or(0, |count| {
        let shape = [u64::from(count)];
        array_head(DType::UInt64, &shape, ArrayOrder::RowMajor, None, &mut Vec::new()).expect("a plain array")
    })
}

fn is_letter(number: u32, letter: &Letter, value: &Value) -> bool {
    match (letter.elements, value) {
        (None, Value::None) => true,
        (Some(count), Value::Array(array)) => array.as_slice::<u64>().is_some_and(|elements| {
            elements.len() == count as usize
                && elements.iter().enumerate().all(|(i, &found)| found == element(number, i))
        }),
        _ => false,
    }
}

impl<'a> PlayedInstance<'a> {
    /// An instance that has not begun.
    pub fn new(
        actor: Rc<Actor>,
        script: &'a Script,
        fails_at: Option<usize>,
        leaves_at: Option<usize>,
    ) -> PlayedInstance<'a> {
        let progress = Progress::of(script.plan.channels.len());
        PlayedInstance {
            manners: script.manners[actor.me as usize],
            actor,
            script,
            fails_at,
            leaves_at,
            progress,
            endpoint: None,
            sends: Vec::new(),
            receives: Vec::new(),
            kept: Vec::new(),
            saved: None,
            open: Vec::new(),
            made: BTreeSet::new(),
        }
    }

    /// Plays the instance to its end.
    pub fn play(&mut self, identity: &Identity) -> ProcessEnd {
        let status = match self.go_through(identity) {
            Ok(()) | Err(Stop::Done) => 0,
            Err(Stop::Exit(status)) => status,
            Err(Stop::Error(error)) => self.falls_over(error),
        };
        if self.manners.tidies {
            self.kept.clear();
            self.endpoint = None;
        }
        self.actor.pauses(self.manners.lingers);
        ProcessEnd::Status(status)
    }

    fn go_through(&mut self, identity: &Identity) -> Result<(), Stop> {
        self.actor.pauses(self.manners.late);
        self.register(identity)?;
        let script = self.script;
        let first = self.resume();
        for (number, step) in script.programs[self.actor.me as usize].iter().enumerate().skip(first) {
            self.comes_to(number)?;
            self.steer(number)?;
            self.save_if_due(number)?;
            self.take(step, number)?;
            self.check_told();
            self.let_go(number)?;
            self.moves();
        }
        let last = script.programs[self.actor.me as usize].len();
        self.comes_to(last)?;
        if first <= last {
            self.steer(last)?;
            self.save_if_due(last)?;
        }
        self.let_go(usize::MAX)?;
        self.save_end()?;
        self.finish()?;
        Ok(())
    }

    fn register(&mut self, identity: &Identity) -> Result<(), Stop> {
        let pipe = Pipe::connect(self.actor.clone());
        let registered = AgentLine::register_over(pipe, identity, None, "simulation", false);
        let (line, welcome, foundation) = match registered {
            Ok(registered) => registered,
            Err(error) => {
                let words = format!("could not register: {error}");
                return Err(self.excused(&words));
            }
        };
        self.sends = welcome.sends;
        self.receives = welcome.receives;
        let line = Line::new(line, self.actor.clone());
        let mut endpoint = Endpoint::new(foundation, &self.sends, &self.receives, line)?;
        endpoint.set_generally(self.manners.generally);
        if self.manners.interrupted > 0 {
            endpoint.set_interrupt_check(self.actor.signals(self.manners.interrupted));
        }
        self.endpoint = Some(endpoint);
        self.progress.registered = true;
        let me = self.actor.me;
        self.actor.shared().tell(|| format!("part{me} is welcomed"));
        Ok(())
    }

    /// Returns true for an error that only the end of the run excuses.
    fn excused(&mut self, words: &str) -> Stop {
        let me = self.actor.me;
        let mut shared = self.actor.shared();
        shared.tell(|| format!("part{me}: {words}"));
        if !shared.ending && !shared.agent_gone {
            shared.accuse(format!("part{me} {words}"));
        }
        drop(shared);
        self.progress.told = true;
        Stop::Exit(1)
    }

    /// Counts an action that an instance which waits for ever cannot make.
    fn moves(&self) {
        self.actor.shared().moved[self.actor.me as usize] += 1;
    }

    fn endpoint(&mut self) -> &mut Endpoint<Line> {
        self.endpoint.as_mut().expect("it has registered")
    }

    fn comes_to(&mut self, step: usize) -> Result<(), Stop> {
        let me = self.actor.me;
        if self.fails_at == Some(step) {
            self.actor.shared().tell(|| format!("part{me} reports an error"));
            self.endpoint().end(true);
            self.endpoint()
                .custodian()
                .agent
                .tell(&Request::Failed { why: format!("part{me} is unwell"), of: None })?;
            return Err(Stop::Exit(1));
        }
        if self.leaves_at == Some(step) {
            self.actor.shared().tell(|| format!("part{me} leaves early"));
            return Err(Stop::Done);
        }
        Ok(())
    }

    fn take(&mut self, step: &Step, number: usize) -> Result<(), Stop> {
        match step {
            Step::Compute(ns) => self.actor.pauses(ns * self.manners.slowness),
            Step::Send { to, message } => self.send(to, *message)?,
            Step::Receive { channel, how, keep } => {
                self.await_message(*channel, *how)?;
                self.receive(*channel, number + *keep as usize)?;
            }
            Step::ReceiveAny { channels, keep } => {
                let mut left = channels.clone();
                while !left.is_empty() {
                    let indices: Vec<usize> = left.iter().map(|&channel| self.incoming(channel)).collect();
                    let found = self.again(|me| me.endpoint().wait_any(&indices, None))?;
                    self.check_told();
                    let at = indices.iter().position(|&i| i == found).expect("one of those asked for");
                    self.receive(left.remove(at), number + *keep as usize)?;
                }
            }
            Step::Linger { channel, ns } => {
                let index = self.incoming(*channel);
                let deadline = self.actor.shared().clock + ns;
                match self.again(|me| me.endpoint().wait_any(&[index], Some(deadline))) {
                    Err(ShmError::TimedOut) => {
                        self.actor.was_untold();
                    }
                    other => {
                        other?;
                        self.check_told();
                    }
                }
            }
            Step::ReceiveEnd { channel } => {
                let index = self.incoming(*channel);
                let arrived = self.again(|me| me.endpoint().receive(index, None))?;
                if !arrived.header.is_end() {
                    self.accuse(format!("received a message on channel {channel} where its end was due"));
                }
                self.endpoint().recycle(arrived);
                self.progress.channels[*channel as usize].end_received = true;
            }
        }
        Ok(())
    }

    /// Makes a call, and repeats it if a signal interrupted it.
    fn again<T>(&mut self, does: impl Fn(&mut Self) -> Result<T, ShmError>) -> Result<T, ShmError> {
        loop {
            match does(self) {
                Err(ShmError::Interrupted) => {
                    self.actor.was_untold();
                    self.actor.pauses(US);
                }
                other => return other,
            }
        }
    }

    fn incoming(&self, channel: u32) -> usize {
        self.receives.iter().position(|info| info.id == channel).expect("the plan has it")
    }

    fn outgoing(&self, channel: u32) -> usize {
        self.sends.iter().position(|info| info.id == channel).expect("the plan has it")
    }

    fn send(&mut self, to: &[u32], number: u32) -> Result<(), Stop> {
        let letter = self.script.letters[number as usize];
        let indices: Vec<usize> = to.iter().map(|&channel| self.outgoing(channel)).collect();
        let me = self.actor.me;
        self.actor.shared().tell(|| format!("part{me} sends letter {number} ({letter:?}) on {to:?}"));
        let sent = self.again(|me| me.send_letter(&indices, number, letter));
        if let (Err(ShmError::OutOfMemory { .. }), true) = (&sent, self.script.short_of_memory) {
            // The end of a code that cannot go on.
            let why = sent.unwrap_err().to_string();
            self.actor.shared().tell(|| format!("part{me}: {why}"));
            self.endpoint().end(true);
            self.endpoint().custodian().agent.tell(&Request::Failed { why, of: None })?;
            return Err(Stop::Exit(1));
        }
        sent?;
        for &channel in to {
            self.progress.channels[channel as usize].sent += 1;
        }
        self.actor.shared().note(&[1, u64::from(me), u64::from(number)]);
        Ok(())
    }

    fn send_letter(&mut self, to: &[usize], number: u32, letter: Letter) -> Result<(), ShmError> {
        let header = Header { kind: MessageKind::Data, timestamp: f64::from(number), ..Header::default() };
        let header = HeaderWords::from(header);
        let Some(count) = letter.elements else {
            return self.endpoint().send(to, header, &EmptySource);
        };
        let data = elements(number, count);
        let shape = [u64::from(count)];
        if letter.by == By::Value {
            let mut encoder = Encoder::new();
            let value = ValueRef::Array(ArrayRef::from_slice(&data, &shape, ArrayOrder::RowMajor));
            return self.endpoint().send(to, header, &encoder.plan(&value).expect("a plain array"));
        }
        let mut head = Vec::new();
        let len =
            array_head(DType::UInt64, &shape, ArrayOrder::RowMajor, None, &mut head).expect("a plain array");
        let data = bytes_of(&data);
        // The number stands for the head, which follows from the number of elements.
        let number = u64::from(count) + 1;
        if letter.by == By::Elements {
            return self.endpoint().send(to, header, &Contiguous { head: &head, number, data: &data });
        }
        let mut loan = self.endpoint().loan(data.len() as u64)?;
        loan.bytes_mut().copy_from_slice(&data);
        self.endpoint().send_loan(to, header, loan, (&head, number), len)
    }

    /// Waits as the step says, until a receive would return at once; or leaves the wait to the receive.
    fn await_message(&mut self, channel: u32, how: How) -> Result<(), Stop> {
        let index = self.incoming(channel);
        match how {
            How::Forever => {}
            How::InTurns(mut ns) => loop {
                let deadline = self.actor.shared().clock + ns;
                match self.again(|me| me.endpoint().wait_any(&[index], Some(deadline))) {
                    Err(ShmError::TimedOut) => {
                        self.actor.was_untold();
                        self.actor.pauses(ns);
                        ns = (ns * 2).min(20 * MS);
                    }
                    Err(error) => return Err(error.into()),
                    Ok(_) => break,
                }
            },
            How::Polling(ns) => {
                let mut pause = ns;
                while !self.endpoint().poll(index)? {
                    self.actor.pauses(pause);
                    pause = (pause * 2).min(20 * MS);
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, channel: u32, keep_until: usize) -> Result<(), Stop> {
        let me = self.actor.me;
        let index = self.incoming(channel);
        let due = self.due(channel);
        let (header, came) = self.again(|me| me.take_letter(index, due))?;
        let passed = &mut self.progress.channels[channel as usize];
        passed.received += 1;
        self.moves();
        if header.is_end() {
            self.accuse(format!("found the end of channel {channel} where letter {due:?} was due"));
            return Ok(());
        }
        let time = header.timestamp();
        self.actor.shared().tell(|| format!("part{me} has received {time} on channel {channel}"));
        self.actor.shared().note(&[2, u64::from(me), u64::from(channel), time.to_bits()]);
        match due {
            Some(number) if f64::from(number) == time => match came {
                LetterContent::View(value) => {
                    self.check(number, &value, "when it came");
                    self.kept.push((keep_until, number, value));
                }
                LetterContent::Copy(data) if data == bytes_of(&elements(number, data.len() as u32 / 8)) => {}
                LetterContent::Copy(_) => {
                    self.accuse(format!("holds a copy of letter {number} that is not what was sent"))
                }
            },
            _ => self.accuse(format!("received letter {time} on channel {channel} where {due:?} was due")),
        }
        Ok(())
    }

    /// Returns the next letter of a channel.
    fn due(&self, channel: u32) -> Option<u32> {
        let received = self.progress.channels[channel as usize].received;
        self.script.sent[channel as usize].get(received).copied()
    }

    /// Receives in one of the three ways of a code, so that each way is used: as a box, as a view, or into an
    /// array.
    fn take_letter(
        &mut self,
        index: usize,
        due: Option<u32>,
    ) -> Result<(HeaderWords, LetterContent), ShmError> {
        let count = due.and_then(|number| self.script.letters[number as usize].elements);
        let endpoint = self.endpoint();
        let (mut header, mut value) = (HeaderWords::default(), Value::None);
        match due.map_or(0, |number| number % 3) {
            0 => {
                let mut arrived = endpoint.receive(index, None)?;
                let came = (arrived.header, LetterContent::View(arrived.take_value()?));
                endpoint.recycle(arrived);
                return Ok(came);
            }
            1 => {
                let count = count.unwrap_or(0);
                let (mut data, shape) = (vec![0; 8 * count as usize], [u64::from(count)]);
                let fits = |kind: &ArrayKind| kind.is(DType::UInt64, &shape, ArrayOrder::RowMajor);
                if endpoint.receive_ordinary_into(index, &mut header, fits, &mut data) {
                    return Ok((header, LetterContent::Copy(data)));
                }
            }
            _ => {}
        }
        endpoint.receive_to(index, None, &mut header, &mut value)?;
        Ok((header, LetterContent::View(value)))
    }

    fn check(&self, number: u32, value: &Value, when: &str) {
        if !is_letter(number, &self.script.letters[number as usize], value) {
            self.accuse(format!("holds letter {number}, and it was not what was sent {when}"));
        }
    }

    /// Drops kept values whose time has come. They must not have changed.
    fn let_go(&mut self, step: usize) -> Result<(), Stop> {
        let (gone, kept) = std::mem::take(&mut self.kept).into_iter().partition(|(until, ..)| *until <= step);
        self.kept = kept;
        let gone: Vec<(usize, u32, Value)> = gone;
        for (_, number, value) in &gone {
            self.check(*number, value, "when it was let go");
        }
        Ok(())
    }

    fn accuse(&self, words: String) {
        let me = self.actor.me;
        self.actor.shared().accuse(format!("part{me} {words}"));
    }

    /// A waiting instance must not depend on waking up from time to time.
    fn check_told(&self) {
        if self.actor.was_untold() {
            self.accuse("had slept out its time before it found what had been there: a lost wake-up".into());
        }
    }

    /// Does the same as `Instance::finish`.
    fn finish(&mut self) -> Result<(), Stop> {
        for index in 0..self.sends.len() {
            self.again(|me| me.endpoint().end_channel(index, EndingOfConduit::Done))?;
            let channel = self.sends[index].id as usize;
            self.progress.channels[channel].end_sent = true;
            self.check_told();
        }
        let me = self.actor.me;
        self.actor.shared().tell(|| format!("part{me} is done"));
        self.endpoint().end(false);
        self.endpoint().custodian().agent.tell(&Request::Finished)?;
        self.progress.finished = true;
        Ok(())
    }

    /// The library reports that it cannot go on. Only the end of the run, or of the agent, excuses that.
    fn falls_over(&mut self, error: ShmError) -> i32 {
        let words = format!("could not go on: {error}");
        match error {
            // An instance notices the end of its agent within a second, by looking, because no process is left
            // that could tell it.
            ShmError::AgentGone => {
                self.actor.was_untold();
            }
            ShmError::RunEnds(_) => self.check_told(),
            _ => {
                self.accuse(words);
                return 1;
            }
        }
        self.excused(&words);
        if !self.manners.obeys {
            // Hangs until a signal ends it.
            loop {
                self.actor.pauses(1_000 * MS);
            }
        }
        1
    }
}
