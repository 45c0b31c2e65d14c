//! Light components: all instances of a program in one process, driven by the library.

use crate::instance::{declared, flags, language, lig_instance, lig_instance_options};
use crate::options::{read, read_required, SizePrefixed};
use crate::status::{guard, lig_error, lig_status_code};
use crate::submodel::{lig_submodel, Functions};
use ligament_instance::{run_light_with, Call, Error, Instance, Submodel};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// The common part of all instances of a light program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_light {
    /// `sizeof(lig_light)`
    pub size: usize,
    /// The functions. Its `user` is not looked at: each instance has its own, which `make` gives.
    pub submodel: *const lig_submodel,
    /// Makes what the functions of one instance get as `user`, and writes it to `user`; NULL where they need
    /// none. `context` is that below. The instance knows its name and its settings already. Returns `LIG_OK`,
    /// or what went wrong; then it writes into `error`.
    pub make: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            context: *mut c_void,
            user: *mut *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Frees what `make` made, when the instance is over; may be NULL.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// The caller's own, for `make`.
    pub context: *mut c_void,
    /// The ports that every instance has, and the language; NULL to take the ports from the model.
    pub options: *const lig_instance_options,
}

// SAFETY: a number and nullable pointers, beginning with the size.
unsafe impl SizePrefixed for lig_light {
    const NAME: &'static str = "lig_light";
}

/// One instance: its handle, its functions, and what they get.
struct LightInstance {
    /// None only once it is dropped.
    functions: Option<Functions>,
    handle: *mut lig_instance,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Drop for LightInstance {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `make` made it for this, and nobody uses it any more.
            unsafe { release(self.user) };
        }
        self.functions = None;
        // SAFETY: made by `Box::into_raw` in `member`, and freed only here.
        drop(unsafe { Box::from_raw(self.handle) });
    }
}

impl LightInstance {
    fn functions(&mut self) -> &mut Functions {
        self.functions.as_mut().expect("until it is dropped")
    }
}

impl Submodel for LightInstance {
    fn initialise(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.functions().initialise(instance)
    }

    fn is_done(&self) -> bool {
        self.functions.as_ref().is_some_and(Functions::is_done)
    }

    fn observe(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.functions().observe(instance)
    }

    fn solve(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.functions().solve(instance)
    }

    fn observe_final(&mut self, instance: &mut Instance) -> Result<(), Error> {
        self.functions().observe_final(instance)
    }
}

type CallFailed = Rc<Cell<Option<lig_status_code>>>;

/// Makes one instance's part.
///
/// # Safety
/// As for `lig_run_light`.
unsafe fn member(
    light: &lig_light,
    submodel: &lig_submodel,
    core: &mut Instance,
    failed: &CallFailed,
) -> Result<LightInstance, Error> {
    const CALL: &Call = &Call("lig_run_light");
    let current = std::ptr::from_mut(core);
    // SAFETY: what is at `current` lives as long as the member, and is used through the handle only while it is
    // lent.
    let handle = Box::into_raw(Box::new(lig_instance::of(unsafe { &*current }, current, false)?));
    // SAFETY: just made, and freed with the member, after its functions.
    let made = unsafe { (*handle).turn() }
        .enter(CALL)
        .and_then(|turn| unsafe { Functions::of(handle, submodel, (CALL, turn), failed) });
    // From here on the handle is freed with the member.
    let mut member = match made {
        Ok(functions) => {
            LightInstance { functions: Some(functions), handle, user: std::ptr::null_mut(), release: None }
        }
        Err(error) => {
            // SAFETY: just made.
            drop(unsafe { Box::from_raw(handle) });
            return Err(error);
        }
    };
    member.functions().set_user(std::ptr::null_mut());
    if let Some(make) = light.make {
        let mut user = std::ptr::null_mut();
        let context = light.context;
        let place = &raw mut user;
        // SAFETY: the caller gave the function for this; what it does through the handle is done through
        // `core`.
        let made =
            member.functions().lend(core, |handle, _, error| unsafe { make(handle, context, place, error) });
        made?;
        member.user = user;
        member.functions().set_user(user);
        member.release = light.release;
    }
    Ok(member)
}

/// Runs all instances of this program, which the model calls light, and returns when all of them are over;
/// without that, the one instance that this process is. A function is called when there is a message, or the
/// end of the conduit, on each connected port of its operator and each slot (F_INIT before `initialise`, S
/// before `solve`), so that each port can be received from once in a function. If a function fails, the whole
/// run ends with its text, and its status is returned.
///
/// The instance that a function gets may be used in that function only. Calls at other times are refused while
/// it lives, which is until its `release`.
///
/// # Safety
/// `light` and what it names are valid until this returns; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_run_light(light: *const lig_light, error: *mut lig_error) -> lig_status_code {
    let failed = CallFailed::default();
    let status = guard(error, || {
        // SAFETY: all pointers are as the caller promises.
        let light = unsafe { read_required(light) }?;
        let submodel = unsafe { read_required(light.submodel) }?;
        let options = unsafe { read(light.options) }?;
        let ports = unsafe { declared(&options) }?;
        let flags = flags(options.flags)?;
        let language = unsafe { language(&options) }?;
        let parallelism = options.parallelism();
        run_light_with(ports.as_ref(), flags, language, |core| {
            core.set_parallelism(parallelism);
            // SAFETY: as above.
            unsafe { member(&light, &submodel, core, &failed) }
        })
    });
    failed.get().unwrap_or(status as lig_status_code)
}
