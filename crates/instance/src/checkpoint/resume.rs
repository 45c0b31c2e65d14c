//! Reading the file of an instance from a checkpoint, and putting its contents back into place.

use super::ChannelName;
use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::message::Message;
use crate::overlay::from_value;
use crate::transport::Transport;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{read_file, CheckpointFile, MessageRecord, RecordKind, SavePoint};
use ligament_model::Settings;
use ligament_shm::endpoint::ChannelRemainder;
use ligament_wire::{decode_body, Limits, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The state from which an instance resumes, until its first pass has loaded it.
pub(crate) struct ResumedState {
    pub moment: f64,
    pub point: SavePoint,
    /// The message that the code has saved.
    pub state: Option<Message>,
    /// True if a pass was to follow.
    pub again: bool,
}

/// The fields of a map by name.
struct Fields<'a>(HashMap<&'a str, &'a Value>);

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Option<Fields<'a>> {
        let Value::Map(entries) = value else { return None };
        Some(Fields(entries.iter().map(|(key, value)| (key.as_str(), value)).collect()))
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).copied()
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        match self.get(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Int(count) => u64::try_from(*count).ok(),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    fn settings(&self, key: &str) -> Option<Settings> {
        from_value(self.get(key)?)
    }
}

impl Instance {
    /// Reads the file from which this instance resumes, and restores the library's state and the messages
    /// that were under way.
    pub(super) fn restore(
        &mut self,
        path: &Path,
        name: &str,
        channels: &[ChannelName],
    ) -> Result<ResumedState, Error> {
        let restored = read_file(path).and_then(|file| {
            if file.info.instance != name {
                return Err(refused(path, &format!("it is of {}, and this is {name}", file.info.instance)));
            }
            self.restore_from(&file, channels)
                .ok_or_else(|| refused(path, "it is incomplete"))?
                .map_err(|why| refused(path, why.text()))
        });
        restored.map_err(|fault| Error::other(ErrorKind::Registration, fault))
    }

    /// Returns `None` if something is missing, or has another type.
    fn restore_from(
        &mut self,
        file: &CheckpointFile,
        channels: &[ChannelName],
    ) -> Option<Result<ResumedState, Fault>> {
        let mut resumed =
            ResumedState { moment: file.info.moment.0, point: file.info.point, state: None, again: false };
        if resumed.point == SavePoint::Over {
            return Some(Ok(resumed));
        }
        for record in &file.records {
            let value = match record.kind {
                RecordKind::State | RecordKind::Library | RecordKind::Channels => value_of(record)?,
                _ => continue,
            };
            match record.kind {
                RecordKind::State => {
                    let (timestamp, next_timestamp) = (record.header.timestamp, record.header.next_timestamp);
                    resumed.state =
                        Some(Message { timestamp, next_timestamp, data: value, ..Message::default() });
                }
                RecordKind::Library => resumed.again = self.restore_library(&value)?,
                _ => {
                    if let Err(why) = self.restore_channels(&value, &file.records, channels)? {
                        return Some(Err(why));
                    }
                }
            }
        }
        Some(Ok(resumed))
    }

    fn restore_library(&mut self, value: &Value) -> Option<bool> {
        let fields = Fields::of(value)?;
        self.set_passes(fields.count("passes")?);
        self.overlays.restore(fields.settings("overlay")?, fields.settings("implicit"));
        self.steered = fields.settings("steered")?;
        let Value::List(initial) = fields.get("initial")? else { return None };
        for one in initial {
            let one = Fields::of(one)?;
            let port = self.table.find(one.text("port")?).ok()?;
            let message = Message {
                timestamp: one.number("timestamp")?,
                next_timestamp: one.number("next_timestamp"),
                data: one.get("data")?.clone(),
                ..Message::default()
            };
            let overlay = Some(one.get("overlay")?).filter(|overlay| !matches!(overlay, Value::None));
            let slot = usize::try_from(one.count("slot")?).ok()?;
            self.initial.insert((port, slot), (message, overlay.cloned().map(Arc::new)));
        }
        match fields.get("again")? {
            Value::Bool(again) => Some(*again),
            _ => None,
        }
    }

    fn restore_channels(
        &mut self,
        value: &Value,
        records: &[MessageRecord],
        channels: &[ChannelName],
    ) -> Option<Result<(), Fault>> {
        let Value::List(saved) = value else { return None };
        let mut remainders = HashMap::new();
        for (index, one) in saved.iter().enumerate() {
            let one = Fields::of(one)?;
            let name = ChannelName {
                port: one.text("port")?.to_owned(),
                slot: one.count("slot").and_then(|slot| u32::try_from(slot).ok()),
                from: one.text("from")?.to_owned(),
            };
            let Some(here) = channels.iter().position(|known| *known == name) else {
                let ChannelName { port, from, .. } = name;
                let lacks = fault!(
                    CHECKPOINT_UNREADABLE,
                    "it has a conduit from {from} to {port}, which the model has not"
                );
                return Some(Err(lacks));
            };
            let remainder = ChannelRemainder { dropped: one.count("dropped")?, ..ChannelRemainder::default() };
            remainders.insert(index as u32, (here, remainder));
        }
        if remainders.len() != channels.len() {
            let (there, here) = (remainders.len(), channels.len());
            let why = fault!(CHECKPOINT_UNREADABLE, "it has {there} conduits, and the model has {here}");
            return Some(Err(why));
        }
        let mut overlay = None;
        for record in records {
            match record.kind {
                RecordKind::Overlay => overlay = Some(Arc::new(value_of(record)?)),
                RecordKind::UnderWay => {
                    let (_, remainder) = remainders.get_mut(&record.number)?;
                    remainder.under_way.push((record.header, record.body.clone(), overlay.take()));
                }
                _ => {}
            }
        }
        let Transport::Own(endpoint) = &mut self.endpoint else { return None };
        for (index, remainder) in remainders.into_values() {
            endpoint.restore_channel(index, remainder);
        }
        Some(Ok(()))
    }
}

fn value_of(record: &MessageRecord) -> Option<Value> {
    decode_body(record.header.parts, record.body.clone(), &Limits::default()).ok()
}

fn refused(path: &Path, why: &str) -> Fault {
    fault!(CHECKPOINT_UNREADABLE, "this instance cannot resume from {}: {why}", path.display())
}
