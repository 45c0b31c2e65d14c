//! The head of the array that a port sent last: the next one is mostly alike, so that there is nothing to plan.

use ligament_wire::{array_head, ArrayKind, ArrayMeta, ArrayOrder, DType, WireError};

/// The head that a port sent last.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// The kind of array that it is for; none for one with names or a unit.
    kind: Option<ArrayKind>,
    bytes: Vec<u8>,
    number: u64,
    /// Bytes of the whole body.
    body_len: u64,
}

impl Preamble {
    /// The head itself.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// See `ligament_shm::endpoint::Source::number`.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The kind of contiguous arrays that it is for, if it is for such.
    #[inline]
    pub fn kind(&self) -> Option<&ArrayKind> {
        self.kind.as_ref()
    }

    /// Bytes of the whole body of an array with this head.
    #[inline]
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Becomes the head for a contiguous array, and says how many bytes its elements take. `count` counts the
    /// heads of the instance.
    #[inline(always)]
    pub fn plan(
        &mut self,
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        count: &mut u64,
    ) -> Result<usize, WireError> {
        match &self.kind {
            Some(kind) if kind.is(dtype, shape, order) => Ok(kind.bytes()),
            _ => self.plan_anew(dtype, shape, order, count),
        }
    }

    #[cold]
    fn plan_anew(
        &mut self,
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        count: &mut u64,
    ) -> Result<usize, WireError> {
        (self.kind, self.number) = (None, 0);
        self.body_len = array_head(dtype, shape, order, None, &mut self.bytes)?;
        let kind = ArrayKind::new(dtype, shape, order)?;
        self.kind = Some(kind);
        *count += 1;
        self.number = *count;
        Ok(kind.bytes())
    }

    /// Becomes the head for an array with names or a unit.
    pub fn plan_with(
        &mut self,
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        meta: &ArrayMeta,
    ) -> Result<(), WireError> {
        (self.kind, self.number) = (None, 0);
        self.body_len = array_head(dtype, shape, order, Some(meta), &mut self.bytes)?;
        Ok(())
    }
}
