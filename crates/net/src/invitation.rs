//! The invitation to a run: one JSON object, which travels by the launcher's channel or lies in a file that
//! only its owner can read.

use crate::keys::{RunKeys, SECRET_BYTES};
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// The version of this format.
const VERSION: u32 = 1;
/// The maximum length of an invitation (bytes).
const LONGEST: u64 = 1 << 20;

/// Everything that is needed to join a run. Whoever has it is admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Of this format: 1.
    pub version: u32,
    /// What the run is called.
    pub run: String,
    /// Where the head of the run can be reached.
    pub head: Vec<SocketAddr>,
    /// Whether messages are encrypted. Domains prove themselves in either case.
    pub encrypt: bool,
    pub keys: RunKeys,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "ligament invitation")]
    version: u32,
    run: String,
    head: Vec<SocketAddr>,
    encrypt: bool,
    /// 64 hexadecimal digits.
    secret: String,
}

impl Drop for Written {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl Invitation {
    /// An invitation of this version.
    pub fn new(run: impl Into<String>, head: Vec<SocketAddr>, encrypt: bool, keys: RunKeys) -> Invitation {
        Invitation { version: VERSION, run: run.into(), head, encrypt, keys }
    }

    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is no invitation.
    pub fn read(path: &Path) -> Result<Invitation, Fault> {
        let name = path.display();
        let failed =
            |error: io::Error| fault!(INVITATION_UNUSABLE, "{name}: the invitation cannot be read: {error}");
        // Non-blocking, so that a pipe in its place cannot hang the reader.
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(fault!(INVITATION_UNUSABLE, "{name} is not a file; an invitation is"));
        }
        let mode = about.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(fault!(
                INVITATION_UNUSABLE,
                "{name} can be read or written by others than its owner (mode {mode:04o}), and whoever has an \
                 invitation can join the run; start the run anew, and keep its invitation to yourself (chmod 600)"
            ));
        }
        let (mine, owner) = (rustix::process::geteuid().as_raw(), about.uid());
        if owner != mine && owner != 0 && mine != 0 {
            return Err(fault!(
                INVITATION_UNUSABLE,
                "{name} belongs to user {owner}, not to you; take an invitation of your own run"
            ));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
        Self::from_text(&text).map_err(|error| error.told(|error| format!("{name}: {error}")))
    }

    /// Writes a new file that only its owner can read, in place of any other; whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.new", std::process::id()));
        let fresh = path.with_file_name(name);
        let written = (|| {
            let _ = fs::remove_file(&fresh);
            let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
            file.write_all(self.to_text().as_bytes())?;
            fs::rename(&fresh, path)
        })();
        written.map_err(|error: io::Error| {
            let _ = fs::remove_file(&fresh);
            fault!(INVITATION_UNUSABLE, "{}: the invitation cannot be written: {error}", path.display())
        })
    }

    /// Reads what `to_text` wrote.
    ///
    /// # Errors
    /// With what is wrong.
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
                    "an invitation of version {version}, where this Ligament knows {VERSION}; use the same version \
                     of Ligament everywhere"
                ));
            }
            Some(_) => {}
        }
        let mut written: Written = serde_json::from_value(value)
            .map_err(|error| fault!(INVITATION_UNUSABLE, "this is no whole invitation to a run: {error}"))?;
        let Some(secret) = from_hex(&written.secret) else {
            return Err(fault!(
                INVITATION_UNUSABLE,
                "the invitation's secret is not {} hexadecimal digits",
                2 * SECRET_BYTES
            ));
        };
        let (run, head) = (std::mem::take(&mut written.run), std::mem::take(&mut written.head));
        let (version, encrypt) = (written.version, written.encrypt);
        Ok(Invitation { version, run, head, encrypt, keys: RunKeys::from_secret(secret) })
    }

    /// One JSON object.
    pub fn to_text(&self) -> Zeroizing<String> {
        let written = Written {
            version: self.version,
            run: self.run.clone(),
            head: self.head.clone(),
            encrypt: self.encrypt,
            secret: self.keys.secret().iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        let mut text =
            Zeroizing::new(serde_json::to_string_pretty(&written).expect("plain fields are written"));
        text.push('\n');
        text
    }
}

fn from_hex(text: &str) -> Option<Zeroizing<[u8; SECRET_BYTES]>> {
    if text.len() != 2 * SECRET_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}
