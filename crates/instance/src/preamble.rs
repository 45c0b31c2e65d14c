//! The head of the last array that a port sent. The next array mostly has an equal head, which then need
//! not be made again.

use ligament_wire::{array_head, ArrayKind, ArrayMeta, ArrayOrder, DType, WireError};

/// The head of the last array that a port sent: the preamble of its message.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// The kind of array that the head describes. `None` for an array with axis names or a unit.
    kind: Option<ArrayKind>,
    bytes: Vec<u8>,
    number: u64,
    /// Length of the whole body, in bytes.
    body_len: u64,
}

impl Preamble {
    /// Returns the bytes of the head.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// See `ligament_shm::endpoint::Source::number`.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the kind of contiguous array that the head describes. `None` if the array has axis names or
    /// a unit.
    #[inline]
    pub fn kind(&self) -> Option<&ArrayKind> {
        self.kind.as_ref()
    }

    /// Returns the length of the whole body of an array with this head, in bytes.
    #[inline]
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Makes this the head of a contiguous array, and returns the length of the elements in bytes. `count`
    /// is the number of heads that the instance has made.
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

    /// Makes this the head of an array with axis names or a unit.
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
