//! Watching a run: its status, and the values that its ports send.

use crate::errors;
use crate::from_wire::to_python;
use ligament_catalogue::{Code, Fault};
use ligament_runtime::client::{self, PortOf, TapEvent, DEFAULT_BOX_BYTES};
use ligament_wire::tap::TapSelection;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Time between two checks for a signal that Python has to handle.
const SIGNALS: Duration = Duration::from_millis(100);

fn raised(py: Python<'_>, fault: Fault) -> PyErr {
    let class = match fault.code() {
        Code::TIMED_OUT => "TimeoutError",
        Code::NOT_SHOWN | Code::MALFORMED_DATA => "UnexpectedError",
        Code::TAP_REFUSED | Code::TAP_TOO_EARLY | Code::BAD_SLICE | Code::INSTANCE_UNKNOWN => "UsageError",
        _ => "TransportError",
    };
    errors::raise(py, class, fault)
}

/// Returns the status of a run, as JSON.
#[pyfunction]
#[pyo3(name = "_standing")]
pub fn standing(py: Python<'_>, run: &str) -> PyResult<String> {
    let told = py.detach(|| client::standing_of(run)).map_err(|fault| raised(py, fault))?;
    Ok(told.to_string())
}

/// A view of a port.
#[pyclass(module = "ligament._ligament", name = "_Tapping")]
pub struct Tapping {
    tapping: Option<client::TapSession>,
}

#[pymethods]
impl Tapping {
    #[new]
    #[pyo3(signature = (run, port, slice, thin, histogram, keys, room))]
    #[allow(clippy::too_many_arguments)] // For one caller.
    fn new(
        py: Python<'_>,
        run: &str,
        port: &str,
        slice: &str,
        thin: u64,
        histogram: u32,
        keys: Vec<String>,
        room: Option<u64>,
    ) -> PyResult<Tapping> {
        let begun = py.detach(|| {
            let cuts = TapSelection::cuts_of(slice)?;
            let wanted = TapSelection { keys, cuts, thin, bars: histogram, levels: Vec::new() };
            client::TapSession::of(run, &PortOf::of(port)?, &wanted, room.unwrap_or(DEFAULT_BOX_BYTES))
        });
        Ok(Tapping { tapping: Some(begun.map_err(|fault| raised(py, fault))?) })
    }

    /// Returns the next value: timestamp, next timestamp, slot, number, data; or the reason why there will be
    /// none.
    #[allow(clippy::type_complexity)] // A tuple for one caller.
    fn next(
        &mut self,
        py: Python<'_>,
        timeout: Option<f64>,
    ) -> PyResult<(Option<(f64, Option<f64>, Option<u32>, u64, Py<PyAny>)>, String)> {
        let Some(tapping) = &mut self.tapping else { return Ok((None, "it was closed".to_owned())) };
        let patience =
            timeout.map(|given| Duration::try_from_secs_f64(given.max(0.0)).unwrap_or(Duration::MAX));
        let began = Instant::now();
        loop {
            let left = patience.map_or(SIGNALS, |all| all.saturating_sub(began.elapsed()));
            let came = py.detach(|| tapping.next(left.min(SIGNALS))).map_err(|fault| raised(py, fault))?;
            match came {
                TapEvent::Shown(shown) => {
                    let data = to_python(py, &shown.value)?;
                    let told = (shown.timestamp, shown.next_timestamp, shown.slot, shown.number, data);
                    return Ok((Some(told), String::new()));
                }
                TapEvent::Over(why) => return Ok((None, why)),
                TapEvent::Nothing if left.is_zero() => {
                    let port = tapping.port();
                    let fault = ligament_catalogue::fault!(
                        TIMED_OUT,
                        "{port} has sent nothing within the time allowed"
                    );
                    return Err(raised(py, fault));
                }
                TapEvent::Nothing => py.check_signals()?,
            }
        }
    }

    /// Ends the view of the port.
    fn close(&mut self) {
        self.tapping = None;
    }
}
