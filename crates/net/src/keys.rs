//! What the domains of a run hold in common: its keys, and the invitation that carries them.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

/// The keys of one run: a secret by which domains know each other, and the certificate that encryption is pinned to.
#[derive(Clone)]
pub struct RunKeys {}

impl RunKeys {
    /// New keys.
    pub fn make() -> RunKeys {
        todo!()
    }
}

impl fmt::Debug for RunKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKeys(…)")
    }
}

/// What somebody needs to join a run. Whoever has it is let in.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// Of this format: 1.
    pub version: u32,
    /// What the run is called.
    pub run: String,
    /// Where the head of the run can be reached.
    pub head: Vec<SocketAddr>,
    /// Whether what is said is encrypted. Who says it is proved in any case.
    pub encrypt: bool,
    pub keys: RunKeys,
}

/// Why an invitation is not taken: what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationError(pub String);

impl fmt::Display for InvitationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvitationError {}

impl Invitation {
    /// An invitation of this version.
    pub fn new(run: impl Into<String>, head: Vec<SocketAddr>, encrypt: bool, keys: RunKeys) -> Invitation {
        Invitation { version: 1, run: run.into(), head, encrypt, keys }
    }

    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is no invitation.
    pub fn read(path: &Path) -> Result<Invitation, InvitationError> {
        let _ = path;
        todo!()
    }

    /// Writes a new file that only its owner can read, in place of any other.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), InvitationError> {
        let _ = path;
        todo!()
    }

    /// Reads what `to_text` wrote.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn from_text(text: &str) -> Result<Invitation, InvitationError> {
        let _ = text;
        todo!()
    }

    /// One JSON object.
    pub fn to_text(&self) -> String {
        todo!()
    }
}
