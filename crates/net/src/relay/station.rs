//! A relay as its users know it: its address and its key. Both are stored in a file that only its owner can
//! read.

use crate::keys::RunKeys;
use crate::private::{self, Unread};
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// Version of the file format.
const VERSION: u32 = 1;

/// The address of a relay, and the key that the relay demands. The key opens this relay and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// Addresses with ports. The machine is given by number or by name.
    pub at: Vec<String>,
    pub(crate) keys: RunKeys,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StationFile {
    #[serde(rename = "ligament relay")]
    version: u32,
    at: Vec<String>,
    secret: String,
}

impl Drop for StationFile {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl StationFile {
    pub fn read(&self) -> Result<Station, Fault> {
        if self.version != VERSION {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "a relay of version {}, where this Ligament knows {VERSION}; use the same version everywhere",
                self.version
            ));
        }
        let Some(keys) = RunKeys::from_hex(&self.secret) else {
            return Err(fault!(RELAY_UNUSABLE, "the relay's secret is not 64 hexadecimal digits"));
        };
        Ok(Station { at: self.at.clone(), keys })
    }
}

impl Station {
    /// Makes a station with a new key.
    ///
    /// # Panics
    /// The kernel has no random numbers.
    pub fn new(at: Vec<String>) -> Station {
        Station { at, keys: RunKeys::make() }
    }

    pub(crate) fn written(&self) -> StationFile {
        StationFile { version: VERSION, at: self.at.clone(), secret: self.keys.to_hex() }
    }

    /// Reads a relay's file, which only its owner can read.
    ///
    /// # Errors
    /// The file cannot be read, other users can read it, or it is not a relay's file.
    pub fn read(path: &Path) -> Result<Station, Fault> {
        let name = path.display();
        let text = private::read(path).map_err(|unread| match unread {
            Unread::Failed(error) => {
                fault!(RELAY_UNUSABLE, "{name}: the relay's file cannot be read: {error}")
            }
            Unread::NoFile => fault!(RELAY_UNUSABLE, "{name} is not a file, as that of a relay is"),
            Unread::Shared(mode) => fault!(
                RELAY_UNUSABLE,
                "{name} can be read or written by others than its owner (mode {mode:04o}), and whoever has it \
                 can use the relay; keep it to yourself (chmod 600)"
            ),
            Unread::Foreign(owner) => {
                fault!(RELAY_UNUSABLE, "{name} belongs to user {owner}, not to you; take a file of your own")
            }
        })?;
        Station::from_text(&text).map_err(|error| error.told(|error| format!("{name}: {error}")))
    }

    /// Reads a text that `to_text` wrote.
    ///
    /// # Errors
    /// The text is not that of a relay's file; the fault says why.
    pub fn from_text(text: &str) -> Result<Station, Fault> {
        let written: StationFile = serde_json::from_str(text)
            .map_err(|error| fault!(RELAY_UNUSABLE, "this is no file of a relay: {error}"))?;
        written.read()
    }

    /// Returns the station as one JSON object.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text =
            Zeroizing::new(serde_json::to_string_pretty(&self.written()).expect("plain fields are written"));
        text.push('\n');
        text
    }

    /// Writes a file that only its owner can read. The file replaces any other of this name, as a whole or
    /// not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        private::write(path, &self.to_text()).map_err(|error| {
            fault!(RELAY_UNUSABLE, "{}: the relay's file cannot be written: {error}", path.display())
        })
    }

    /// Writes a new file. Returns false if there is a file of this name already, which then stays as it is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_new(&self, path: &Path) -> Result<bool, Fault> {
        match private::write_new(path, &self.to_text()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => {
                Err(fault!(RELAY_UNUSABLE, "{}: the relay's file cannot be written: {error}", path.display()))
            }
        }
    }

    /// Returns the relay's name in greetings and logs. The name reveals nothing about the key.
    pub fn name(&self) -> String {
        self.keys.relay().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the addresses by number. Names are looked up, which may take a while.
    ///
    /// # Errors
    /// None of the addresses is known here.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, Fault> {
        let mut all: Vec<SocketAddr> = Vec::new();
        let mut trouble = None;
        for text in &self.at {
            match text.to_socket_addrs() {
                Ok(found) => found.for_each(|address| {
                    if !all.contains(&address) {
                        all.push(address);
                    }
                }),
                Err(error) => trouble = Some(fault!(RELAY_UNUSABLE, "no relay can be at \"{text}\": {error}")),
            }
        }
        match trouble {
            _ if !all.is_empty() => Ok(all),
            Some(why) => Err(why),
            None => {
                Err(fault!(RELAY_UNUSABLE, "the relay's file has no address; start the relay with --address"))
            }
        }
    }
}
