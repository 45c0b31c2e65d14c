//! A path between two programs, for `ligament.path`. A wait releases the interpreter, and checks for signals
//! from time to time. A buffer that is sent without a copy is held here until it has arrived: the path's own
//! thread uses no Python object.

use crate::errors;
use ligament_link::{Key, Options, Path as Core, PathError, PathErrorKind, Request};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Time between two checks for signals in a call that waits.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Time for the other end to learn that this end is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

fn raised(py: Python<'_>, error: &PathError) -> PyErr {
    let class = match error.kind() {
        PathErrorKind::Usage => "UsageError",
        PathErrorKind::Unexpected => "UnexpectedError",
        PathErrorKind::Closed => "ClosedError",
        PathErrorKind::TimedOut => "TimeoutError",
        PathErrorKind::OutOfMemory => "OutOfMemoryError",
        _ => "TransportError",
    };
    errors::raise(py, class, error.fault().clone())
}

/// Makes a key for both ends of a path, in a file that only its owner can read.
#[pyfunction]
#[pyo3(name = "_make_path_key")]
pub fn make_path_key(py: Python<'_>, file: PathBuf) -> PyResult<()> {
    py.detach(|| Key::make().write(&file)).map_err(|fault| errors::raise(py, "TransportError", fault))
}

/// The bytes of a received message. They belong to this object alone, and any user of buffers can use them
/// without a copy.
#[pyclass(name = "_Received", frozen)]
pub struct Received {
    bytes: Mutex<Vec<u8>>,
}

#[pymethods]
impl Received {
    /// # Safety
    /// `view` is the interpreter's, as it promises.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let mut bytes = slf.get().bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, length) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the view holds this object, whose bytes are not moved, resized or freed before the view is
        // released. They may be written, because the message belongs to its receiver.
        let filled =
            unsafe { pyo3::ffi::PyBuffer_FillInfo(view, slf.as_ptr(), at.cast(), length as isize, 0, flags) };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// Bytes of an object, which its buffer keeps in place.
struct HeldBytes {
    at: *const u8,
    length: usize,
}

// SAFETY: the bytes are only read, and stay in place while the path has them: `isend` ensures this.
unsafe impl Send for HeldBytes {}
// SAFETY: as above.
unsafe impl Sync for HeldBytes {}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        match self.length {
            0 => &[],
            // SAFETY: `isend` holds the buffer until the path has dropped this object.
            length => unsafe { std::slice::from_raw_parts(self.at, length) },
        }
    }
}

/// Returns the bytes of a buffer.
fn bytes_of(buffer: &PyBuffer<u8>) -> HeldBytes {
    HeldBytes { at: buffer.buf_ptr().cast(), length: buffer.len_bytes() }
}

/// Returns the bytes of a buffer, to be written.
fn place_of(py: Python<'_>, buffer: &PyBuffer<u8>) -> PyResult<(usize, usize)> {
    if buffer.readonly() {
        return Err(PyBufferError::new_err("the place for a message cannot be written"));
    }
    let _ = py;
    Ok((buffer.buf_ptr() as usize, buffer.len_bytes()))
}

/// One end of a path.
#[pyclass(name = "_Path", frozen)]
pub struct Path {
    /// `None` after `close`.
    core: RwLock<Option<Core>>,
    /// Buffers of messages that are being sent.
    held: Mutex<HashMap<u64, PyBuffer<u8>>>,
}

impl Path {
    fn of(core: Core) -> Path {
        Path { core: RwLock::new(Some(core)), held: Mutex::new(HashMap::new()) }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, PyBuffer<u8>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call without the interpreter.
    fn once<T: Send>(
        &self,
        py: Python<'_>,
        call: impl Fn(&Core) -> Result<T, PathError> + Sync + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let core = self.core.read().unwrap_or_else(PoisonError::into_inner);
            core.as_ref().map(&call)
        });
        match done {
            Some(done) => done.map_err(|error| raised(py, &error)),
            None => Err(errors::raise(py, "ClosedError", ligament_link::Misuse::ClosedHere)),
        }
    }

    /// Makes a call that may wait. Signals are checked meanwhile, so Ctrl-C ends the wait.
    fn waiting<T: Send>(
        &self,
        py: Python<'_>,
        within: Option<f64>,
        call: impl Fn(&Core, Option<Duration>) -> Result<T, PathError> + Sync + Send,
    ) -> PyResult<T> {
        // The time to wait ends now if it is already over; a time beyond the clock's range has no end.
        let within = within.map(|within| Duration::try_from_secs_f64(within.max(0.0)).unwrap_or(Duration::MAX));
        let until = within.and_then(|within| Instant::now().checked_add(within));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let last = left.is_some_and(|left| left <= SIGNAL_POLL_INTERVAL);
            let now = left.unwrap_or(SIGNAL_POLL_INTERVAL).min(SIGNAL_POLL_INTERVAL);
            let done = py.detach(|| {
                let core = self.core.read().unwrap_or_else(PoisonError::into_inner);
                core.as_ref().map(|core| call(core, Some(now)))
            });
            // A message that has come is returned, even if there is a signal.
            if !matches!(done, Some(Ok(_))) {
                py.check_signals()?;
            }
            match done {
                None => return Err(errors::raise(py, "ClosedError", ligament_link::Misuse::ClosedHere)),
                Some(Ok(done)) => return Ok(done),
                Some(Err(error)) if error.kind() == PathErrorKind::TimedOut && !last => {}
                Some(Err(error)) if error.kind() == PathErrorKind::TimedOut => {
                    let fault = error.fault().clone();
                    let fault = fault.told(|text| match (text.rsplit_once(" within "), within) {
                        (Some((what, _)), Some(within)) => format!("{what} within {} s", within.as_secs_f64()),
                        _ => text.to_owned(),
                    });
                    return Err(errors::raise(py, "TimeoutError", fault));
                }
                Some(Err(error)) => return Err(raised(py, &error)),
            }
        }
    }

    fn message(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<Received>> {
        Py::new(py, Received { bytes: Mutex::new(bytes) })
    }
}

/// The options of an end, in the order of `_options` in path.py: streams, encrypt, window, patience, compress,
/// longest, relays, pace.
type EndOptions = (u16, bool, u64, f64, bool, u64, Vec<PathBuf>, u64);

fn options((streams, encrypt, window, patience, compress, longest, relays, pace): EndOptions) -> Options {
    let patience = Duration::try_from_secs_f64(patience).unwrap_or(Duration::MAX);
    let pace = Some(pace).filter(|&pace| pace > 0);
    Options { streams, encrypt, window, patience, compress, longest, relays, pace, ..Options::default() }
}

#[pymethods]
impl Path {
    #[staticmethod]
    fn meet(py: Python<'_>, key: PathBuf, at: &str, options: EndOptions) -> PyResult<Path> {
        let options = self::options(options);
        let key = Key::read(&key).map_err(|fault| errors::usage(py, fault))?;
        py.detach(|| Core::meet(&key, at, &options)).map(Path::of).map_err(|error| raised(py, &error))
    }

    fn set_pace(&self, py: Python<'_>, pace: u64) -> PyResult<()> {
        self.once(py, |core| core.set_pace(Some(pace).filter(|&pace| pace > 0)))
    }

    #[staticmethod]
    fn listen(py: Python<'_>, key: PathBuf, at: &str, options: EndOptions) -> PyResult<Path> {
        let options = self::options(options);
        let key = Key::read(&key).map_err(|fault| errors::usage(py, fault))?;
        py.detach(|| Core::listen(&key, at, &options)).map(Path::of).map_err(|error| raised(py, &error))
    }

    #[staticmethod]
    fn open(py: Python<'_>, key: PathBuf, to: Vec<String>, options: EndOptions) -> PyResult<Path> {
        let options = self::options(options);
        let key = Key::read(&key).map_err(|fault| errors::usage(py, fault))?;
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        py.detach(|| Core::open(&key, &to, &options)).map(Path::of).map_err(|error| raised(py, &error))
    }

    fn addresses(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.once(py, |core| Ok(core.addresses().iter().map(ToString::to_string).collect()))
    }

    fn wait_connected(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        self.waiting(py, timeout, Core::wait_connected)
    }

    fn send(&self, py: Python<'_>, bytes: PyBuffer<u8>, timeout: Option<f64>) -> PyResult<()> {
        let held = bytes_of(&bytes);
        self.waiting(py, timeout, |core, within| core.send(held.as_ref(), within))
    }

    fn isend(&self, py: Python<'_>, bytes: PyBuffer<u8>) -> PyResult<u64> {
        let (at, length) = (bytes.buf_ptr() as usize, bytes.len_bytes());
        let request = self.once(py, |core| core.isend(HeldBytes { at: at as *const u8, length }))?;
        self.held().insert(request.number(), bytes);
        Ok(request.number())
    }

    fn send_receive(
        &self,
        py: Python<'_>,
        bytes: PyBuffer<u8>,
        timeout: Option<f64>,
    ) -> PyResult<Py<Received>> {
        let held = bytes_of(&bytes);
        self.once(py, |core| core.send_copy(held.as_ref()))?;
        self.receive(py, timeout)
    }

    fn ireceive(&self, py: Python<'_>) -> PyResult<u64> {
        self.once(py, |core| Ok(core.ireceive().number()))
    }

    fn test(&self, py: Python<'_>, request: u64) -> PyResult<bool> {
        self.once(py, |core| core.test(Request::from_number(request)))
    }

    fn wait(&self, py: Python<'_>, request: u64, timeout: Option<f64>) -> PyResult<Py<Received>> {
        let done = self.waiting(py, timeout, |core, within| core.wait(Request::from_number(request), within));
        self.let_go(py, request, done.is_ok());
        Path::message(py, done?)
    }

    fn wait_into(
        &self,
        py: Python<'_>,
        request: u64,
        place: PyBuffer<u8>,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let (at, length) = place_of(py, &place)?;
        let done = self.waiting(py, timeout, |core, within| {
            // SAFETY: the buffer stays until this call returns, and the caller may write to it.
            let place = unsafe { slice_of(at, length) };
            core.wait_into(Request::from_number(request), place, within)
        });
        self.let_go(py, request, done.is_ok());
        done
    }

    fn cancel(&self, py: Python<'_>, request: u64) -> PyResult<()> {
        self.once(py, |core| core.cancel(Request::from_number(request)))
    }

    fn probe(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<u64> {
        self.waiting(py, timeout, Core::probe)
    }

    fn receive(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<Received>> {
        let bytes = self.waiting(py, timeout, Core::receive)?;
        Path::message(py, bytes)
    }

    fn receive_into(&self, py: Python<'_>, place: PyBuffer<u8>, timeout: Option<f64>) -> PyResult<usize> {
        let (at, length) = place_of(py, &place)?;
        self.waiting(py, timeout, |core, within| {
            // SAFETY: the buffer stays until this call returns, and the caller may write to it.
            core.receive_into(unsafe { slice_of(at, length) }, within)
        })
    }

    fn barrier(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        self.waiting(py, timeout, Core::barrier)
    }

    /// Returns messages and bytes sent, messages and bytes received, bytes under way, cuts, and if there is a
    /// connection.
    fn statistics(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64, u64, u64, bool)> {
        self.once(py, |core| {
            let now = core.statistics();
            let sent = (now.sent, now.sent_bytes, now.received, now.received_bytes);
            Ok((sent.0, sent.1, sent.2, sent.3, now.under_way, now.cuts, now.connected))
        })
    }

    /// Waits until everything that was sent has arrived.
    fn wait_sent(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        self.waiting(py, timeout, Core::wait_sent)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = py.detach(|| {
            let core = self.core.write().unwrap_or_else(PoisonError::into_inner).take();
            core.map(|core| core.close(Some(CLOSE_TIMEOUT)))
        });
        // The path's thread has ended, so no buffer is read any more.
        self.drop_held();
        match closed {
            Some(Err(error)) if error.kind() != PathErrorKind::TimedOut => Err(raised(py, &error)),
            _ => Ok(()),
        }
    }

    /// Ends the path without waiting.
    fn free(&self, py: Python<'_>) {
        let core = py.detach(|| self.core.write().unwrap_or_else(PoisonError::into_inner).take());
        py.detach(|| drop(core));
        self.drop_held();
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.statistics(py) {
            Ok((.., true)) => "Path(connected)".into(),
            Ok(_) => "Path(not connected)".into(),
            Err(_) => "Path(closed)".into(),
        }
    }
}

impl Path {
    /// A request that is over needs its buffer no more, whether it is done or has failed.
    fn let_go(&self, py: Python<'_>, request: u64, done: bool) {
        let over = done || self.once(py, |core| core.test(Request::from_number(request))).is_err();
        if over {
            // Releasing a buffer may run code of the user that uses the path, so the path is not locked then.
            let gone = self.held().remove(&request);
            drop(gone);
        }
    }

    /// Drops all buffers of sent messages; as above.
    fn drop_held(&self) {
        let gone = std::mem::take(&mut *self.held());
        drop(gone);
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        // The thread is dropped before the buffers that it reads.
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        Python::attach(|py| py.detach(|| drop(core)));
    }
}

/// # Safety
/// The memory may be written, by nobody else, as long as the slice is used.
unsafe fn slice_of<'a>(at: usize, length: usize) -> &'a mut [u8] {
    match length {
        0 => &mut [],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts_mut(at as *mut u8, length) },
    }
}
