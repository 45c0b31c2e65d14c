//! Reading the file of an instance from a checkpoint, and putting its contents back into place.

use super::values::message_of_state;
use super::{ChannelName, CheckpointState};
use crate::error::{Error, ErrorKind};
use crate::instance::Instance;
use crate::message::Message;
use crate::overlay::from_value;
use crate::receive::settings_of;
use crate::transport::Transport;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{read_file, CheckpointFile, MessageRecord, RecordKind, SavePoint};
use ligament_model::Settings;
use ligament_shm::endpoint::ChannelRemainder;
use ligament_wire::fields::Fields;
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

/// Returns the settings in a field.
fn settings(fields: &Fields<'_>, key: &str) -> Option<Settings> {
    from_value(fields.get(key)?)
}

impl Instance {
    /// Reads the file from which this instance resumes, and restores the library's state and the messages
    /// that were under way.
    pub(super) fn restore(&mut self, path: &Path, state: &CheckpointState) -> Result<ResumedState, Error> {
        let name = &state.name;
        let restored = read_file(path).and_then(|file| {
            if file.info.instance != *name {
                return Err(refused(path, &format!("it is of {}, and this is {name}", file.info.instance)));
            }
            self.restore_from(&file, state)
                .ok_or_else(|| refused(path, "it is incomplete"))?
                .map_err(|why| refused(path, why.text()))
        });
        restored.map_err(|fault| Error::other(ErrorKind::Registration, fault))
    }

    /// Returns `None` if something is missing, or has another type.
    fn restore_from(
        &mut self,
        file: &CheckpointFile,
        state: &CheckpointState,
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
                RecordKind::Library => match self.restore_library(&value, state)? {
                    Ok(again) => resumed.again = again,
                    Err(why) => return Some(Err(why)),
                },
                _ => {
                    if let Err(why) = self.restore_channels(&value, &file.records, &state.channels)? {
                        return Some(Err(why));
                    }
                }
            }
        }
        Some(Ok(resumed))
    }

    /// Returns true if a pass was to follow.
    fn restore_library(&mut self, value: &Value, state: &CheckpointState) -> Option<Result<bool, Fault>> {
        let fields = Fields::of(value)?;
        self.set_passes(fields.count("passes")?);
        self.overlays.restore(settings(&fields, "overlay")?, settings(&fields, "implicit"));
        self.steered = settings(&fields, "steered")?;
        for one in fields.list("initial")? {
            let one = Fields::of(one)?;
            let place = (self.table.find(one.text("port")?).ok()?, one.index("slot")?);
            let (mut message, overlay) = message_of_state(one.get("message")?)?;
            if self.flags.dont_apply_overlay {
                message.settings = Some(settings_of(overlay.clone()));
            }
            self.initial.insert(place, (message, overlay));
        }
        for slots in fields.list("slots")? {
            let slots = Fields::of(slots)?;
            let port = self.table.find(slots.text("port")?).ok()?;
            self.table.ports[port].restore_slots(&slots)?;
        }
        let again = fields.truth("again")?;
        self.restore_timeline(fields.get("timeline")?, again)?;
        self.restore_held(fields.list("held")?, &state.sends)?;
        self.restore_exchanges(fields.get("exchanges")?)?;
        if let Err(why) = self.restore_filters(fields.list("filters")?)? {
            return Some(Err(why));
        }
        Some(Ok(again))
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
