//! The parts of a planned body: the place of each part, and the source of its bytes.

use crate::borrow::ArrayRef;
use crate::error::WireError;
use crate::gather::{self, Gather};
use ligament_catalogue::said;

/// The planned parts. Most messages have at most one part, and then no list is allocated.
#[derive(Debug, Default)]
pub(crate) enum PartList<'a> {
    #[default]
    None,
    One(PlannedPart<'a>),
    Many(Vec<PlannedPart<'a>>),
}

#[derive(Debug)]
pub(crate) struct PlannedPart<'a> {
    /// Offset of the part in the body, in bytes.
    pub offset: u64,
    pub len: u64,
    pub source: Source<'a>,
}

#[derive(Debug)]
pub(crate) enum Source<'a> {
    Contiguous(&'a [u8]),
    Strided(Box<Gather<'a>>),
}

impl<'a> PartList<'a> {
    pub fn as_slice(&self) -> &[PlannedPart<'a>] {
        match self {
            PartList::None => &[],
            PartList::One(part) => std::slice::from_ref(part),
            PartList::Many(parts) => parts,
        }
    }

    pub fn as_mut_slice(&mut self) -> &mut [PlannedPart<'a>] {
        match self {
            PartList::None => &mut [],
            PartList::One(part) => std::slice::from_mut(part),
            PartList::Many(parts) => parts,
        }
    }

    pub fn push(&mut self, part: PlannedPart<'a>) -> Result<u16, WireError> {
        let index = u16::try_from(self.as_slice().len()).ok().filter(|index| *index < u16::MAX);
        let index = index.ok_or(WireError::TooManyParts { limit: usize::from(u16::MAX) })?;
        *self = match std::mem::take(self) {
            PartList::None => PartList::One(part),
            PartList::One(first) => PartList::Many(vec![first, part]),
            PartList::Many(mut parts) => {
                parts.push(part);
                PartList::Many(parts)
            }
        };
        Ok(index)
    }
}

/// Checks a sender's array, and returns the source of its elements.
#[inline]
pub(crate) fn array_source<'a>(array: &ArrayRef<'a>) -> Result<(u64, Source<'a>), WireError> {
    let nbytes = gather::contiguous_bytes(array.dtype, array.shape)?;
    let available = array.data.len() as u64;
    let Some(strides) = array.strides else {
        let end = (array.offset as u64).checked_add(nbytes).filter(|end| *end <= available);
        let Some(end) = end else {
            return Err(WireError::array(said!(
                UNFIT_ARRAY,
                "shape {:?} of {} takes {nbytes} bytes from byte {}, but there are {available}",
                array.shape,
                array.dtype.name(),
                array.offset
            )));
        };
        return Ok((nbytes, Source::Contiguous(&array.data[array.offset..end as usize])));
    };
    gather::check_span(array.dtype, array.shape, strides, array.offset as u64, available)?;
    if nbytes == 0 {
        return Ok((0, Source::Contiguous(&[])));
    }
    let gather = Gather::new(array, strides);
    Ok(match gather.contiguous(nbytes as usize) {
        Some(bytes) => (nbytes, Source::Contiguous(bytes)),
        None => (nbytes, Source::Strided(Box::new(gather))),
    })
}

impl PlannedPart<'_> {
    #[inline]
    pub fn copy(&self, from: u64, dst: &mut [u8]) {
        match &self.source {
            Source::Contiguous(bytes) => dst.copy_from_slice(&bytes[from as usize..from as usize + dst.len()]),
            Source::Strided(gather) => gather.copy(from, dst),
        }
    }
}
