//! The Python face: the compiled half of the package `ligament`. It turns Python's values into the core's and
//! back, releases the interpreter while it waits, and raises the core's errors. The rest of the package is
//! Python.

use pyo3::prelude::*;

mod array;
mod attach;
mod core_handle;
mod errors;
mod exit;
mod filter;
mod from_wire;
mod grid;
mod instance;
mod light;
mod loan;
mod message;
mod model;
mod modules;
mod path;
mod run;
mod settings;
mod slot;
mod text;
mod times;
mod to_wire;

/// The compiled half of `ligament`; import `ligament` instead.
#[pymodule]
mod _ligament {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::attach::{standing, Tapping};
    #[pymodule_export]
    use super::errors::fault_of;
    #[pymodule_export]
    use super::grid::Domain;
    #[pymodule_export]
    use super::instance::round_trip;
    #[pymodule_export]
    use super::instance::Instance;
    #[pymodule_export]
    use super::light::{lent_instance, run_light, Lending};
    #[pymodule_export]
    use super::loan::Loan;
    #[pymodule_export]
    use super::message::Message;
    #[pymodule_export]
    use super::model::{Model, Problem};
    #[pymodule_export]
    use super::modules::{driver_arguments, Block, Modules};
    #[pymodule_export]
    use super::path::{make_path_key, Path, Received};
    #[pymodule_export]
    use super::run::{die_with_parent, installed_below, raise_open_files, Prepared};
    #[pymodule_export]
    use super::settings::{parse_assignment, Settings};
    #[pymodule_export]
    use super::times::{after_steps, shown_time, TimeSeries};

    /// Model files may import modules that this Python's packages bring, and use filters that are written in
    /// Python.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let executable: Option<std::path::PathBuf> =
            module.py().import("sys")?.getattr("executable")?.extract()?;
        if let Some(python) = executable.filter(|python| python.is_file()) {
            ligament_model::Packages::run_in(python);
        }
        super::filter::run_here();
        Ok(())
    }

    #[allow(non_upper_case_globals)] // Python's spelling.
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
