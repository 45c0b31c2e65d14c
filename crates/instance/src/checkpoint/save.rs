//! Writing the file of an instance at a checkpoint. The code's state and the library's are written at the save;
//! the messages that were under way follow as they come, until the marks of all senders are there.

use super::values::{message_state, settings_state};
use super::CheckpointState;
use crate::error::{AgentError, Error, ErrorKind};
use crate::instance::{Instance, LogLevel};
use crate::message::Outgoing;
use crate::transport::Transport;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{file_name, moment_directory, CheckpointWriter, FileInfo, RecordKind, SavePoint};
use ligament_shm::endpoint::{CutContents, EndedCut, MessageUnderWay};
use ligament_wire::control::{CheckpointOutcome, Request};
use ligament_wire::fields::{counted, entries};
use ligament_wire::steering::ModelTime;
use ligament_wire::{Encoder, Header, Value, ValueRef};
use std::path::{Path, PathBuf};

/// Name of the directory with the files of instances that have ended.
const OVER_DIRECTORY: &str = "over";
/// Maximum number of checkpoints of an instance that are not whole. Beyond it, the oldest one is given up.
const MAX_OPEN_CHECKPOINTS: usize = 8;

impl Instance {
    /// Saves the state at the moment that is due.
    pub(super) fn save(&mut self, point: SavePoint, message: Option<&Outgoing<'_>>) -> Result<(), Error> {
        let Some(state) = &mut self.checkpoints else { return Ok(()) };
        let Some(moment) = state.due.take() else { return Ok(()) };
        let again = state.next_pass.unwrap_or(true);
        // A value that cannot be saved is refused before anything else happens.
        let mut encoder = Encoder::new();
        let plan = match message {
            Some(message) => Some(
                encoder
                    .plan(&message.data)
                    .map_err(|error| Error::other(ErrorKind::Usage, Fault::from(error)))?,
            ),
            None => None,
        };
        let header = message.map_or_else(Header::default, |message| Header {
            timestamp: message.timestamp,
            next_timestamp: message.next_timestamp,
            ..Header::default()
        });
        let library = self.library_state(again)?;
        self.begin_cut(moment)?;
        let Some(state) = &mut self.checkpoints else { return Ok(()) };
        state.saved = Some(moment);
        let info = FileInfo {
            instance: state.name.clone(),
            run: self.run_name().to_owned(),
            moment: ModelTime(moment),
            point,
        };
        let Some(state) = &mut self.checkpoints else { return Ok(()) };
        let path = state.path(&moment_directory(moment));
        let written = || -> Result<CheckpointWriter, Fault> {
            let mut writer = CheckpointWriter::create(&path, &info)?;
            if let Some(plan) = &plan {
                writer.value(RecordKind::State, &header, plan)?;
            }
            write_value(&mut writer, RecordKind::Library, &library)?;
            Ok(writer)
        };
        let (writer, failure) = match written() {
            Ok(writer) => (Some(writer), None),
            Err(fault) => (None, Some(fault)),
        };
        state.open.push((moment, writer));
        if let Some(fault) = failure {
            self.checkpoint_failed(moment, &fault)?;
        }
        self.end_cuts(false)
    }

    fn begin_cut(&mut self, moment: f64) -> Result<(), Error> {
        let Transport::Own(endpoint) = &mut self.endpoint else { return Ok(()) };
        let begun = endpoint.begin_cut(moment).and_then(|()| endpoint.notes_save(moment));
        begun.map_err(|error| Error::during(error, || "saving a checkpoint".into()))
    }

    /// Writes the files of the checkpoints for which all marks have come. If `all` is true, nothing more is
    /// received, so what is missing is not needed.
    pub(crate) fn end_cuts(&mut self, all: bool) -> Result<(), Error> {
        let Some(state) = &mut self.checkpoints else { return Ok(()) };
        let Transport::Own(endpoint) = &mut self.endpoint else { return Ok(()) };
        if state.open.is_empty() {
            return Ok(());
        }
        for moment in endpoint.steering().withdrawn_saves() {
            // A checkpoint of the model's rules was not withdrawn.
            if !state.moments.has(moment) {
                endpoint.void_cut(moment);
            }
        }
        let too_many = state.open.len() > MAX_OPEN_CHECKPOINTS;
        let ended = if all {
            endpoint.end_all_cuts()
        } else {
            endpoint.ended_cuts().map_err(|error| Error::during(error, || "saving a checkpoint".into()))?
        };
        let mut outcomes = Vec::new();
        for (moment, messages) in endpoint.take_under_way() {
            let Some((_, open)) = state.open.iter_mut().find(|(at, _)| *at == moment) else { continue };
            let Some(writer) = open else { continue };
            if let Err(fault) = messages.iter().try_for_each(|message| write_message(writer, message)) {
                *open = None;
                outcomes.push((moment, Err(fault)));
            }
        }
        for cut in ended {
            let Some(at) = state.open.iter().position(|(moment, _)| *moment == cut.moment) else { continue };
            let (moment, writer) = state.open.remove(at);
            // A file that could not be written was reported at once.
            let Some(writer) = writer else { continue };
            outcomes.push((moment, state.finish_file(writer, cut)));
        }
        if too_many && !state.open.is_empty() {
            let (moment, _) = state.open.remove(0);
            endpoint.give_up_cut(moment);
            outcomes.push((moment, Ok(false)));
        }
        for (moment, outcome) in outcomes {
            match outcome {
                Ok(true) => self.report_checkpoint(moment, CheckpointOutcome::Saved)?,
                Ok(false) => self.report_checkpoint(moment, CheckpointOutcome::Void)?,
                Err(fault) => self.checkpoint_failed(moment, &fault)?,
            }
        }
        Ok(())
    }

    fn checkpoint_failed(&mut self, moment: f64, fault: &Fault) -> Result<(), Error> {
        self.log(LogLevel::Warning, &fault.with_code())?;
        self.report_checkpoint(moment, CheckpointOutcome::Failed { why: fault.with_code() })
    }

    pub(super) fn report_checkpoint(&mut self, moment: f64, outcome: CheckpointOutcome) -> Result<(), Error> {
        let Transport::Own(endpoint) = &mut self.endpoint else { return Ok(()) };
        let told = endpoint.custodian().tell(&Request::Checkpoint { moment: ModelTime(moment), outcome });
        told.map_err(|error| Error::during(error, || "reporting a checkpoint".into()))
    }

    /// Writes that the instance has ended, which belongs to all later checkpoints.
    pub(crate) fn save_end(&mut self) -> Result<(), Error> {
        self.end_cuts(true)?;
        let Some(state) = self.checkpoints.as_ref().filter(|state| state.saves()) else { return Ok(()) };
        let info = FileInfo {
            instance: state.name.clone(),
            run: self.run_name().to_owned(),
            moment: ModelTime(f64::INFINITY),
            point: SavePoint::Over,
        };
        let written =
            CheckpointWriter::create(&state.path(OVER_DIRECTORY), &info).and_then(|writer| writer.finish());
        match written {
            Ok(()) => Ok(()),
            Err(fault) => self.log(LogLevel::Warning, &fault.with_code()),
        }
    }

    /// Returns the state of the library that a resumed instance needs beside the code's state.
    ///
    /// # Errors
    /// `Filter` if a filter cannot say what it remembers.
    fn library_state(&mut self, again: bool) -> Result<Value, Error> {
        let filters = self.filters_state()?;
        let sends = self.checkpoints.as_ref().map_or(&[][..], |state| &state.sends);
        let held = self.held_state(sends).ok_or(AgentError::Filters)?;
        let initial = self.initial.iter().map(|(&(port, slot), (message, overlay))| {
            entries([
                ("port", Value::String(self.table.ports[port].name.to_string())),
                ("slot", counted(slot as u64)),
                ("message", message_state(message, overlay)),
            ])
        });
        Ok(entries([
            ("passes", counted(self.passes())),
            ("again", Value::Bool(again)),
            ("overlay", settings_state(self.overlays.current())),
            ("implicit", self.overlays.implicit().map_or(Value::None, settings_state)),
            ("steered", settings_state(&self.steered)),
            ("initial", Value::List(initial.collect())),
            ("slots", Value::List(self.table.ports.iter().filter_map(|port| port.slots_state()).collect())),
            ("filters", filters),
            ("timeline", self.timeline_state()),
            ("held", held),
            ("exchanges", self.exchanges_state()),
        ]))
    }
}

impl CheckpointState {
    pub(super) fn path(&self, directory: &str) -> PathBuf {
        Path::new(&self.plan.directory).join(directory).join(file_name(&self.name))
    }

    /// Writes the last messages that were under way, and finishes the file. Returns false if a sender saves
    /// nothing at this moment; the file is then removed.
    fn finish_file(&self, mut writer: CheckpointWriter, cut: EndedCut) -> Result<bool, Fault> {
        let Some(CutContents { under_way, dropped }) = cut.contents else { return Ok(false) };
        for message in &under_way {
            write_message(&mut writer, message)?;
        }
        let mut counts = vec![0; self.channels.len()];
        for (channel, count) in dropped {
            if let Some(place) = counts.get_mut(channel) {
                *place += count as i64;
            }
        }
        let channels = self.channels.iter().zip(counts).map(|(name, dropped)| {
            entries([
                ("port", Value::String(name.port.clone())),
                ("slot", name.slot.map_or(Value::None, |slot| Value::Int(i64::from(slot)))),
                ("from", Value::String(name.from.clone())),
                ("dropped", Value::Int(dropped)),
            ])
        });
        write_value(&mut writer, RecordKind::Channels, &Value::List(channels.collect()))?;
        writer.finish().map(|()| true)
    }
}

fn write_message(writer: &mut CheckpointWriter, message: &MessageUnderWay) -> Result<(), Fault> {
    let channel = message.channel as u32;
    if let Some(overlay) = &message.overlay {
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&ValueRef::Owned(overlay)).map_err(unwritable)?;
        let mut body = vec![0; plan.body_len() as usize];
        plan.write_body(&mut body);
        let header = Header { parts: plan.parts(), body_len: plan.body_len(), ..Header::default() };
        writer.record(RecordKind::Overlay, channel, &header, &[&body])?;
    }
    let zeros = vec![0; message.zeros];
    writer.record(RecordKind::UnderWay, channel, &message.header, &[&message.head, &zeros, &message.parts])
}

fn write_value(writer: &mut CheckpointWriter, kind: RecordKind, value: &Value) -> Result<(), Fault> {
    let mut encoder = Encoder::new();
    let plan = encoder.plan(&ValueRef::Owned(value)).map_err(unwritable)?;
    writer.value(kind, &Header::default(), &plan)
}

fn unwritable(error: ligament_wire::WireError) -> Fault {
    fault!(CHECKPOINT_UNWRITABLE, "a checkpoint cannot be written: {error}")
}
