//! The transport of an instance that is replayed: all answers come from a recording, and what the code sends is
//! compared with what it has sent then. There is no agent and no other instance. At the first difference, and
//! where a recording that was cut short ends, each call fails as at the end of a run.

use super::difference::{header_difference, value_difference};
use super::{announcement, recorded_name, CodeDeclarations};
use crate::error::{Error, ErrorKind};
use ligament_catalogue::{fault, said, Fault};
use ligament_checkpoint::{
    recording_name, CallFailure, MessageRecord, RecordKind, RecordedCall, RecordingItem, RecordingReader,
};
use ligament_shm::endpoint::Source;
use ligament_shm::line::Identity;
use ligament_shm::steering::Gate;
use ligament_shm::ShmError;
use ligament_wire::control::{PortDeclaration, Welcome, ENV_REPLAY_RESULTS, REPLAY_AGENT};
use ligament_wire::times::ShownTime;
use ligament_wire::{decode_body, Bytes, ConduitEnd, HeaderWords, Limits, MessageKind, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Returns the directory of recordings, if the environment says that this process is replayed.
pub(crate) fn replay_directory(identity: &Identity) -> Option<PathBuf> {
    identity.agent.strip_prefix(REPLAY_AGENT).map(PathBuf::from)
}

/// The transport of an instance that is replayed.
pub(crate) struct Replayed(Mutex<Player>);

/// The state of a replay.
struct Player {
    reader: RecordingReader,
    /// An item that was read and not used.
    next: Option<RecordingItem>,
    /// Answers of `poll` that the recording has once for several calls: channel, answer, number of calls.
    polls: Option<(usize, bool, u64)>,
    overlays: HashMap<(usize, u32), Arc<Value>>,
    /// Names of the ports (and slots) of the channels on which the instance sends, and on which it receives.
    sends: Vec<String>,
    receives: Vec<String>,
    /// Number of messages that were sent as they were recorded.
    same: u64,
    /// The end of the replay, if it has ended.
    ended: Option<String>,
    results: Option<PathBuf>,
}

impl Replayed {
    /// Opens the recording of the instance that the environment names. Returns the welcome that is in it.
    ///
    /// # Errors
    /// There is no recording, it cannot be used, or the code declares other ports.
    pub fn open(
        directory: &Path,
        identity: &Identity,
        code: &CodeDeclarations<'_>,
    ) -> Result<(Replayed, Welcome), Error> {
        let refused = |fault: Fault| Error::other(ErrorKind::Registration, fault);
        let rank = identity.token.rsplit_once(':').map_or("", |(_, rank)| rank);
        let name = match rank {
            "" => identity.instance.clone(),
            rank => format!("{}:{rank}", identity.instance),
        };
        let reader = RecordingReader::open(&directory.join(recording_name(&name))).map_err(refused)?;
        let welcome = reader.info.welcome.clone();
        let recorded = recorded_name(&identity.instance, &welcome);
        if reader.info.instance != name || recorded != name {
            return Err(refused(fault!(
                CHECKPOINT_UNREADABLE,
                "the recording is of {}, and not of {name}",
                reader.info.instance
            )));
        }
        let results = std::env::var_os(ENV_REPLAY_RESULTS).filter(|value| !value.is_empty());
        let results =
            results.map(|directory| Path::new(&directory).join(recording_name(&name)).with_extension("result"));
        let mut player = Player {
            sends: welcome.sends.iter().map(|channel| place(&welcome, channel.port, channel.slot)).collect(),
            receives: welcome
                .receives
                .iter()
                .map(|channel| place(&welcome, channel.port, channel.slot))
                .collect(),
            reader,
            next: None,
            polls: None,
            overlays: HashMap::new(),
            same: 0,
            ended: None,
            results,
        };
        if let Some(what) = other_ports(&player.reader.info.ports, &code.ports, &welcome) {
            return match player.differs(&what) {
                ShmError::RunEnds(text) => Err(refused(fault!(REPLAY_DIFFERS, "{text}"))),
                other => Err(Error::during(other, || "replaying".into())),
            };
        }
        Ok((Replayed(Mutex::new(player)), welcome))
    }

    fn player(&self) -> MutexGuard<'_, Player> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn send(&self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        let Some(&first) = to.first() else { return Ok(()) };
        let mut body = vec![0; source.body_len() as usize];
        source.write_body(&mut body);
        self.player().sent(first, header, (source.parts(), body))
    }

    pub fn receive_to(&self, channel: usize, header: &mut HeaderWords, to: &mut Value) -> Result<(), ShmError> {
        let mut player = self.player();
        let call = |player: &Player| format!("takes a message on {}", player.receives_on(channel));
        match player.take(call)? {
            RecordingItem::Message(record)
                if record.kind == RecordKind::Taken && record.number as usize == channel =>
            {
                *header = record.header.into();
                *to = player.decoded(&record)?;
                Ok(())
            }
            RecordingItem::Call(_, RecordedCall::Failed { failure, before: false }) => Err(error_of(failure)),
            other => Err(player.other_call(call, &other)),
        }
    }

    pub fn poll(&self, channel: usize) -> Result<bool, ShmError> {
        let mut player = self.player();
        if let Some((of, ready, left)) = player.polls.filter(|&(of, _, left)| of == channel && left > 0) {
            player.polls = Some((of, ready, left - 1));
            return Ok(ready);
        }
        let call = |player: &Player| format!("looks for a message on {}", player.receives_on(channel));
        match player.take(call)? {
            RecordingItem::Call(of, RecordedCall::Poll { ready, times }) if of as usize == channel => {
                player.polls = Some((channel, ready, times.saturating_sub(1)));
                Ok(ready)
            }
            RecordingItem::Call(_, RecordedCall::Failed { failure, before: false }) => Err(error_of(failure)),
            other => Err(player.other_call(call, &other)),
        }
    }

    pub fn next_is_end(&self, channel: usize) -> Result<Option<bool>, ShmError> {
        let mut player = self.player();
        let call = |player: &Player| format!("asks if {} has ended", player.receives_on(channel));
        match player.take(call)? {
            RecordingItem::Call(of, RecordedCall::NextIsEnd { end }) if of as usize == channel => Ok(end),
            other => Err(player.other_call(call, &other)),
        }
    }

    pub fn wait_any(&self, channels: &[usize]) -> Result<usize, ShmError> {
        let mut player = self.player();
        let call = |player: &Player| {
            let names: Vec<&str> = channels.iter().map(|&channel| player.receives_on(channel)).collect();
            format!("waits for any of {}", names.join(", "))
        };
        match player.take(call)? {
            RecordingItem::Call(number, RecordedCall::WaitAny { channels: recorded })
                if recorded.iter().map(|&channel| channel as usize).eq(channels.iter().copied())
                    && channels.contains(&(number as usize)) =>
            {
                Ok(number as usize)
            }
            RecordingItem::Call(_, RecordedCall::Failed { failure, before: false }) => Err(error_of(failure)),
            other => Err(player.other_call(call, &other)),
        }
    }

    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        let mut player = self.player();
        if let Some(known) = player.overlays.get(&(channel, number)) {
            return Some(known.clone());
        }
        let call =
            |player: &Player| format!("takes a message with settings on {}", player.receives_on(channel));
        match player.take(call).ok()? {
            RecordingItem::Message(record)
                if record.kind == RecordKind::Overlay
                    && record.number as usize == channel
                    && record.header.overlay == number =>
            {
                let overlay = Arc::new(player.decoded(&record).ok()?);
                player.overlays.insert((channel, number), overlay.clone());
                Some(overlay)
            }
            other => {
                player.other_call(call, &other);
                None
            }
        }
    }

    pub fn knows_overlay(&self, to: &[usize], wanted: u32) -> bool {
        let first = to.first().copied().unwrap_or(0);
        let mut player = self.player();
        let call = |player: &Player| format!("sends a message with settings on {}", player.sends_on(first));
        match player.take(call) {
            Ok(RecordingItem::Call(of, RecordedCall::KnowsOverlay { number, known }))
                if of as usize == first && number == wanted =>
            {
                known
            }
            Ok(other) => {
                player.other_call(call, &other);
                true
            }
            Err(_) => true,
        }
    }

    pub fn announce_overlay(&self, to: &[usize], number: u32, source: &impl Source) -> Result<(), ShmError> {
        self.send(to, announcement(number), source)
    }

    pub fn end_channel(&self, channel: usize, ending: ConduitEnd) -> Result<(), ShmError> {
        let mut player = self.player();
        let wanted = ending == ConduitEnd::WithinPass;
        let call = |player: &Player| {
            let within = if wanted { " within a pass" } else { "" };
            format!("ends {}{within}", player.sends_on(channel))
        };
        match player.take(call)? {
            RecordingItem::Call(of, RecordedCall::EndChannel { within_pass })
                if of as usize == channel && within_pass == wanted =>
            {
                player.failure()
            }
            other => Err(player.other_call(call, &other)),
        }
    }

    pub fn steer(&self, gate: Gate, at: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        let mut player = self.player();
        let call = |_: &Player| format!("takes changes of settings (steer) at {}", ShownTime(at));
        match player.take(call)? {
            RecordingItem::Call(_, RecordedCall::Steer { pass, time, changes })
                if pass == (gate == Gate::Pass) && time.0.to_bits() == at.to_bits() =>
            {
                Ok(changes.into_iter().map(|change| Arc::from(Vec::from(change))).collect())
            }
            RecordingItem::Call(_, RecordedCall::Failed { failure, before: false }) => Err(error_of(failure)),
            other => Err(player.other_call(call, &other)),
        }
    }

    /// Ends the replay: the code has ended, or has failed.
    pub fn end(&self, failed: bool) {
        let mut player = self.player();
        if player.ended.is_some() {
            return;
        }
        let call = |_: &Player| if failed { "fails".to_owned() } else { "ends".to_owned() };
        match player.take(call) {
            Ok(RecordingItem::Call(_, RecordedCall::Over { failed: then })) if then == failed => {
                let text = format!("{} as recorded", messages(player.same));
                player.end("same", &text);
            }
            Ok(other) => {
                player.other_call(call, &other);
            }
            Err(_) => {}
        }
    }

    /// Shows the reason why the code has failed.
    pub fn fail(&self, why: &str) {
        tell(&format!("the code has failed: {why}"));
    }
}

impl Player {
    fn sends_on(&self, channel: usize) -> &str {
        self.sends.get(channel).map_or("a port that the recording does not have", |name| name)
    }

    fn receives_on(&self, channel: usize) -> &str {
        self.receives.get(channel).map_or("a port that the recording does not have", |name| name)
    }

    /// Returns the next item. `call` says what the code does.
    fn take(&mut self, call: impl Fn(&Player) -> String) -> Result<RecordingItem, ShmError> {
        if let Some(text) = &self.ended {
            return Err(ShmError::RunEnds(text.clone()));
        }
        if let Some((channel, _, left @ 1..)) = self.polls.take() {
            let text = said!(
                REPLAY_DIFFERS,
                "the code {}, where the recording has {left} more looks for a message on {}",
                call(self),
                self.receives_on(channel)
            );
            return Err(self.differs(&text));
        }
        let item = match self.next.take() {
            Some(item) => Ok(item),
            None => self.reader.next_item(),
        };
        match item {
            Ok(RecordingItem::Cut) => {
                let text = said!(
                    REPLAY_DIFFERS,
                    "the recording was cut short and ends here: the code {}. It has sent {} as recorded",
                    call(self),
                    messages(self.same)
                );
                Err(self.end("cut", &text))
            }
            Ok(RecordingItem::End) => {
                let text =
                    said!(REPLAY_DIFFERS, "the code {}, where the recording has nothing more", call(self));
                Err(self.differs(&text))
            }
            Ok(item) => Ok(item),
            Err(fault) => Err(self.end("broken", &fault.with_code())),
        }
    }

    /// Returns the recorded failure of the call that was just taken, if it has failed.
    fn failure(&mut self) -> Result<(), ShmError> {
        match self.reader.next_item() {
            Ok(RecordingItem::Call(_, RecordedCall::Failed { failure, before: true })) => {
                Err(error_of(failure))
            }
            Ok(item) => {
                self.next = Some(item);
                Ok(())
            }
            Err(fault) => Err(self.end("broken", &fault.with_code())),
        }
    }

    fn decoded(&mut self, record: &MessageRecord) -> Result<Value, ShmError> {
        let value = decode_body(record.header.parts, record.body.clone(), &Limits::default());
        value.map_err(|error| ShmError::Malformed(error.to_string()))
    }

    /// Compares a message that the code sends with the recording.
    fn sent(
        &mut self,
        channel: usize,
        header: HeaderWords,
        (parts, body): (u16, Vec<u8>),
    ) -> Result<(), ShmError> {
        let time = header.timestamp();
        let call = |player: &Player| {
            format!("sends {} on {} at {}", kind_of(header), player.sends_on(channel), ShownTime(time))
        };
        let record = match self.take(call)? {
            RecordingItem::Message(record)
                if record.kind == RecordKind::Sent && record.number as usize == channel =>
            {
                record
            }
            other => return Err(self.other_call(call, &other)),
        };
        let what = match header_difference(header, &record.header) {
            Some(what) => Some(what),
            None if parts == record.header.parts && body == *record.body => None,
            None => {
                let recorded = self.decoded(&record)?;
                let sent = decode_body(parts, Bytes::from(body), &Limits::default());
                let sent = sent.map_err(|error| ShmError::Malformed(error.to_string()))?;
                Some(value_difference(&sent, &recorded))
            }
        };
        if let Some(what) = what {
            let at = ShownTime(record.header.timestamp);
            let text = said!(REPLAY_DIFFERS, "{} at {at}: {what}", self.sends_on(channel));
            return Err(self.differs(&text));
        }
        self.same += u64::from(header.is_data());
        self.failure()
    }

    fn other_call(&mut self, call: impl Fn(&Player) -> String, recorded: &RecordingItem) -> ShmError {
        let text = said!(
            REPLAY_DIFFERS,
            "the code {}, where the recording has that it {}",
            call(self),
            self.words(recorded)
        );
        self.differs(&text)
    }

    /// Returns the words for a recorded call, after "it".
    fn words(&self, item: &RecordingItem) -> String {
        match item {
            RecordingItem::Message(record) => {
                let (channel, at) = (record.number as usize, ShownTime(record.header.timestamp));
                match record.kind {
                    RecordKind::Sent => {
                        let what = kind_of(record.header.into());
                        format!("sent {what} on {} at {at}", self.sends_on(channel))
                    }
                    RecordKind::Overlay => format!("took settings on {}", self.receives_on(channel)),
                    _ if record.header.kind == MessageKind::End => {
                        format!("found the end of {}", self.receives_on(channel))
                    }
                    _ => format!("took a message on {} at {at}", self.receives_on(channel)),
                }
            }
            RecordingItem::Call(number, call) => {
                let channel = *number as usize;
                match call {
                    RecordedCall::Poll { .. } => {
                        format!("looked for a message on {}", self.receives_on(channel))
                    }
                    RecordedCall::NextIsEnd { .. } => {
                        format!("asked if {} had ended", self.receives_on(channel))
                    }
                    RecordedCall::WaitAny { channels } => {
                        let names = channels.iter().map(|&channel| self.receives_on(channel as usize));
                        format!("waited for any of {}", names.collect::<Vec<_>>().join(", "))
                    }
                    RecordedCall::Steer { time, .. } => {
                        format!("took changes of settings (steer) at {}", ShownTime(time.0))
                    }
                    RecordedCall::KnowsOverlay { .. } => {
                        format!("sent a message with settings on {}", self.sends_on(channel))
                    }
                    RecordedCall::EndChannel { within_pass } => {
                        let within = if *within_pass { " within a pass" } else { "" };
                        format!("ended {}{within}", self.sends_on(channel))
                    }
                    RecordedCall::Over { failed: true } => "failed".to_owned(),
                    RecordedCall::Over { failed: false } => "ended".to_owned(),
                    RecordedCall::Failed { .. } => "waited in vain".to_owned(),
                }
            }
            RecordingItem::End | RecordingItem::Cut => "ended".to_owned(),
        }
    }

    /// Ends the replay at the first difference. The text goes to the standard error and to the result.
    fn differs(&mut self, text: &str) -> ShmError {
        self.end("differs", text)
    }

    fn end(&mut self, state: &str, text: &str) -> ShmError {
        self.ended = Some(text.to_owned());
        if let Some(path) = &self.results {
            let contents = format!("{state}\n{}\n{text}\n", self.same);
            if let Err(error) = std::fs::write(path, contents) {
                tell(&format!("{}: {error}", path.display()));
            }
        } else {
            tell(text);
        }
        ShmError::RunEnds(text.to_owned())
    }
}

/// Returns a number of messages in words.
fn messages(number: u64) -> String {
    format!("{number} {}", if number == 1 { "message" } else { "messages" })
}

fn tell(text: &str) {
    let mut line = String::new();
    let _ = writeln!(line, "ligament replay: {text}");
    // A failure is ignored: a process that has closed its output does not want the lines.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// Returns the name of a port and slot, such as `port "out"[3]`.
fn place(welcome: &Welcome, port: u32, slot: Option<u32>) -> String {
    let name = welcome.ports.get(port as usize).map_or("?", |port| port.name.as_str());
    match slot {
        Some(slot) => format!("port {name}[{slot}]"),
        None => format!("port {name}"),
    }
}

fn kind_of(header: HeaderWords) -> &'static str {
    match header.decode().map(|header| header.kind) {
        Ok(MessageKind::Overlay) => "settings",
        Ok(MessageKind::Milestone) => "the end of an iteration",
        Ok(MessageKind::PassEnd) => "the end of a pass",
        Ok(MessageKind::Slot) => "the number of a slot",
        Ok(MessageKind::Route) => "the parts of an array",
        _ => "a message",
    }
}

/// Compares the ports that the code declares with those of the recording. Returns the first difference.
fn other_ports(
    recorded: &Option<Vec<PortDeclaration>>,
    code: &Option<Vec<PortDeclaration>>,
    welcome: &Welcome,
) -> Option<String> {
    let code = code.as_ref()?;
    let of_model = || {
        let ports = welcome.ports.iter();
        let declared = ports.map(|port| PortDeclaration {
            name: port.name.clone(),
            operator: port.operator.clone(),
            vector: port.vector,
        });
        declared.collect()
    };
    let recorded: Vec<PortDeclaration> = recorded.clone().unwrap_or_else(of_model);
    let words = |port: &PortDeclaration| {
        format!("{}{} ({})", port.name, if port.vector { "[]" } else { "" }, port.operator)
    };
    if let Some(port) = code.iter().find(|port| !recorded.contains(port)) {
        return Some(match recorded.iter().find(|known| known.name == port.name) {
            Some(known) => said!(
                REPLAY_DIFFERS,
                "the code declares the port {}, which was {} when it was recorded",
                words(port),
                words(known)
            ),
            None => said!(
                REPLAY_DIFFERS,
                "the code declares the port {}, which the recording does not have",
                words(port)
            ),
        });
    }
    let missing = recorded.iter().find(|port| !code.contains(port))?;
    Some(said!(
        REPLAY_DIFFERS,
        "the code does not declare the port {}, as it did when recorded",
        words(missing)
    ))
}

fn error_of(failure: CallFailure) -> ShmError {
    match failure {
        CallFailure::TimedOut => ShmError::TimedOut,
        CallFailure::Interrupted => ShmError::Interrupted,
        CallFailure::AgentGone => ShmError::AgentGone,
        CallFailure::RunEnds(why) => ShmError::RunEnds(why),
        CallFailure::TooLarge { bytes, limit } => ShmError::TooLarge { bytes, limit },
        CallFailure::Other(why) => ShmError::Malformed(why),
    }
}
