//! A path between two programs without a model.

use crate::misuse::Misuse;
use crate::options::{lig_bool, read, SizePrefixed};
use crate::status::{guard, lig_error, lig_status, name, null, out};
use ligament_instance::{Error, ErrorKind};
use ligament_link::{Key, Options, Path, Request};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::path::{Path as File, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// One end of a path between two programs, without a model. Several threads may use it at once. After
/// `lig_path_close`, calls are refused, and `lig_path_free` does nothing. Each end has a thread of its own,
/// which moves bytes.
pub struct lig_path {
    _opaque: [u8; 0],
}

/// The open paths of this process, by the numbers that C has as pointers. A number is used only once. So a
/// closed or freed path is recognised, and no call uses memory that was freed.
static PATHS: RwLock<BTreeMap<usize, Arc<Path>>> = RwLock::new(BTreeMap::new());
static LAST_NUMBER: AtomicUsize = AtomicUsize::new(0);
/// Distance between two numbers, so that no number looks like a small integer or a character.
const NUMBER_STEP: usize = 4096;

/// Stores a path, and returns the pointer that C gets.
fn kept(path: Path) -> *mut lig_path {
    let number = LAST_NUMBER.fetch_add(NUMBER_STEP, Ordering::Relaxed) + NUMBER_STEP;
    PATHS.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(path));
    std::ptr::without_provenance_mut(number)
}

/// Removes a path from the open ones.
fn taken_out(path: *const lig_path) -> Option<Arc<Path>> {
    PATHS.write().unwrap_or_else(PoisonError::into_inner).remove(&path.addr())
}

/// Options of a path; zero stands for the usual value of each. Both ends must agree on `unencrypted`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_path_options {
    /// `sizeof(lig_path_options)`
    pub size: usize,
    /// Number of bytes that may be under way: sent, and not yet received at the other end. One message may
    /// always be. 0: 64 MiB.
    pub window: u64,
    /// Longest message that is accepted, in bytes. 0: 1 TiB.
    pub longest: u64,
    /// Time after which a path without a connection is lost, s. 0: 60.
    pub patience: f64,
    /// Files of relays, the nearest first. Both ends give the same relay as the last one. NULL if `relay_count`
    /// is 0.
    pub relays: *const *const c_char,
    pub relay_count: usize,
    /// Number of connections, 1 to 256; the end that opens the path decides. 0: as many as the link needs.
    pub streams: u32,
    /// True if messages are not encrypted, on a network that you trust. Both ends still prove that they have
    /// the key.
    pub unencrypted: lig_bool,
    /// True if messages are never compressed. Otherwise large messages are compressed where they then arrive
    /// sooner.
    pub uncompressed: lig_bool,
    /// Must be zero.
    pub reserved: [u8; 2],
    /// Maximum rate at which this end sends over a long distance, in bytes per second, to leave room for other
    /// traffic. 0: no maximum.
    pub pace: u64,
}

// SAFETY: numbers, truth values and nullable pointers, beginning with the size.
unsafe impl SizePrefixed for lig_path_options {
    const NAME: &'static str = "lig_path_options";
}

/// The traffic of a path.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_path_statistics {
    /// Number of messages and bytes that were sent and received since the path was made.
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Number of bytes that were sent and not yet received at the other end.
    pub under_way: u64,
    /// Number of times that all connections were lost.
    pub cuts: u64,
    /// True if there is a connection now.
    pub connected: lig_bool,
}

/// Converts an error of a path.
fn failed(error: ligament_link::PathError) -> Error {
    let kind = match error.kind() {
        ligament_link::PathErrorKind::Usage => ErrorKind::Usage,
        ligament_link::PathErrorKind::Unexpected => ErrorKind::Unexpected,
        ligament_link::PathErrorKind::Closed => ErrorKind::Closed,
        ligament_link::PathErrorKind::TimedOut => ErrorKind::TimedOut,
        ligament_link::PathErrorKind::OutOfMemory => ErrorKind::OutOfMemory,
        _ => ErrorKind::System,
    };
    Error::other(kind, error.fault().clone())
}

/// Returns the time to wait; `None` if the wait has no limit.
fn within(seconds: f64) -> Result<Option<Duration>, Error> {
    if seconds < 0.0 || seconds == f64::INFINITY {
        return Ok(None);
    }
    Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| Misuse::Timeout { seconds }.into())
}

/// Returns the open path behind a pointer of C.
fn known(path: *const lig_path) -> Result<Arc<Path>, Error> {
    if path.is_null() {
        return Err(null("path"));
    }
    let paths = PATHS.read().unwrap_or_else(PoisonError::into_inner);
    paths.get(&path.addr()).cloned().ok_or_else(|| Misuse::PathClosed.into())
}

/// # Safety
/// `data` has `length` bytes, or `length` is 0.
unsafe fn bytes<'a>(data: *const c_void, length: usize, what: &str) -> Result<&'a [u8], Error> {
    match (length, data.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(null(what)),
        _ if isize::try_from(length).is_err() => Err(Misuse::AbsurdSize { size: length }.into()),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { slice::from_raw_parts(data.cast(), length) }),
    }
}

/// # Safety
/// `data` has room for `room` bytes, or `room` is 0.
unsafe fn place<'a>(data: *mut c_void, room: usize) -> Result<&'a mut [u8], Error> {
    match (room, data.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(null("data")),
        _ if isize::try_from(room).is_err() => Err(Misuse::AbsurdSize { size: room }.into()),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { slice::from_raw_parts_mut(data.cast(), room) }),
    }
}

/// # Safety
/// As for `lig_path_open`.
unsafe fn prepared(key_file: *const c_char, options: *const lig_path_options) -> Result<(Key, Options), Error> {
    // SAFETY: as the caller promises.
    let (file, given) = unsafe { (name(key_file, "key_file")?, read(options)?) };
    if given.reserved != [0; 2] {
        return Err(Misuse::NewerMembers { name: lig_path_options::NAME }.into());
    }
    let mut options = Options { encrypt: given.unencrypted == 0, ..Options::default() };
    options.compress = given.uncompressed == 0;
    if given.streams != 0 {
        options.streams = u16::try_from(given.streams).unwrap_or(u16::MAX);
    }
    if given.window != 0 {
        options.window = given.window;
    }
    if given.longest != 0 {
        options.longest = given.longest;
    }
    options.pace = Some(given.pace).filter(|&pace| pace > 0);
    if given.patience != 0.0 {
        let patience = Duration::try_from_secs_f64(given.patience);
        options.patience = patience.map_err(|_| Misuse::Timeout { seconds: given.patience })?;
    }
    if given.relay_count > 0 && given.relays.is_null() {
        return Err(null("relays"));
    }
    for at in 0..given.relay_count {
        // SAFETY: the caller has so many.
        let relay = unsafe { name(*given.relays.add(at), "a relay's file")? };
        options.relays.push(PathBuf::from(relay));
    }
    let key = Key::read(File::new(file)).map_err(|fault| Error::other(ErrorKind::System, fault))?;
    Ok((key, options))
}

/// Makes a new key for paths, in a new file that only its owner can read. The other end needs a copy of it.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_key_make(file: *const c_char, error: *mut lig_error) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let file = unsafe { name(file, "file")? };
        Key::make().write(File::new(file)).map_err(|fault| Error::other(ErrorKind::System, fault))
    })
}

/// Listens at "HOST:PORT" for the end that opens the path, or at ":PORT" for all interfaces. Port 0 takes any
/// free port. Returns at once; messages that are sent before there is a connection wait. `options` may be NULL.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_listen(
    key_file: *const c_char,
    at: *const c_char,
    options: *const lig_path_options,
    path: *mut *mut lig_path,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (at, path) = unsafe { (name(at, "at")?, out(path, "path")?) };
        path.write(std::ptr::null_mut());
        // SAFETY: as the caller promises.
        let (key, options) = unsafe { prepared(key_file, options)? };
        let made = Path::listen(&key, at, &options).map_err(failed)?;
        path.write(kept(made));
        Ok(())
    })
}

/// Opens a path to an end that listens, or will listen, at "HOST:PORT"; NULL if it is reached over relays only.
/// Returns at once; messages that are sent before there is a connection wait. `options` may be NULL.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_open(
    key_file: *const c_char,
    to: *const c_char,
    options: *const lig_path_options,
    path: *mut *mut lig_path,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let path = unsafe { out(path, "path")? };
        path.write(std::ptr::null_mut());
        // SAFETY: as the caller promises.
        let (key, options) = unsafe { prepared(key_file, options)? };
        let to = if to.is_null() {
            Vec::new()
        } else {
            // SAFETY: as the caller promises.
            vec![unsafe { name(to, "to")? }]
        };
        let made = Path::open(&key, &to, &options).map_err(failed)?;
        path.write(kept(made));
        Ok(())
    })
}

/// Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them. That end listens,
/// unless another program there already does so. Returns at once; messages that are sent before there is a
/// connection wait. `options` may be NULL.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_meet(
    key_file: *const c_char,
    at: *const c_char,
    options: *const lig_path_options,
    path: *mut *mut lig_path,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (at, path) = unsafe { (name(at, "at")?, out(path, "path")?) };
        path.write(std::ptr::null_mut());
        // SAFETY: as the caller promises.
        let (key, options) = unsafe { prepared(key_file, options)? };
        path.write(kept(Path::meet(&key, at, &options).map_err(failed)?));
        Ok(())
    })
}

/// The port at which a path listens; 0 at the end that opened it.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_port(
    path: *const lig_path,
    port: *mut u16,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, port) = unsafe { (known(path)?, out(port, "port")?) };
        port.write(path.addresses().first().map_or(0, std::net::SocketAddr::port));
        Ok(())
    })
}

/// Waits until there is a connection; not needed before a send or receive. Timeouts of all calls of paths are
/// in seconds; a negative one means no limit. `LIG_ERR_TIMED_OUT` if there was no connection in this time.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_wait_connected(
    path: *const lig_path,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || known(path)?.wait_connected(within(timeout)?).map_err(failed))
}

/// Sends a message of `length` bytes. Returns when `data` may be used again, which is before the message has
/// arrived. Waits while more bytes than the window are under way. After `LIG_ERR_TIMED_OUT` nothing was sent.
///
/// # Safety
/// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_send(
    path: *const lig_path,
    data: *const c_void,
    length: usize,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, bytes) = unsafe { (known(path)?, bytes(data, length, "data")?) };
        path.send(bytes, within(timeout)?).map_err(failed)
    })
}

/// Bytes of the caller that stay unchanged until they have arrived.
struct LentBytes {
    data: *const u8,
    length: usize,
}

// SAFETY: the caller of `lig_path_isend` promises that nobody changes or frees the bytes meanwhile.
unsafe impl Send for LentBytes {}
// SAFETY: as above.
unsafe impl Sync for LentBytes {}

impl AsRef<[u8]> for LentBytes {
    fn as_ref(&self) -> &[u8] {
        match self.length {
            0 => &[],
            // SAFETY: as above.
            _ => unsafe { slice::from_raw_parts(self.data, self.length) },
        }
    }
}

/// Begins to send a message without a copy. `data` must stay unchanged until one of these: `lig_path_wait` has
/// ended the request, or has failed because the path is lost or closed; or this end is closed or freed.
/// `lig_path_test` tells if the message has arrived.
///
/// # Safety
/// All pointers are valid; `data` may be NULL if `length` is 0, and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_isend(
    path: *const lig_path,
    data: *const c_void,
    length: usize,
    request: *mut u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, request) = unsafe { (known(path)?, out(request, "request")?) };
        // SAFETY: as the caller promises.
        unsafe { bytes(data, length, "data")? };
        request.write(path.isend(LentBytes { data: data.cast(), length }).map_err(failed)?.number());
        Ok(())
    })
}

/// Begins to receive the next message for which there is no request yet; `lig_path_wait` returns the message.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_ireceive(
    path: *const lig_path,
    request: *mut u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, request) = unsafe { (known(path)?, out(request, "request")?) };
        request.write(path.ireceive().number());
        Ok(())
    })
}

/// True if a request is done: the sent message has arrived at the other end, or a message has arrived here.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_test(
    path: *const lig_path,
    request: u64,
    done: *mut lig_bool,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, done) = unsafe { (known(path)?, out(done, "done")?) };
        done.write(path.test(Request::from_number(request)).map_err(failed)?.into());
        Ok(())
    })
}

/// Waits until a request is done, and ends it. A received message is written to `data`, which has room for
/// `room` bytes, and its length to `length`; a request that sends needs neither. `LIG_ERR_UNEXPECTED` if there
/// is not enough room: `length` is then the needed room, and the request stays. The request also stays after
/// `LIG_ERR_TIMED_OUT`.
///
/// # Safety
/// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_wait(
    path: *const lig_path,
    request: u64,
    data: *mut c_void,
    room: usize,
    length: *mut usize,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, place) = unsafe { (known(path)?, place(data, room)?) };
        let came = path.wait_into(Request::from_number(request), place, within(timeout)?);
        // SAFETY: as the caller promises.
        unsafe { told(came, length) }
    })
}

/// Withdraws a request for a message. The next request gets the message that has come for it. A request that
/// sends cannot be withdrawn.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_cancel(
    path: *const lig_path,
    request: u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || known(path)?.cancel(Request::from_number(request)).map_err(failed))
}

/// Waits for the next message, and gives its length in bytes.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_probe(
    path: *const lig_path,
    length: *mut usize,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, length) = unsafe { (known(path)?, out(length, "length")?) };
        length.write(path.probe(within(timeout)?).map_err(failed)? as usize);
        Ok(())
    })
}

/// Receives the next message into `data`, which has room for `room` bytes, and writes its length to `length`.
/// `LIG_ERR_UNEXPECTED` if there is not enough room: `length` is then the needed room, and the message stays.
/// `LIG_ERR_CLOSED` if the other end has closed the path and no message is left.
///
/// # Safety
/// All pointers are valid; `data` may be NULL if `room` is 0, and `length` and `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_receive(
    path: *const lig_path,
    data: *mut c_void,
    room: usize,
    length: *mut usize,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, place) = unsafe { (known(path)?, place(data, room)?) };
        let came = path.receive_into(place, within(timeout)?);
        // SAFETY: as the caller promises.
        unsafe { told(came, length) }
    })
}

/// Writes the length of a message that came, or for which there is not enough room.
///
/// # Safety
/// `length` is NULL or writable.
unsafe fn told(came: Result<usize, ligament_link::PathError>, length: *mut usize) -> Result<(), Error> {
    let needed = match &came {
        Ok(length) => Some(*length),
        Err(error) => error.needed().and_then(|needed| usize::try_from(needed).ok()),
    };
    // SAFETY: as the caller promises.
    if let (Some(needed), Some(length)) = (needed, unsafe { crate::status::wanted(length) }) {
        length.write(needed);
    }
    came.map(|_| ()).map_err(failed)
}

/// Sends a message and receives one at the same time, as `lig_path_send` and `lig_path_receive` do. After
/// `LIG_ERR_TIMED_OUT` and `LIG_ERR_UNEXPECTED` the message was sent: call `lig_path_receive` then, and do not
/// send again.
///
/// # Safety
/// All pointers are valid; `data` and `place` may be NULL where there are 0 bytes, and `received` and `error`
/// may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_send_receive(
    path: *const lig_path,
    data: *const c_void,
    length: usize,
    into: *mut c_void,
    room: usize,
    received: *mut usize,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, bytes, place) = unsafe { (known(path)?, bytes(data, length, "data")?, place(into, room)?) };
        let timeout = within(timeout)?;
        let came = path.send_receive_into(bytes, place, timeout);
        // SAFETY: as the caller promises.
        unsafe { told(came, received) }
    })
}

/// Waits until the other end also calls this function.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_barrier(
    path: *const lig_path,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || known(path)?.barrier(within(timeout)?).map_err(failed))
}

/// Changes the maximum rate at which this end sends over a long distance, in bytes per second; 0: no maximum.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_set_pace(
    path: *const lig_path,
    pace: u64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || known(path)?.set_pace(Some(pace).filter(|&pace| pace > 0)).map_err(failed))
}

/// The traffic.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_get_statistics(
    path: *const lig_path,
    statistics: *mut lig_path_statistics,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: as the caller promises.
        let (path, place) = unsafe { (known(path)?, out(statistics, "statistics")?) };
        let seen = path.statistics();
        place.write(lig_path_statistics {
            sent: seen.sent,
            sent_bytes: seen.sent_bytes,
            received: seen.received,
            received_bytes: seen.received_bytes,
            under_way: seen.under_way,
            cuts: seen.cuts,
            connected: seen.connected.into(),
        });
        Ok(())
    })
}

/// Waits until everything that was sent has arrived, tells the other end that no more messages come, and frees
/// the path. The path is freed whatever the result is. Later calls are refused, except for `lig_path_close` and
/// `lig_path_free`, which then do nothing. NULL does nothing.
///
/// # Safety
/// `error` is valid or NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_path_close(
    path: *mut lig_path,
    timeout: f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // NULL and the pointer of a closed path are not in the table.
        let Some(path) = taken_out(path) else { return Ok(()) };
        let timeout = within(timeout).inspect_err(|_| path.stop())?;
        path.end(timeout).map_err(failed)
    })
}

/// Frees a path at once. Messages under way are lost. NULL, and a path that is closed or freed, do nothing.
#[no_mangle]
pub extern "C" fn lig_path_free(path: *mut lig_path) {
    crate::status::guard_or((), || {
        if let Some(path) = taken_out(path) {
            path.stop();
        }
    });
}
