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

/// The paths of this process that are not closed, by the numbers that C has for pointers: no number is used
/// twice, so that a path that is closed or freed is recognised, and no call meets memory that is gone.
static PATHS: RwLock<BTreeMap<usize, Arc<Path>>> = RwLock::new(BTreeMap::new());
static LAST_NUMBER: AtomicUsize = AtomicUsize::new(0);
/// Numbers lie so far apart, so that none looks like a small integer or a character.
const NUMBER_STEP: usize = 4096;

/// Keeps a path, and gives what C has for it.
fn kept(path: Path) -> *mut lig_path {
    let number = LAST_NUMBER.fetch_add(NUMBER_STEP, Ordering::Relaxed) + NUMBER_STEP;
    PATHS.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(path));
    std::ptr::without_provenance_mut(number)
}

/// Takes a path out of those that can be used.
fn taken_out(path: *const lig_path) -> Option<Arc<Path>> {
    PATHS.write().unwrap_or_else(PoisonError::into_inner).remove(&path.addr())
}

/// How a path is to be; all zero is what is usual. Both ends must agree on `unencrypted`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_path_options {
    /// `sizeof(lig_path_options)`
    pub size: usize,
    /// The number of bytes that may be sent and not yet be received there; one message always may. 0: 64 MiB.
    pub window: u64,
    /// The longest message that is accepted, bytes. 0: 1 TiB.
    pub longest: u64,
    /// For how long the path may be without a connection before it is lost, s. 0: 60.
    pub patience: f64,
    /// Files of relays, the nearest first; both ends name the same one last. NULL if `relay_count` is 0.
    pub relays: *const *const c_char,
    pub relay_count: usize,
    /// Connections, 1 to 256: the opening end says how many. 0: as many as the link needs.
    pub streams: u32,
    /// Do not encrypt messages, on a network that you trust. Both ends prove that they hold the key all the
    /// same.
    pub unencrypted: lig_bool,
    /// Never compress messages; else large ones are where that makes them arrive sooner.
    pub uncompressed: lig_bool,
    /// Zero.
    pub reserved: [u8; 2],
    /// Bytes in a second that this end sends over a long way, at most, to leave room for others. 0: as fast as
    /// it goes.
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
    /// Messages and their bytes, sent and received, ever.
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Bytes sent that were not received there yet.
    pub under_way: u64,
    /// How often all connections were lost.
    pub cuts: u64,
    /// True if there is a connection now.
    pub connected: lig_bool,
}

/// An error of a path, as the core of the C ABI has it.
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

/// How long to wait; none: as long as it takes.
fn within(seconds: f64) -> Result<Option<Duration>, Error> {
    if seconds < 0.0 || seconds == f64::INFINITY {
        return Ok(None);
    }
    Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| Misuse::Timeout { seconds }.into())
}

/// The path that C means.
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

/// Makes a new key for paths, in a new file that only its owner can read. The other end needs a copy.
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

/// Listens for the end that opens the path, at "HOST:PORT", or ":PORT" for all interfaces; port 0 is any that
/// is free. Returns at once; what is sent meanwhile waits. `options` may be NULL.
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

/// Opens a path to an end that listens, or will, at "HOST:PORT"; NULL if it is reached over relays only.
/// Returns at once; what is sent meanwhile waits. `options` may be NULL.
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

/// Begins a path whose two ends make the same call, with the "HOST:PORT" of one of them: that one listens,
/// unless another program there does so already. Returns at once; what is sent meanwhile waits. `options` may
/// be NULL.
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

/// Waits until there is a connection; not needed before sending or receiving. Of this and all timeouts of
/// paths: seconds; less than 0 is as long as it takes. `LIG_ERR_TIMED_OUT` if that was not enough.
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

/// Sends a message of `length` bytes. Returns when `data` may be used again, before it has arrived; waits while
/// more than the window is under way. After `LIG_ERR_TIMED_OUT` nothing was sent.
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

/// Bytes that the caller keeps until they have arrived.
struct Lent {
    data: *const u8,
    length: usize,
}

// SAFETY: the caller of `lig_path_isend` promises that nobody changes or frees the bytes meanwhile.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        match self.length {
            0 => &[],
            // SAFETY: as above.
            _ => unsafe { slice::from_raw_parts(self.data, self.length) },
        }
    }
}

/// Begins to send a message, without a copy: `data` must stay as it is until `lig_path_wait` has ended the
/// request, or has said that the path is lost or closed, or this end is closed or freed. `lig_path_test` says
/// whether it has arrived.
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
        request.write(path.isend(Lent { data: data.cast(), length }).map_err(failed)?.number());
        Ok(())
    })
}

/// Begins to receive the next message that nobody has asked for yet; `lig_path_wait` brings it.
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

/// Returns true if a request is done: what it sends has arrived there, or what it receives has come here.
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

/// Waits until a request is done, and ends it. What came goes to `data`, which has room for `room` bytes, and
/// its length to `length`; a request that sends needs neither. `LIG_ERR_UNEXPECTED` if there is not enough
/// room: `length` then says how much is needed, and the request stays. So it does after `LIG_ERR_TIMED_OUT`.
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

/// Gives up a request for a message; the next one gets what has come for it. What is being sent cannot be given
/// up.
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

/// Waits for the next message; its length, bytes.
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

/// Receives the next message into `data`, which has room for `room` bytes; its length goes to `length`.
/// `LIG_ERR_UNEXPECTED` if there is not enough room: `length` then says how much is needed, and the message
/// stays. `LIG_ERR_CLOSED` if the other end has closed, and nothing more will come.
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

/// Writes the length of what came, or of what has no room.
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

/// Sends a message and receives one, both at once; as `lig_path_send` and `lig_path_receive`. After
/// `LIG_ERR_TIMED_OUT` and `LIG_ERR_UNEXPECTED` it was sent: receive by `lig_path_receive`, and do not send it
/// again.
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

/// Waits until the other end calls it as well.
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

/// Changes how many bytes in a second this end sends over a long way, at most; 0: as fast as it goes.
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

/// Waits until everything that was sent has arrived, tells the other end that nothing more comes, and frees the
/// path. It is freed whatever is returned: every later call is refused, but for `lig_path_close` and
/// `lig_path_free`, which do nothing then. NULL is let pass.
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
        // NULL is none of them, nor is one that is closed.
        let Some(path) = taken_out(path) else { return Ok(()) };
        let timeout = within(timeout).inspect_err(|_| path.stop())?;
        path.end(timeout).map_err(failed)
    })
}

/// Frees a path at once; what is under way is lost. NULL, and a path that is closed or freed, are let pass.
#[no_mangle]
pub extern "C" fn lig_path_free(path: *mut lig_path) {
    crate::status::guard_or((), || {
        if let Some(path) = taken_out(path) {
            path.stop();
        }
    });
}
