//! The invitation to a run: one JSON object, which is sent by the launcher's channel or stored in a file
//! that only its owner can read.

use crate::keys::{RunKeys, SECRET_BYTES};
use crate::private::{self, Unread};
use crate::relay::route::{DialAddress, Route};
use crate::relay::station::{self, Station};
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The version of this format.
const VERSION: u32 = 1;

/// Everything that is needed to join a run. A process that has the invitation is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Version of the invitation's format: 1.
    pub version: u32,
    /// The name of the run.
    pub run: String,
    /// Addresses of the head of the run.
    pub head: Vec<SocketAddr>,
    /// True if messages are encrypted. Domains prove themselves in either case.
    pub encrypt: bool,
    pub keys: RunKeys,
    /// The head's route over relays. Domains that cannot reach each other meet at the last relay.
    pub relays: Vec<Station>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InvitationFile {
    #[serde(rename = "ligament invitation")]
    version: u32,
    run: String,
    head: Vec<SocketAddr>,
    encrypt: bool,
    /// 64 hexadecimal digits.
    secret: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    relays: Vec<station::StationFile>,
}

impl Drop for InvitationFile {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl Invitation {
    /// Makes an invitation of this version.
    pub fn new(run: impl Into<String>, head: Vec<SocketAddr>, encrypt: bool, keys: RunKeys) -> Invitation {
        Invitation { version: VERSION, run: run.into(), head, encrypt, keys, relays: Vec::new() }
    }

    /// Returns the addresses at which a domain with this route over relays finds the head. Direct addresses
    /// are first, unless the first relays of the domain and of the head differ.
    pub fn places_of_head(&self, way: Option<&Arc<Route>>) -> Vec<DialAddress> {
        let direct: Vec<DialAddress> = self.head.iter().map(|&address| DialAddress::At(address)).collect();
        let Some(way) = way else { return direct };
        let direct = way.also(direct);
        if way.begins_at(self.relays.first()) {
            [direct, way.places()].concat()
        } else {
            [way.places_elsewhere(), direct].concat()
        }
    }

    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    /// The file cannot be read, other users can read it, or it is not an invitation.
    pub fn read(path: &Path) -> Result<Invitation, Fault> {
        let name = path.display();
        let text = private::read(path).map_err(|unread| match unread {
            Unread::Failed(error) => {
                fault!(INVITATION_UNUSABLE, "{name}: the invitation cannot be read: {error}")
            }
            Unread::NoFile => fault!(INVITATION_UNUSABLE, "{name} is not a file; an invitation is"),
            Unread::Shared(mode) => fault!(
                INVITATION_UNUSABLE,
                "{name} can be read or written by others than its owner (mode {mode:04o}), and whoever has an \
                 invitation can join the run; start the run anew, and keep its invitation to yourself (chmod \
                 600)"
            ),
            Unread::Foreign(owner) => fault!(
                INVITATION_UNUSABLE,
                "{name} belongs to user {owner}, not to you; take an invitation of your own run"
            ),
        })?;
        Self::from_text(&text).map_err(|error| error.told(|error| format!("{name}: {error}")))
    }

    /// Writes a new file that only its owner can read. The file replaces any other of this name, as a whole
    /// or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        private::write(path, &self.to_text()).map_err(|error| {
            fault!(INVITATION_UNUSABLE, "{}: the invitation cannot be written: {error}", path.display())
        })
    }

    /// Reads a text that `to_text` wrote.
    ///
    /// # Errors
    /// The text is not an invitation of this version; the fault says why.
    pub fn from_text(text: &str) -> Result<Invitation, Fault> {
        let value: serde_json::Value = serde_json::from_str(text)
            .map_err(|error| fault!(INVITATION_UNUSABLE, "this is no invitation to a run: {error}"))?;
        match value.get("ligament invitation").and_then(serde_json::Value::as_u64) {
            None => {
                return Err(fault!(
                    INVITATION_UNUSABLE,
                    "this is no invitation to a run: it does not say \"ligament invitation\""
                ));
            }
            Some(version) if version != u64::from(VERSION) => {
                return Err(fault!(
                    OTHER_VERSION_ELSEWHERE,
                    "an invitation of version {version}, where this Ligament knows {VERSION}; use the same \
                     version of Ligament everywhere"
                ));
            }
            Some(_) => {}
        }
        let mut written: InvitationFile = serde_json::from_value(value)
            .map_err(|error| fault!(INVITATION_UNUSABLE, "this is no whole invitation to a run: {error}"))?;
        let Some(keys) = RunKeys::from_hex(&written.secret) else {
            return Err(fault!(
                INVITATION_UNUSABLE,
                "the invitation's secret is not {} hexadecimal digits",
                2 * SECRET_BYTES
            ));
        };
        let (run, head) = (std::mem::take(&mut written.run), std::mem::take(&mut written.head));
        let (version, encrypt) = (written.version, written.encrypt);
        let relays = written.relays.iter().map(station::StationFile::read).collect::<Result<_, _>>()?;
        Ok(Invitation { version, run, head, encrypt, keys, relays })
    }

    /// Returns the invitation as one JSON object.
    pub fn to_text(&self) -> Zeroizing<String> {
        let written = InvitationFile {
            version: self.version,
            run: self.run.clone(),
            head: self.head.clone(),
            encrypt: self.encrypt,
            secret: self.keys.to_hex(),
            relays: self.relays.iter().map(Station::written).collect(),
        };
        let mut text =
            Zeroizing::new(serde_json::to_string_pretty(&written).expect("plain fields are written"));
        text.push('\n');
        text
    }
}
