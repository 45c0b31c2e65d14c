//! Light components: all instances of a program in one process, driven by the library.

use crate::instance::{declared, flags, language, lig_instance, lig_instance_options};
use crate::options::{read, read_required, SizePrefixed};
use crate::status::{guard, lig_error, lig_status_code};
use crate::submodel::{lig_submodel, Functions};
use ligament_instance::{run_light_with, Call, Error, Instance, Submodel, SubmodelState};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// The common part of all instances of a light program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lig_light {
    /// `sizeof(lig_light)`
    pub size: usize,
    /// The functions. The member `user` of this struct is not used: `make` gives each instance its own.
    pub submodel: *const lig_submodel,
    /// Makes the data that the functions of one instance get as `user`, and writes it to `user`; NULL if they
    /// need none. `context` is the member below. The instance already has its name and its settings. Returns
    /// `LIG_OK`, or another status after it has written the reason to `error`.
    pub make: Option<
        unsafe extern "C" fn(
            instance: *mut lig_instance,
            context: *mut c_void,
            user: *mut *mut c_void,
            error: *mut lig_error,
        ) -> lig_status_code,
    >,
    /// Frees the data that `make` has made, when the instance is over; may be NULL.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// Data of the caller, for `make`.
    pub context: *mut c_void,
    /// The ports and the language of every instance; NULL to take the ports from the model.
    pub options: *const lig_instance_options,
}

// SAFETY: a number and nullable pointers, beginning with the size.
unsafe impl SizePrefixed for lig_light {
    const NAME: &'static str = "lig_light";
}

/// One instance: its handle, its functions, and their data.
struct LightInstance {
    /// `None` only while the instance is dropped.
    functions: Option<Functions>,
    handle: *mut lig_instance,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Drop for LightInstance {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `make` made the data for this function, and nothing uses the data any more.
            unsafe { release(self.user) };
        }
        self.functions = None;
        // SAFETY: `member` made it with `Box::into_raw`; it is freed only here.
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

    fn state(&mut self) -> Option<&mut dyn SubmodelState> {
        self.functions().state()
    }
}

type CallFailed = Rc<Cell<Option<lig_status_code>>>;

/// Makes the handle, the functions and the data of one instance.
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
    // SAFETY: the instance at `current` lives as long as the member. The handle uses it only while it is lent.
    let handle = Box::into_raw(Box::new(lig_instance::of(unsafe { &*current }, current, false)?));
    // SAFETY: the handle was just made. It is freed with the member, after its functions.
    let made = unsafe { (*handle).turn() }
        .enter(CALL)
        .and_then(|turn| unsafe { Functions::of(handle, submodel, (CALL, turn), failed) });
    // From here on the handle is freed with the member.
    let mut member = match made {
        Ok(functions) => {
            LightInstance { functions: Some(functions), handle, user: std::ptr::null_mut(), release: None }
        }
        Err(error) => {
            // SAFETY: the handle was just made.
            drop(unsafe { Box::from_raw(handle) });
            return Err(error);
        }
    };
    member.functions().set_user(std::ptr::null_mut());
    if let Some(make) = light.make {
        let mut user = std::ptr::null_mut();
        let context = light.context;
        let place = &raw mut user;
        // SAFETY: the caller gave the function for this purpose. Its calls through the handle use `core`.
        let made =
            member.functions().lend(core, |handle, _, error| unsafe { make(handle, context, place, error) });
        made?;
        member.user = user;
        member.functions().set_user(user);
        member.release = light.release;
    }
    Ok(member)
}

/// Runs all instances of this program, and returns when all of them are over. If the model does not say that
/// the program is light, the process is one instance, which is run alone. A function is called when each
/// connected port of its operator, and each slot, has a message or the end of its conduit: F_INIT before
/// `initialise`, and S before `solve`. So a function can receive once from each port. If a function fails, the
/// whole run ends with its text, and its status is returned.
///
/// A function may use its instance only until it returns. Other calls are refused as long as the instance
/// lives, which is until its `release`.
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
