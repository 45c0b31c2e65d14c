//! Modules in shared objects: loading them, and calling their functions with a block in the layout of
//! `ligament_module.h`.

use crate::block::{Block, BlockReduction, FieldMemory};
use crate::error::ModuleError;
use ligament_instance::Error;
use ligament_model::SettingValue;
use ligament_wire::ArrayOrder;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::path::Path;

/// Number of axes in the layout; a grid with fewer has axes of length 1.
const AXES: usize = 3;

/// A field in the layout of `lig_module_field`.
#[repr(C)]
struct RawField {
    size: usize,
    data: *mut c_void,
    own: *mut c_void,
    points: [u64; AXES],
    strides: [i64; AXES],
    ghosts: u64,
    dtype: i32,
    order: i32,
}

/// A block in the layout of `lig_block`, followed by members that only this file uses.
#[repr(C)]
struct RawBlock {
    size: usize,
    ndim: u32,
    number: u32,
    shape: [u64; AXES],
    begin: [u64; AXES],
    end: [u64; AXES],
    step: u64,
    time: f64,
    time_step: f64,
    field: unsafe extern "C" fn(*mut RawBlock, *const c_char) -> *const RawField,
    real: unsafe extern "C" fn(*mut RawBlock, *const c_char) -> f64,
    integer: unsafe extern "C" fn(*mut RawBlock, *const c_char) -> i64,
    flag: unsafe extern "C" fn(*mut RawBlock, *const c_char) -> i32,
    reduce: unsafe extern "C" fn(*mut RawBlock, i32, *const f64, usize, *mut f64) -> c_int,
    fail: unsafe extern "C" fn(*mut RawBlock, *const c_char),
    state: *mut CallState<'static, 'static>,
}

/// The block behind a pointer of C, and the events of the call.
struct CallState<'a, 'b> {
    block: &'a mut Block<'b>,
    /// The fields that the function has requested. Each has a fixed address.
    fields: Vec<(usize, Box<RawField>)>,
    fault: Option<Error>,
}

/// A function of a module. It follows `lig_module_function` of `ligament_module.h`.
#[derive(Clone, Copy, Debug)]
pub struct NativeFunction(unsafe extern "C" fn(*mut RawBlock) -> c_int);

impl NativeFunction {
    /// Calls the function.
    pub(crate) fn call(self, block: &mut Block<'_>) -> Result<(), Error> {
        // Along each axis: the number of points of the grid; the block's first point; the point after its last.
        let mut axes = [[1; AXES], [0; AXES], [1; AXES]];
        for (axis, (begin, end)) in block.domain.range().iter().enumerate() {
            axes[0][axis] = block.domain.shape()[axis];
            (axes[1][axis], axes[2][axis]) = (*begin, *end);
        }
        let (ndim, number) = (block.domain.shape().len() as u32, block.domain.block() as u32);
        let time = block.time;
        let mut state = CallState { block, fields: Vec::new(), fault: None };
        let mut raw = RawBlock {
            size: std::mem::offset_of!(RawBlock, state),
            ndim,
            number,
            shape: axes[0],
            begin: axes[1],
            end: axes[2],
            step: time.step,
            time: time.time,
            time_step: time.time_step,
            field,
            real,
            integer,
            flag,
            reduce,
            fail,
            state: (&raw mut state).cast(),
        };
        // SAFETY: the function is as the header says. The block and its state live until it returns, and nobody
        // else uses them meanwhile.
        let status = unsafe { (self.0)(&raw mut raw) };
        match (state.fault, status) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, _) => {
                let why = format!("it returned {status}, and did not say why (lig_block_fail)");
                Err(state.block.failure(why).into())
            }
        }
    }
}

/// Returns the state behind a block.
///
/// # Safety
/// `block` is the one that the function got, and the function has not returned.
unsafe fn state<'a>(block: *mut RawBlock) -> &'a mut CallState<'static, 'static> {
    // SAFETY: as the caller promises. The library's functions return before another is called.
    unsafe { &mut *(*block).state }
}

/// Returns a name that a module gives.
///
/// # Safety
/// `name` is NULL, or a text that ends with a NUL.
unsafe fn text<'a>(name: *const c_char) -> std::borrow::Cow<'a, str> {
    if name.is_null() {
        return "".into();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(name) }.to_string_lossy()
}

impl CallState<'_, '_> {
    /// Records a fault, unless there is an earlier one.
    fn keep(&mut self, error: impl Into<Error>) {
        self.fault.get_or_insert(error.into());
    }

    fn refuse(&mut self, why: String) {
        self.keep(self.block.failure(why));
    }

    fn value(&mut self, name: &str) -> Option<SettingValue> {
        match self.block.parameter(name) {
            Ok(value) => Some(value.clone()),
            Err(error) => {
                self.keep(error);
                None
            }
        }
    }

    /// Records that a parameter was requested as another type.
    fn confuse(&mut self, name: &str, value: &SettingValue) {
        let kind = value.setting_type().name();
        self.refuse(format!("it asks for the parameter \"{name}\" as another type; it is a {kind}"));
    }
}

unsafe extern "C" fn field(block: *mut RawBlock, name: *const c_char) -> *const RawField {
    // SAFETY: the module passes on its block, and a name, here and in the functions below.
    let (state, name) = unsafe { (state(block), text(name)) };
    let number = match state.block.field_number(&name) {
        Ok(number) => number,
        Err(error) => {
            // A module that ignores the result will crash next; then this line gives the reason.
            eprintln!("error: {error}");
            state.keep(error);
            return std::ptr::null();
        }
    };
    if let Some((_, known)) = state.fields.iter().find(|(known, _)| *known == number) {
        return &raw const **known;
    }
    let array = state.block.array(number);
    let (mut points, mut strides) = ([1; AXES], [0; AXES]);
    for (axis, stride) in array.strides().into_iter().enumerate() {
        points[axis] = (array.shape[axis] - 2 * array.ghosts) as u64;
        strides[axis] = stride as i64;
    }
    let first = strides.iter().sum::<i64>() as usize * array.ghosts * array.dtype.size();
    let data = array.memory.bytes().as_mut_ptr();
    let made = Box::new(RawField {
        size: size_of::<RawField>(),
        data: data.cast(),
        own: data.wrapping_add(first).cast(),
        points,
        strides,
        ghosts: array.ghosts as u64,
        dtype: array.dtype as i32,
        order: i32::from(array.order == ArrayOrder::ColumnMajor),
    });
    let place = &raw const *made;
    state.fields.push((number, made));
    place
}

unsafe extern "C" fn real(block: *mut RawBlock, name: *const c_char) -> f64 {
    let (state, name) = unsafe { (state(block), text(name)) };
    match state.value(&name) {
        Some(SettingValue::Float(value)) => value,
        Some(SettingValue::Int(value)) => value as f64,
        Some(other) => {
            state.confuse(&name, &other);
            f64::NAN
        }
        None => f64::NAN,
    }
}

unsafe extern "C" fn integer(block: *mut RawBlock, name: *const c_char) -> i64 {
    let (state, name) = unsafe { (state(block), text(name)) };
    match state.value(&name) {
        Some(SettingValue::Int(value)) => value,
        Some(other) => {
            state.confuse(&name, &other);
            0
        }
        None => 0,
    }
}

unsafe extern "C" fn flag(block: *mut RawBlock, name: *const c_char) -> i32 {
    let (state, name) = unsafe { (state(block), text(name)) };
    match state.value(&name) {
        Some(SettingValue::Bool(value)) => i32::from(value),
        Some(other) => {
            state.confuse(&name, &other);
            0
        }
        None => 0,
    }
}

unsafe extern "C" fn reduce(
    block: *mut RawBlock,
    how: i32,
    numbers: *const f64,
    count: usize,
    result: *mut f64,
) -> c_int {
    let state = unsafe { state(block) };
    let reduction = match how {
        1 => BlockReduction::Sum,
        2 => BlockReduction::Min,
        3 => BlockReduction::Max,
        _ => {
            state.refuse(format!("it asks for a reduction with the number {how}"));
            return 1;
        }
    };
    if result.is_null() || (numbers.is_null() && count > 0) {
        state.refuse("it gives NULL for the numbers or for the result of a reduction".to_owned());
        return 1;
    }
    // SAFETY: the module says that there are so many numbers.
    let numbers = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(numbers, count) } };
    match state.block.reduce(reduction, numbers) {
        Ok(value) => {
            // SAFETY: it is not NULL, and the module's.
            unsafe { result.write(value) };
            0
        }
        Err(error) => {
            // SAFETY: as above.
            unsafe { result.write(f64::NAN) };
            state.keep(error);
            1
        }
    }
}

unsafe extern "C" fn fail(block: *mut RawBlock, why: *const c_char) {
    let (state, why) = unsafe { (state(block), text(why)) };
    state.refuse(why.into_owned());
}

/// A shared object with a module. It stays loaded.
pub(crate) struct SharedObject {
    handle: *mut c_void,
    /// The path, for errors.
    file: String,
}

impl SharedObject {
    /// Loads a shared object.
    pub fn load(path: &Path) -> Result<SharedObject, ModuleError> {
        let file = path.display().to_string();
        let fault = |why: String| ModuleError::Load { file: file.clone(), why };
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| fault("there is a NUL in its name".to_owned()))?;
        // SAFETY: the name ends with a NUL. Code that the object runs when it is loaded is the user's.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(fault(loader_error()));
        }
        Ok(SharedObject { handle, file })
    }

    /// Returns the text that `ligament_module` returns.
    pub fn declaration(&self) -> Result<String, ModuleError> {
        let symbol = self.symbol(c"ligament_module");
        let symbol =
            symbol.map_err(|LoaderReason(why)| ModuleError::NoDeclaration { file: self.file.clone(), why })?;
        // SAFETY: the header says that the function with this name has no arguments, and returns a text or
        // NULL.
        let text = unsafe {
            let declare: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(symbol);
            let text = declare();
            (!text.is_null()).then(|| CStr::from_ptr(text))
        };
        let text = text.and_then(|text| text.to_str().ok());
        text.map(str::to_owned).ok_or_else(|| ModuleError::NoText { file: self.file.clone() })
    }

    /// Returns a function of a module. On failure, returns the reason.
    pub fn function(&self, name: &str) -> Result<NativeFunction, LoaderReason> {
        let name = CString::new(name).map_err(|_| LoaderReason("there is a NUL in its name".into()))?;
        let symbol = self.symbol(&name)?;
        // SAFETY: the module declares that this is one of its functions.
        Ok(NativeFunction(unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut RawBlock) -> c_int>(symbol)
        }))
    }

    fn symbol(&self, name: &CStr) -> Result<*mut c_void, LoaderReason> {
        // SAFETY: the handle is that of an object that stays loaded.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if symbol.is_null() {
            Err(LoaderReason(loader_error()))
        } else {
            Ok(symbol)
        }
    }
}

/// Returns the loader's reason for not finding a function, for the text of an error.
#[derive(Debug)]
pub struct LoaderReason(pub String);

fn loader_error() -> String {
    // SAFETY: the text lives until the next call of the loader in this thread.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned()
}

/// Memory of the driver's own, aligned for every type.
struct OwnMemory {
    words: Vec<u128>,
    bytes: usize,
}

impl FieldMemory for OwnMemory {
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the words are so many bytes at least, and any bytes are words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
}

/// Makes memory that is filled with zeros.
pub(crate) fn own_memory(bytes: usize) -> Box<dyn FieldMemory> {
    Box::new(OwnMemory { words: vec![0; bytes.div_ceil(size_of::<u128>())], bytes })
}
