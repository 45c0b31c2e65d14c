//! Grids: the block of a grid that an instance or rank has, and its fields.

use crate::array::{describe, lig_array, nbytes};
use crate::instance::{lig_instance, used};
use crate::misuse::Misuse;
use crate::status::{guard, guard_or, lig_error, lig_status, name, null, numbers, out};
use ligament_grid::{Domain, Field, FieldData, FieldId, GridError};
use ligament_instance::{Call, Error, Instance};
use std::cell::RefCell;
use std::ffi::{c_char, c_void};

/// The part of a grid that an instance or rank has: one block. The model says under `grids:` how many points
/// the grid has, and into how many blocks it is divided. It is used by one thread at a time, with the instance.
pub struct lig_domain {
    instance: *mut lig_instance,
    state: RefCell<State>,
    shape: Vec<u64>,
    begin: Vec<u64>,
    end: Vec<u64>,
    blocks: Vec<u64>,
    block: u32,
}

struct State {
    domain: Domain,
    /// The array of each field, and its length in bytes.
    arrays: Vec<(*mut u8, usize)>,
}

impl State {
    /// Checks that the array of a field shares no memory with that of another field. `own` is the number of a
    /// field that was added before.
    fn check_memory(&self, field: &str, own: Option<usize>, array: (*mut u8, usize)) -> Result<(), Error> {
        let (start, length) = array;
        let (begin, end) = (start.addr(), start.addr().saturating_add(length));
        for (place, (other, length)) in self.arrays.iter().enumerate() {
            let apart = end <= other.addr() || other.addr().saturating_add(*length) <= begin;
            if !apart && own != Some(place) {
                let other = self.domain.fields()[place].name().to_owned();
                return Err(Misuse::FieldMemory { field: field.to_owned(), other }.into());
            }
        }
        Ok(())
    }
}

/// Returns the domain behind a handle.
///
/// # Safety
/// `domain` is NULL or a handle that was not freed.
unsafe fn handle<'a>(domain: *const lig_domain) -> Result<&'a lig_domain, Error> {
    // SAFETY: as the caller promises.
    unsafe { domain.as_ref() }.ok_or_else(|| null("domain"))
}

/// Calls the domain with its instance.
///
/// # Safety
/// As `handle`; the instance of the domain was not freed.
unsafe fn with_instance<T>(
    domain: *mut lig_domain,
    call: &'static Call,
    then: impl FnOnce(&mut State, &mut Instance) -> Result<T, Error>,
) -> Result<T, Error> {
    // SAFETY: as the caller promises, also below.
    let domain = unsafe { handle(domain) }?;
    let mut instance = unsafe { used(domain.instance, call) }?;
    // The turn of the instance is taken, so no other call is in progress.
    let mut state = domain.state.borrow_mut();
    then(&mut state, &mut instance)
}

/// Calls the domain with the arrays of fields.
///
/// # Safety
/// As `with_instance`; `fields` has `count` numbers, and the arrays of these fields are where the caller said.
unsafe fn with_fields(
    domain: *mut lig_domain,
    call: &'static Call,
    (fields, count): (*const u32, usize),
    then: impl FnOnce(&mut Domain, &mut Instance, &mut [FieldData<'_>]) -> Result<(), Error>,
) -> Result<(), Error> {
    // SAFETY: as the caller promises, also below.
    let fields = unsafe { numbers(fields, count, "fields") }?;
    unsafe {
        with_instance(domain, call, |state, instance| {
            let mut data = Vec::new();
            for (place, field) in fields.iter().enumerate() {
                let id = FieldId(*field as usize);
                let Some((start, length)) = state.arrays.get(id.0).copied() else {
                    return Err(GridError::NoField { field: id.0 }.into());
                };
                if fields[..place].contains(field) {
                    let field = state.domain.fields()[id.0].name().to_owned();
                    return Err(GridError::FieldTwice { field }.into());
                }
                // No two fields share memory, since the caller gives each its own.
                let bytes = std::slice::from_raw_parts_mut(start, length);
                data.push(FieldData { field: id, bytes });
            }
            then(&mut state.domain, instance, &mut data)
        })
    }
}

/// Makes the domain of an instance. It must be freed before the instance.
///
/// `LIG_ERR_USAGE` if the model gives the component no grid.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_create(
    instance: *mut lig_instance,
    domain: *mut *mut lig_domain,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        // SAFETY: all pointers are as the caller promises, here and in all functions below.
        let place = unsafe { out(domain, "domain") }?;
        place.write(std::ptr::null_mut());
        let made = Domain::new(&*unsafe { used(instance, &Call("lig_domain_create")) }?)?;
        let (begin, end) = made.range().iter().copied().unzip();
        let handle = lig_domain {
            instance,
            shape: made.shape().to_vec(),
            begin,
            end,
            blocks: made.blocks().iter().map(|count| *count as u64).collect(),
            block: made.block() as u32,
            state: RefCell::new(State { domain: made, arrays: Vec::new() }),
        };
        place.write(Box::into_raw(Box::new(handle)));
        Ok(())
    })
}

/// Frees a domain. The arrays of its fields are the caller's and stay. NULL is allowed.
///
/// # Safety
/// The handle is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_free(domain: *mut lig_domain) {
    guard_or((), || {
        if !domain.is_null() {
            drop(unsafe { Box::from_raw(domain) });
        }
    });
}

/// The number of axes of the grid: 1 to 3; 0 if `domain` is NULL.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_ndim(domain: *const lig_domain) -> usize {
    guard_or(0, || unsafe { handle(domain) }.map_or(0, |domain| domain.shape.len()))
}

/// Returns numbers of a domain, one for each axis; NULL for NULL.
///
/// # Safety
/// As `handle`.
unsafe fn numbers_of(domain: *const lig_domain, numbers: fn(&lig_domain) -> &Vec<u64>) -> *const u64 {
    guard_or(std::ptr::null(), || {
        unsafe { handle(domain) }.map_or(std::ptr::null(), |domain| numbers(domain).as_ptr())
    })
}

/// The number of points of the whole grid along each axis. It lives as long as the domain, as do the numbers of
/// the three functions below.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_shape(domain: *const lig_domain) -> *const u64 {
    unsafe { numbers_of(domain, |domain| &domain.shape) }
}

/// The first of this block's points along each axis, counted from 0.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_begin_point(domain: *const lig_domain) -> *const u64 {
    unsafe { numbers_of(domain, |domain| &domain.begin) }
}

/// The point after this block's last one along each axis.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_end_point(domain: *const lig_domain) -> *const u64 {
    unsafe { numbers_of(domain, |domain| &domain.end) }
}

/// The number of blocks along each axis.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_blocks(domain: *const lig_domain) -> *const u64 {
    unsafe { numbers_of(domain, |domain| &domain.blocks) }
}

/// The number of this block, from 0; the last axis runs fastest.
///
/// # Safety
/// All pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_block(domain: *const lig_domain) -> u32 {
    guard_or(0, || unsafe { handle(domain) }.map_or(0, |domain| domain.block))
}

/// Adds a field, which has `ghosts` points beyond the block at each side. `array` describes the caller's array:
/// its shape is that of the block with `2 * ghosts` more along each axis, its elements lie next to each other
/// in its order, and its unit is the field's. The array stays where it is until the domain is freed, or until
/// `lig_domain_set_data`, and shares no memory with another field. The number of the field goes to `*field`.
///
/// `LIG_ERR_USAGE` if the name is taken, the array does not fit, or a block is narrower than the ghosts.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_add_field(
    domain: *mut lig_domain,
    field_name: *const c_char,
    ghosts: usize,
    array: *const lig_array,
    field: *mut u32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let place = unsafe { out(field, "field") }?;
        let field_name = unsafe { name(field_name, "field_name") }?;
        let (described, array) = unsafe { describe(array) }?;
        if !array.strides.is_null() {
            return Err(Misuse::FieldWithStrides { field: field_name.to_owned() }.into());
        }
        if array.data.is_null() {
            return Err(null("array.data"));
        }
        let length = nbytes(described.dtype, described.shape)?;
        let mut added = Field::new(field_name).with_ghosts(ghosts).with_dtype(described.dtype);
        added = added.with_order(described.order).with_unit(described.unit.unwrap_or_default());
        let domain = unsafe { handle(domain) }?;
        let _instance = unsafe { used(domain.instance, &Call("lig_domain_add_field")) }?;
        let mut state = domain.state.borrow_mut();
        state.domain.check_shape(&added, described.shape)?;
        state.check_memory(added.name(), None, (array.data.cast(), length))?;
        let id = state.domain.add_field(added)?;
        state.arrays.push((array.data.cast(), length));
        place.write(id.0 as u32);
        Ok(())
    })
}

/// Gives a field another array, of the same type, shape and order: for codes that have two arrays for a field,
/// and exchange one while they write the other.
///
/// `LIG_ERR_USAGE` if there is no such field.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_set_data(
    domain: *mut lig_domain,
    field: u32,
    data: *mut c_void,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        if data.is_null() {
            return Err(null("data"));
        }
        let domain = unsafe { handle(domain) }?;
        let _instance = unsafe { used(domain.instance, &Call("lig_domain_set_data")) }?;
        let mut state = domain.state.borrow_mut();
        let field = field as usize;
        let Some((_, length)) = state.arrays.get(field).copied() else {
            return Err(GridError::NoField { field }.into());
        };
        let name = state.domain.fields()[field].name();
        state.check_memory(name, Some(field), (data.cast(), length))?;
        state.arrays[field].0 = data.cast();
        Ok(())
    })
}

/// Says in which direction the values of a field travel: -1, 0 or 1 for each axis of the grid, as in a lattice
/// Boltzmann code. An exchange then fills only the ghosts from which a value comes into the block in this
/// direction, and leaves those at other sides between blocks as they are. All blocks give the same directions.
///
/// `LIG_ERR_USAGE` if there is no such field, or if an exchange has begun.
///
/// # Safety
/// `direction` has a number for each axis; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_set_direction(
    domain: *mut lig_domain,
    field: u32,
    direction: *const i32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || {
        let axes = unsafe { handle(domain) }?.shape.len();
        let direction = unsafe { numbers(direction, axes, "direction") }?;
        unsafe {
            with_instance(domain, &Call("lig_domain_set_direction"), |state, _| {
                state.domain.set_direction(FieldId(field as usize), direction)
            })
        }
    })
}

/// Fills the ghosts of `count` fields with the points of the neighbouring blocks, at corners too. All blocks
/// make the same calls. Beyond a periodic or mirrored edge of the grid, ghosts are filled too; beyond other
/// edges they stay as they are. `time` is the model time of the fields.
///
/// `LIG_ERR_UNEXPECTED` if a neighbour exchanges other fields, or is at another time; otherwise as `lig_send`
/// and `lig_receive`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_exchange(
    domain: *mut lig_domain,
    time: f64,
    fields: *const u32,
    count: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        with_fields(domain, &Call("lig_domain_exchange"), (fields, count), |core, instance, data| {
            core.exchange(instance, time, data)
        })
    })
}

/// Begins an exchange: sends what the neighbours need, and waits for nobody as long as the budgets of the
/// conduits last. The code can compute what needs no ghosts before `lig_domain_end`. Otherwise as
/// `lig_domain_exchange`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_begin(
    domain: *mut lig_domain,
    time: f64,
    fields: *const u32,
    count: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        with_fields(domain, &Call("lig_domain_begin"), (fields, count), |core, instance, data| {
            core.begin(instance, time, data)
        })
    })
}

/// Ends an exchange that `lig_domain_begin` has begun, with the same fields: fills their ghosts.
///
/// `LIG_ERR_USAGE` if no exchange has begun, or one with other fields; otherwise as `lig_domain_exchange`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_end(
    domain: *mut lig_domain,
    fields: *const u32,
    count: usize,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        with_fields(domain, &Call("lig_domain_end"), (fields, count), |core, instance, data| {
            core.end(instance, data)
        })
    })
}

/// Shows a field to the taps of the port with the field's name (`ligament tap`, the page), at the time of the
/// last exchange of the field. Nothing is joined to this port, and while nobody looks nothing is copied or
/// computed. A block calls this after an exchange, before the points of the field change, so that the ghosts
/// fit them.
///
/// `LIG_ERR_USAGE` if the field was in no exchange yet, if an exchange has begun and not ended, or if a port of
/// the component has the field's name.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_publish(
    domain: *mut lig_domain,
    field: u32,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe {
        with_fields(domain, &Call("lig_domain_publish"), (&field, 1), |core, instance, data| {
            data.iter().try_for_each(|data| core.publish(instance, data.field, data.bytes))
        })
    })
}

/// The sum of all numbers that all blocks give, each `count` of its own. It is the exact sum, rounded once, so
/// it does not depend on the blocks.
///
/// `LIG_ERR_UNEXPECTED` if another block does something else; otherwise as `lig_send` and `lig_receive`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_sum(
    domain: *mut lig_domain,
    values: *const f64,
    count: usize,
    sum: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { reduce(domain, &Call("lig_domain_sum"), (values, count), sum, Domain::sum) })
}

/// The smallest of all numbers that all blocks give; infinity if they give none, and NaN if one of them is NaN.
/// Otherwise as `lig_domain_sum`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_min(
    domain: *mut lig_domain,
    values: *const f64,
    count: usize,
    min: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { reduce(domain, &Call("lig_domain_min"), (values, count), min, Domain::min) })
}

/// The largest of all numbers that all blocks give; minus infinity if they give none, and NaN if one of them is
/// NaN. Otherwise as `lig_domain_sum`.
///
/// # Safety
/// All pointers are valid; `error` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn lig_domain_max(
    domain: *mut lig_domain,
    values: *const f64,
    count: usize,
    max: *mut f64,
    error: *mut lig_error,
) -> lig_status {
    guard(error, || unsafe { reduce(domain, &Call("lig_domain_max"), (values, count), max, Domain::max) })
}

/// # Safety
/// As `with_instance`; `values` has `count` numbers.
unsafe fn reduce(
    domain: *mut lig_domain,
    call: &'static Call,
    (values, count): (*const f64, usize),
    result: *mut f64,
    reduction: fn(&mut Domain, &mut Instance, &[f64]) -> Result<f64, Error>,
) -> Result<(), Error> {
    let place = unsafe { out(result, "the result") }?;
    let values = unsafe { numbers(values, count, "values") }?;
    let reduced = unsafe {
        with_instance(domain, call, |state, instance| reduction(&mut state.domain, instance, values))
    };
    place.write(reduced?);
    Ok(())
}
