//! The driver of modules: a simulation on a grid that is put together from shared objects.

use crate::status::{guard, lig_error, lig_status, name, null};
use ligament_instance::{Error, Flags, Instance};
use ligament_modules::{
    load, plan_json, plan_text, DriverArguments, LoadedModule, ModuleDeclaration, ModuleRun, NativeHost,
    Simulation,
};
use std::ffi::{c_char, c_int};
use std::path::PathBuf;

/// Runs a simulation that is put together from modules (`ligament_module.h`), as an instance of a run, until it
/// is over. `modules` has the paths of shared objects, and NULL at its end; a relative path begins at the
/// folder of the program. `argc` and `argv` are those of `main`: with `--plan` the call prints the order of the
/// functions and the reason of each exchange, and takes part in no run; `--json` does the same in JSON. With
/// `--poison`, a function is found out that reads or writes what it does not declare.
///
/// `LIG_ERR_USAGE` if the modules do not go together, or one of them fails; otherwise as the functions of an
/// instance and of a domain. The run has the reason already.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_grid_run(
    argc: c_int,
    argv: *const *const c_char,
    modules: *const *const c_char,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        if modules.is_null() {
            return Err(null("modules"));
        }
        // SAFETY: all pointers are as the caller promises, also below.
        let arguments = unsafe { texts(argv, argc.max(0) as usize, "argv") }?;
        let arguments = DriverArguments::read(arguments.iter().skip(1).map(String::as_str))?;
        let count = (0..).take_while(|place| !unsafe { *modules.add(*place) }.is_null()).count();
        let paths = unsafe { texts(modules, count, "modules") }?;
        run(arguments, &paths)
    })
}

fn run(arguments: DriverArguments, paths: &[String]) -> Result<(), Error> {
    let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    let folder: PathBuf = folder.unwrap_or_default();
    let loaded: Vec<LoadedModule> =
        paths.iter().map(|path| load(&folder.join(path))).collect::<Result<_, _>>()?;
    let codes: Vec<_> = loaded.iter().flat_map(|module| module.codes.iter().copied()).collect();
    let declarations: Vec<ModuleDeclaration> = loaded.into_iter().map(|module| module.declaration).collect();
    let simulation = Simulation::new(&declarations)?;
    if arguments.json {
        print!("{}", plan_json(&simulation)?);
        return Ok(());
    }
    if arguments.plans {
        print!("{}", plan_text(&simulation)?);
        return Ok(());
    }
    let mut instance = Instance::with_options(None, Flags::default(), "c")?;
    let run = ModuleRun { simulation: &simulation, codes: &codes, poisons: arguments.poisons };
    run.run(&mut instance, &mut NativeHost)
}

/// Returns texts of the caller.
///
/// # Safety
/// `texts` has `count` pointers to texts.
unsafe fn texts(texts: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, Error> {
    if texts.is_null() && count > 0 {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    (0..count).map(|place| unsafe { name(*texts.add(place), what) }.map(str::to_owned)).collect()
}
