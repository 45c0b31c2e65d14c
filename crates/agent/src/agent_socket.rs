//! The socket on which an agent listens. The socket lies in a directory of its own. Only the agent's user
//! may enter that directory, and it is removed together with the socket. If no such directory can be made,
//! the socket has an abstract name instead.
//!
//! An abstract socket disappears with its process. But every user may connect to it, and may take its name
//! afterwards. `TMPDIR` or `/tmp` is tried before `XDG_RUNTIME_DIR`, because the latter is removed when the
//! user logs out. If the agent cannot remove the directory, the guard does. In any case, clients check
//! which user's process answers.

use crate::sys::random_hex;
use ligament_catalogue::{fault, Fault};
use ligament_launch::Guard;
use ligament_shm::socket::address_of;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{bind, listen, socket_with, AddressFamily, SocketFlags, SocketType};
use std::ffi::OsString;
use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Maximum number of connections that wait in the kernel to be accepted. The kernel may allow fewer.
pub(crate) const MAX_PENDING_CONNECTIONS: i32 = 4096;
/// Mode bits of a directory. `MODE_OTHERS_WRITE` lets users other than the owner write. `MODE_STICKY` lets only
/// the owner of an entry remove this entry.
const MODE_OTHERS_WRITE: u32 = 0o022;
const MODE_STICKY: u32 = 0o1000;

/// A listening socket and its address.
#[derive(Debug)]
pub(crate) struct AgentSocket {
    socket: OwnedFd,
    /// The address in the form of `LIGAMENT_AGENT`.
    address: String,
    directory: Option<SocketDirectory>,
}

/// A directory that holds a socket and nothing else. It is removed when this value is dropped, or by the guard
/// if this process is killed.
#[derive(Debug)]
pub(crate) struct SocketDirectory(PathBuf);

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        ligament_launch::remove_socket(&socket_in(&self.0));
    }
}

fn socket_in(directory: &Path) -> PathBuf {
    directory.join("agent")
}

impl AgentSocket {
    /// Opens the agent's socket and listens on it.
    ///
    /// # Errors
    /// Returns an error if no socket can be made.
    pub fn find(guard: &mut Guard) -> Result<AgentSocket, Fault> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR");
        AgentSocket::below(guard, &places(std::env::temp_dir(), runtime))
    }

    fn below(guard: &mut Guard, places: &[PathBuf]) -> Result<AgentSocket, Fault> {
        for place in places {
            if let Ok(Some(found)) = AgentSocket::in_directory(guard, place) {
                return Ok(found);
            }
        }
        let address = format!("@ligament-{}", random_hex()?);
        let socket = listen_at(&address)
            .map_err(|error| fault!(CANNOT_WATCH, "the run's socket cannot be made: {error}"))?;
        Ok(AgentSocket { socket, address, directory: None })
    }

    /// Makes a new directory below `place` and a socket in it, if the directory belongs to this user alone.
    fn in_directory(guard: &mut Guard, place: &Path) -> Result<Option<AgentSocket>, Fault> {
        let me = rustix::process::geteuid().as_raw();
        if !std::fs::metadata(place).is_ok_and(|found| is_safe(&found, me)) {
            return Ok(None);
        }
        // The name has sixteen random digits only, because the path of a socket may have at most 107 bytes.
        let path = place.join(format!("ligament-{}", &random_hex()?[..16]));
        let socket = socket_in(&path);
        let Some(address) = socket.to_str().filter(|text| address_of(text).is_ok()) else { return Ok(None) };
        let address = address.to_owned();
        // The guard learns the path before the directory exists. Otherwise no process would remove the
        // socket if this process were killed in between.
        guard.remove_at_end(&socket);
        if DirBuilder::new().mode(0o700).create(&path).is_err() {
            return Ok(None);
        }
        let directory = SocketDirectory(path);
        // Some file systems ignore the requested mode. A directory that others may enter is not used.
        let alone = std::fs::symlink_metadata(&directory.0)
            .is_ok_and(|made| made.uid() == me && made.mode() & 0o777 == 0o700);
        if !alone {
            return Ok(None);
        }
        let Ok(socket) = listen_at(&address) else { return Ok(None) };
        Ok(Some(AgentSocket { socket, address, directory: Some(directory) }))
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the socket and its directory. The caller must keep the directory as long as it uses the
    /// socket.
    pub fn into_parts(self) -> (OwnedFd, Option<SocketDirectory>) {
        (self.socket, self.directory)
    }
}

/// Returns the directories below which the socket's directory may be made, the best first. The directory of
/// the user's login session is last: it is removed when the user logs out, and a run may last longer.
fn places(temporary: PathBuf, runtime: Option<OsString>) -> Vec<PathBuf> {
    let all = [Some(temporary), Some("/tmp".into()), runtime.map(PathBuf::from)];
    let mut places: Vec<PathBuf> = all.into_iter().flatten().filter(|place| place.is_absolute()).collect();
    places.dedup();
    places
}

/// Returns true if only this user and root can replace a directory that this user makes below `place`.
fn is_safe(place: &Metadata, me: u32) -> bool {
    place.is_dir()
        && [0, me].contains(&place.uid())
        && (place.mode() & MODE_OTHERS_WRITE == 0 || place.mode() & MODE_STICKY != 0)
}

fn listen_at(address: &str) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &address_of(address)?)?;
    listen(&socket, MAX_PENDING_CONNECTIONS)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Makes a directory with this mode, below which the directory of a socket can be made.
    fn directory(name: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-place-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn guard() -> Guard {
        Guard::start(|_| {}).unwrap()
    }

    #[test]
    fn a_socket_lies_in_a_directory_of_its_own_which_goes_with_it() {
        let (mut guard, above) = (guard(), directory("own", 0o700));
        let place = AgentSocket::below(&mut guard, std::slice::from_ref(&above)).unwrap();
        let socket = PathBuf::from(place.address());
        assert!(socket.starts_with(&above));
        let own = socket.parent().unwrap();
        assert_eq!(std::fs::metadata(own).unwrap().mode() & 0o777, 0o700);
        drop(place);
        assert!(!own.exists());
        std::fs::remove_dir(above).unwrap();
    }

    #[test]
    fn a_place_that_is_too_long_or_not_there_or_anybodys_is_passed_over() {
        let long = directory(&"x".repeat(80), 0o700);
        let (anybodys, good) = (directory("anybodys", 0o777), directory("good", 0o1777));
        let mut guard = guard();
        let places = [long.clone(), "/nowhere".into(), anybodys.clone(), good.clone()];
        let place = AgentSocket::below(&mut guard, &places).unwrap();
        assert!(Path::new(place.address()).starts_with(&good), "{}", place.address());
        let none = AgentSocket::below(&mut guard, &places[..3]).unwrap();
        assert!(none.address().starts_with("@ligament-"), "{}", none.address());
        drop(place);
        for one in [long, anybodys, good] {
            std::fs::remove_dir(one).unwrap();
        }
    }

    #[test]
    fn the_directory_of_a_login_session_is_the_last_that_is_taken() {
        let found = places("/scratch/tmp".into(), Some("/run/user/7".into()));
        assert_eq!(found, ["/scratch/tmp", "/tmp", "/run/user/7"].map(PathBuf::from));
        assert_eq!(places("/tmp".into(), Some("relative".into())), ["/tmp"].map(PathBuf::from));
    }
}
