//! Record and replay. `Recorded` is the transport of an instance whose calls are recorded: each call goes to
//! the endpoint, and then into the recording with its answer. `Replayed` (`replayed`) answers the same calls
//! from the recording, and compares the messages that the code sends. An instance that is not recorded has
//! neither, so its calls take no longer.

mod difference;
mod replayed;

pub(crate) use replayed::{replay_directory, Replayed};

use ligament_catalogue::Fault;
use ligament_checkpoint::{
    recording_name, CallFailure, RecordKind, RecordedCall, Recording, RecordingInfo, RecordingWriter,
};
use ligament_shm::endpoint::Source;
use ligament_shm::line::AgentLine;
use ligament_shm::{Endpoint, ShmError};
use ligament_wire::control::{PortDeclaration, Request, Welcome, PROTOCOL};
use ligament_wire::{rank_name, Encoder, EncodingPlan, Header, HeaderWords, Value, ValueRef};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Importance of a warning in the run's log.
const LEVEL_WARNING: u8 = 2;

/// The declarations of a code when it registers.
pub(crate) struct CodeDeclarations<'a> {
    pub ports: Option<Vec<PortDeclaration>>,
    pub language: &'a str,
}

/// Returns the name of an instance, with its rank if its ranks speak for themselves.
pub(crate) fn recorded_name(instance: &str, welcome: &Welcome) -> String {
    rank_name(instance, welcome.rank.map(|rank| rank.number))
}

/// An endpoint whose calls are recorded.
pub(crate) struct Recorded {
    pub endpoint: Endpoint<AgentLine>,
    tape: Mutex<Tape>,
}

/// The recording of an endpoint.
struct Tape {
    /// `None` once the recording has ended, or has failed.
    writer: Option<RecordingWriter>,
    /// Answers of `poll` that are not written yet: a code may ask many times before something has arrived.
    polls: Option<(usize, bool, u64)>,
    /// Overlays of settings that are in the recording, by channel and number.
    overlays: HashSet<(usize, u32)>,
    /// The reason why the recording has failed, until the run's log has it.
    failed: Option<Fault>,
}

impl Recorded {
    /// Begins a recording in a directory.
    ///
    /// # Errors
    /// The endpoint itself and the reason, if the file cannot be written.
    #[allow(clippy::result_large_err)]
    pub fn begin(
        endpoint: Endpoint<AgentLine>,
        directory: &Path,
        info: &RecordingInfo,
    ) -> Result<Recorded, (Endpoint<AgentLine>, Fault)> {
        match RecordingWriter::create(&directory.join(recording_name(&info.instance)), info) {
            Ok(writer) => {
                let writer = Some(writer);
                let tape = Tape { writer, polls: None, overlays: HashSet::new(), failed: None };
                Ok(Recorded { endpoint, tape: Mutex::new(tape) })
            }
            Err(fault) => Err((endpoint, fault)),
        }
    }

    fn tape(&self) -> std::sync::MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports to the run's log that the recording has failed, once.
    fn report(&mut self) {
        let failed = self.tape().failed.take();
        if let Some(fault) = failed {
            warn_of(&mut self.endpoint, &fault);
        }
    }

    fn note(&mut self, number: usize, call: &RecordedCall) {
        self.tape().call(number, call);
        self.report();
    }

    /// Notes the answer of a call, or its failure.
    fn note_answer<T>(
        &mut self,
        number: usize,
        answer: Result<T, ShmError>,
        call: impl Fn(&T) -> RecordedCall,
    ) -> Result<T, ShmError> {
        match &answer {
            Ok(value) => self.note(number, &call(value)),
            Err(error) => self.note(number, &failed(error, false)),
        }
        answer
    }

    /// Notes that a call has failed which was noted before it was made.
    fn note_failure<T>(&mut self, number: usize, done: Result<T, ShmError>) -> Result<T, ShmError> {
        if let Err(error) = &done {
            self.note(number, &failed(error, true));
        }
        done
    }

    fn note_sent(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) {
        // Without channels, nothing is sent.
        let Some(&first) = to.first() else { return };
        let Ok(header) = header.decode() else { return };
        let header = Header { parts: source.parts(), body_len: source.body_len(), ..header };
        self.tape().write(&Recording {
            kind: RecordKind::Sent,
            number: first as u32,
            header,
            body: |range, to: &mut [u8]| source.copy_range(range, to),
        });
        self.report();
    }

    pub fn send(&mut self, to: &[usize], header: HeaderWords, source: &impl Source) -> Result<(), ShmError> {
        self.note_sent(to, header, source);
        let sent = self.endpoint.send(to, header, source);
        self.note_failure(to.first().copied().unwrap_or(0), sent)
    }

    pub fn receive_to(
        &mut self,
        channel: usize,
        deadline: Option<u64>,
        header: &mut HeaderWords,
        to: &mut Value,
    ) -> Result<(), ShmError> {
        let came = self.endpoint.receive_to(channel, deadline, header, to);
        match &came {
            Ok(()) => {
                if let Ok(header) = header.decode() {
                    self.tape().value((RecordKind::Taken, channel), &header, to);
                }
            }
            Err(error) => self.tape().call(channel, &failed(error, false)),
        }
        self.report();
        came
    }

    pub fn poll(&mut self, channel: usize) -> Result<bool, ShmError> {
        let ready = self.endpoint.poll(channel);
        match &ready {
            Ok(ready) => self.tape().poll(channel, *ready),
            Err(error) => self.tape().call(channel, &failed(error, false)),
        }
        self.report();
        ready
    }

    pub fn next_is_end(&mut self, channel: usize) -> Option<bool> {
        let end = self.endpoint.next_is_end(channel);
        self.note(channel, &RecordedCall::NextIsEnd { end });
        end
    }

    pub fn wait_any(&mut self, channels: &[usize], deadline: Option<u64>) -> Result<usize, ShmError> {
        let waited = self.endpoint.wait_any(channels, deadline);
        let number = waited.as_ref().copied().unwrap_or(0);
        let all: Vec<u32> = channels.iter().map(|&channel| channel as u32).collect();
        self.note_answer(number, waited, |_| RecordedCall::WaitAny { channels: all.clone() })
    }

    pub fn overlay(&self, channel: usize, number: u32) -> Option<Arc<Value>> {
        let overlay = self.endpoint.overlay(channel, number).cloned()?;
        let mut tape = self.tape();
        if tape.overlays.insert((channel, number)) {
            let header = Header { overlay: number, ..Header::default() };
            tape.value((RecordKind::Overlay, channel), &header, &overlay);
        }
        Some(overlay)
    }

    pub fn knows_overlay(&self, to: &[usize], number: u32) -> bool {
        let known = self.endpoint.knows_overlay(to, number);
        self.tape().call(to.first().copied().unwrap_or(0), &RecordedCall::KnowsOverlay { number, known });
        known
    }

    pub fn announce_overlay(
        &mut self,
        to: &[usize],
        number: u32,
        plan: &EncodingPlan<'_, '_>,
    ) -> Result<(), ShmError> {
        self.note_sent(to, announcement(number), plan);
        let sent = self.endpoint.announce_overlay(to, number, plan);
        self.note_failure(to.first().copied().unwrap_or(0), sent)
    }

    pub fn end_channel(&mut self, channel: usize, ending: ligament_wire::ConduitEnd) -> Result<(), ShmError> {
        let within_pass = ending == ligament_wire::ConduitEnd::WithinPass;
        self.note(channel, &RecordedCall::EndChannel { within_pass });
        let ended = self.endpoint.end_channel(channel, ending);
        self.note_failure(channel, ended)
    }

    pub fn steer(&mut self, gate: ligament_shm::steering::Gate, time: f64) -> Result<Vec<Arc<[u8]>>, ShmError> {
        let changes = self.endpoint.steer(0, gate, time);
        self.note_answer(0, changes, |changes| RecordedCall::Steer {
            pass: gate == ligament_shm::steering::Gate::Pass,
            time: ligament_wire::steering::ModelTime(time),
            changes: changes.iter().map(|change| change.to_vec().into()).collect(),
        })
    }

    /// Ends the instance and its recording.
    pub fn end(&mut self, failed: bool) {
        self.note(0, &RecordedCall::Over { failed });
        self.tape().finish();
        self.report();
        self.endpoint.end(failed);
    }
}

impl Tape {
    /// Does something with the writer. After a failure nothing more is written: the file would have a gap.
    fn with(&mut self, write: impl FnOnce(&mut RecordingWriter) -> Result<(), Fault>) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(fault) = write(writer) {
            (self.writer, self.failed) = (None, Some(fault));
        }
    }

    fn write<F: Fn(std::ops::Range<u64>, &mut [u8])>(&mut self, record: &Recording<F>) {
        self.write_polls();
        self.with(|writer| writer.record(record));
    }

    fn call(&mut self, number: usize, call: &RecordedCall) {
        self.write_polls();
        self.with(|writer| writer.call(number as u32, call));
    }

    fn poll(&mut self, channel: usize, ready: bool) {
        match &mut self.polls {
            Some((of, answer, times)) if (*of, *answer) == (channel, ready) => *times += 1,
            _ => {
                self.write_polls();
                self.polls = Some((channel, ready, 1));
            }
        }
    }

    fn write_polls(&mut self) {
        if let Some((channel, ready, times)) = self.polls.take() {
            self.with(|writer| writer.call(channel as u32, &RecordedCall::Poll { ready, times }));
        }
    }

    fn value(&mut self, (kind, channel): (RecordKind, usize), header: &Header, value: &Value) {
        let mut encoder = Encoder::new();
        // A value that was received can be sent.
        let Ok(plan) = encoder.plan(&ValueRef::Owned(value)) else { return };
        let is_empty = matches!(value, Value::None);
        let (parts, body_len) = if is_empty { (0, 0) } else { (plan.parts(), plan.body_len()) };
        self.write(&Recording {
            kind,
            number: channel as u32,
            header: Header { parts, body_len, ..*header },
            body: |range, to: &mut [u8]| plan.copy_range(range, to),
        });
    }

    fn finish(&mut self) {
        self.write_polls();
        if let Some(Err(fault)) = self.writer.take().map(RecordingWriter::finish) {
            self.failed = Some(fault);
        }
    }
}

/// Returns the header under which an overlay of settings stands in a recording.
fn announcement(number: u32) -> HeaderWords {
    let kind = ligament_wire::MessageKind::Overlay;
    HeaderWords::from(Header { kind, overlay: number, ..Header::default() })
}

/// Returns the information that begins the recording of an instance.
pub(crate) fn info_of(instance: &str, welcome: &Welcome, code: &CodeDeclarations<'_>) -> RecordingInfo {
    RecordingInfo {
        instance: recorded_name(instance, welcome),
        protocol: PROTOCOL,
        language: code.language.to_owned(),
        ports: code.ports.clone(),
        welcome: welcome.clone(),
    }
}

/// Writes a warning about the recording to the run's log. A failure is ignored, since the run goes on.
pub(crate) fn warn_of(endpoint: &mut Endpoint<AgentLine>, fault: &Fault) {
    let text = format!("{}; the run goes on", fault.with_code());
    let _ = endpoint.custodian().tell(&Request::Log { level: LEVEL_WARNING, text, of: None });
}

/// Returns the record of a failure. `before` is true if the call itself is in the recording before it.
fn failed(error: &ShmError, before: bool) -> RecordedCall {
    RecordedCall::Failed { failure: failure_of(error), before }
}

fn failure_of(error: &ShmError) -> CallFailure {
    match error {
        ShmError::TimedOut => CallFailure::TimedOut,
        ShmError::Interrupted => CallFailure::Interrupted,
        ShmError::AgentGone => CallFailure::AgentGone,
        ShmError::RunEnds(why) => CallFailure::RunEnds(why.clone()),
        ShmError::TooLarge { bytes, limit } => CallFailure::TooLarge { bytes: *bytes, limit: *limit },
        other => CallFailure::Other(other.to_string()),
    }
}
