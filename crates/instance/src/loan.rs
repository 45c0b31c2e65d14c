//! Loans: memory that a code fills and then sends. A loan is either shared memory, which the receiver reads
//! in place, or a draft, which is copied when it is sent.

use ligament_shm::endpoint;
use ligament_shm::own::OwnMemory;
use ligament_shm::ShmError;
use ligament_wire::{ArrayKind, ArrayMeta, ArrayOrder, ArrayRef, Bytes, DType};
use std::any::Any;
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Largest loan that is a draft, in bytes. A draft is copied when it is sent. The core of a reader holds
/// the cache lines of the data that it has read. If the code writes to shared memory, fetching these lines
/// back costs more than the code's own memory and one copy. Measured on Zen 5, for an array written by one
/// core and read by another, in place and as a draft: 16 KiB 0.57 and 0.48 µs, 64 KiB 1.9 and 1.7, 128 KiB
/// 3.2 and 3.3.
pub(crate) const MAX_DRAFT_BYTES: u64 = 64 << 10;
/// Maximum number of sent loans that are stored for later use.
const MAX_SPARE_LOANS: usize = 8;
/// Smallest memory of a draft, in bytes. With fewer different sizes, a stored draft fits more often.
const MIN_DRAFT_BYTES: u64 = 1 << 10;

/// Memory for an array, which the code fills and then sends. The code cannot change the memory after the
/// send. The receiver reads more than 64 KiB in place; a smaller array is copied once, which is faster.
pub struct Loan(Box<LoanState>);

/// The memory of a loan, and a description of its array. It is boxed, because moving all of it from call to
/// call took half of a loan's time.
struct LoanState {
    /// The memory. `None` once it was sent.
    lent: Option<LoanMemory>,
    kind: ArrayKind,
    meta: Option<Box<ArrayMeta>>,
}

impl Loan {
    pub(crate) fn new(lent: LoanMemory, kind: ArrayKind, meta: Option<ArrayMeta>) -> Loan {
        Loan(Box::new(LoanState { lent: Some(lent), kind, meta: meta.map(Box::new) }))
    }

    /// The bytes of the elements, 64-byte aligned. New memory holds arbitrary bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0.lent {
            Some(LoanMemory::Block(loan)) => loan.bytes_mut(),
            Some(LoanMemory::Draft(draft)) => draft.bytes_mut(),
            None => &mut [],
        }
    }

    /// Returns the array as it is sent.
    pub(crate) fn array(&mut self) -> ArrayRef<'_> {
        let LoanState { lent, kind, meta } = &mut *self.0;
        let data: &[u8] = match lent {
            Some(LoanMemory::Block(loan)) => loan.bytes_mut(),
            Some(LoanMemory::Draft(draft)) => draft.bytes(),
            None => &[],
        };
        let meta = meta.as_deref();
        ArrayRef {
            dtype: kind.dtype(),
            shape: kind.shape(),
            strides: None,
            order: kind.order(),
            data,
            offset: 0,
            names: meta.map_or(&[], |meta| &meta.names),
            unit: meta.and_then(|meta| meta.unit.as_deref()),
        }
    }

    /// Returns the address of the first byte, for callers in other languages.
    #[inline]
    pub fn start(&self) -> *mut u8 {
        match &self.0.lent {
            Some(LoanMemory::Block(loan)) => loan.start(),
            Some(LoanMemory::Draft(draft)) => draft.memory.start(),
            None => std::ptr::null_mut(),
        }
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.kind.dtype()
    }

    /// The extents of the array.
    #[inline]
    pub fn shape(&self) -> &[u64] {
        self.0.kind.shape()
    }

    #[inline]
    pub(crate) fn order(&self) -> ArrayOrder {
        self.0.kind.order()
    }

    pub(crate) fn meta(&self) -> Option<&ArrayMeta> {
        self.0.meta.as_deref()
    }

    pub(crate) fn lent(&self) -> Option<&LoanMemory> {
        self.0.lent.as_ref()
    }

    /// Takes the memory out of the loan, to send it.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<LoanMemory> {
        self.0.lent.take()
    }

    /// Takes the memory out of the loan, to return it, if it is a block.
    #[inline]
    pub(crate) fn take_block(&mut self) -> Option<endpoint::Loan> {
        match self.0.lent.take() {
            Some(LoanMemory::Block(block)) => Some(block),
            other => {
                self.0.lent = other;
                None
            }
        }
    }

    /// Gives memory to a loan that has none.
    #[inline]
    pub(crate) fn fill(&mut self, lent: LoanMemory) {
        self.0.lent = Some(lent);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.kind.bytes() as u64
    }

    /// Returns true if no other language holds a reference to the memory.
    #[inline]
    fn is_unseen(&self) -> bool {
        match &self.0.lent {
            Some(LoanMemory::Draft(draft)) => draft.is_unseen(),
            _ => true,
        }
    }

    /// Returns the bytes of a draft, if its array has neither axis names nor a unit.
    #[inline(always)]
    pub(crate) fn plain_draft(&self) -> Option<&[u8]> {
        match (&self.0.lent, &self.0.meta) {
            (Some(LoanMemory::Draft(draft)), None) => Some(draft.bytes()),
            _ => None,
        }
    }
}

/// The memory of a loan.
pub(crate) enum LoanMemory {
    /// A block of shared memory.
    Block(endpoint::Loan),
    Draft(Draft),
}

/// A draft: memory that belongs to this process alone.
pub(crate) struct Draft {
    memory: Arc<OwnMemory>,
    len: usize,
}

impl Draft {
    /// Makes a draft of `len` bytes that are zero.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(len: u64) -> Result<Draft, ShmError> {
        Draft::with_room(len, len)
    }

    /// Makes a draft of `len` bytes whose memory may be larger, so that it can be used again for other
    /// arrays.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn roomy(len: u64) -> Result<Draft, ShmError> {
        Draft::with_room(len, size_for(len))
    }

    fn with_room(len: u64, size: u64) -> Result<Draft, ShmError> {
        let memory = OwnMemory::new(size)?;
        // The conversion does not fail, because memory of this length was allocated.
        Ok(Draft { memory: Arc::new(memory), len: len as usize })
    }

    fn size(&self) -> u64 {
        self.memory.as_ref().as_ref().len() as u64
    }

    /// Returns the bytes of the array.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory.as_ref().as_ref()[..self.len]
    }

    /// Returns the bytes of the array, to be written. Returns nothing if another language holds the memory:
    /// it then writes through `start`.
    fn bytes_mut(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.memory).map_or(&mut [], |memory| &mut memory.bytes_mut()[..self.len])
    }

    /// Returns true if nothing else holds the memory.
    #[inline]
    fn is_unseen(&self) -> bool {
        // No weak references exist, so the count is enough. `Arc::get_mut` would lock them out, which costs
        // more.
        let unseen = Arc::strong_count(&self.memory) == 1;
        fence(Ordering::Acquire);
        unseen
    }

    /// Returns a handle that keeps the memory allocated.
    pub fn pages(&self) -> Arc<dyn Any + Send + Sync> {
        self.memory.clone()
    }

    /// Turns the draft into bytes that are no longer written. They stay allocated while a reader holds
    /// them.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(SentDraft(self.memory)).slice(..self.len)
    }
}

/// Returns the size of the memory for a draft of `len` bytes that is to be used again.
fn size_for(len: u64) -> u64 {
    len.max(MIN_DRAFT_BYTES).next_power_of_two()
}

/// A sent draft, which a reader still holds.
struct SentDraft(Arc<OwnMemory>);

impl AsRef<[u8]> for SentDraft {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_ref()
    }
}

/// Loans that were sent, and the drafts among them with their memory. The loan that was sent last is used
/// first, because its memory is still in this core's cache.
#[derive(Default)]
pub(crate) struct Spare(Vec<Loan>);

impl Spare {
    /// Takes the newest loan that was for an array of this type, shape and order. A draft still has its
    /// memory.
    #[inline]
    pub fn alike(&mut self, dtype: DType, shape: &[u64], order: ArrayOrder) -> Option<Loan> {
        let fits = |loan: &Loan| loan.0.kind.is(dtype, shape, order) && loan.is_unseen();
        let at = self.0.iter().rposition(fits)?;
        Some(self.0.remove(at))
    }

    /// Takes the newest draft whose memory has the size that an array of this kind needs, and describes
    /// this array in it.
    pub fn with_room(&mut self, kind: &ArrayKind, meta: Option<&ArrayMeta>) -> Option<Loan> {
        let size = size_for(kind.bytes() as u64);
        let has_size = |draft: &Draft| draft.size() == size && draft.is_unseen();
        let fits = |loan: &Loan| matches!(&loan.0.lent, Some(LoanMemory::Draft(draft)) if has_size(draft));
        let at = self.0.iter().rposition(fits)?;
        let mut loan = self.0.remove(at);
        if let Some(LoanMemory::Draft(draft)) = &mut loan.0.lent {
            draft.len = kind.bytes();
        }
        (loan.0.kind, loan.0.meta) = (*kind, meta.cloned().map(Box::new));
        Some(loan)
    }

    /// Stores a loan for later use. If another language still holds its memory, the memory is not lent
    /// again until that ends.
    #[inline]
    pub fn put(&mut self, mut loan: Loan) {
        if loan.0.meta.is_some() {
            return;
        }
        if !matches!(&loan.0.lent, Some(LoanMemory::Draft(draft)) if draft.size() <= MAX_DRAFT_BYTES) {
            loan.0.lent = None;
        }
        if self.0.len() == MAX_SPARE_LOANS {
            self.0.remove(0);
        }
        self.0.push(loan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a loan of `len` bytes, in a stored draft if one fits.
    fn lend(spare: &mut Spare, len: u64) -> Loan {
        let kind = ArrayKind::new(DType::UInt8, &[len], ArrayOrder::RowMajor).unwrap();
        let reused = spare.with_room(&kind, None);
        reused.unwrap_or_else(|| Loan::new(LoanMemory::Draft(Draft::roomy(len).unwrap()), kind, None))
    }

    #[test]
    fn a_draft_that_comes_back_is_the_next_one_of_its_size() {
        let mut spare = Spare::default();
        let (small, large) = (lend(&mut spare, 1000), lend(&mut spare, 60_000));
        let starts = [&small, &large].map(Loan::start);
        assert_eq!([&small, &large].map(|loan| loan.plain_draft().unwrap().len()), [1000, 60_000]);
        assert!(starts.iter().all(|start| start.align_offset(64) == 0));
        spare.put(small);
        spare.put(large);
        let mut small = lend(&mut spare, 1);
        assert_eq!((small.start(), small.bytes_mut().len(), small.shape()), (starts[0], 1, &[1][..]));
        assert_eq!(lend(&mut spare, 40_000).start(), starts[1]);
        assert!(spare.0.is_empty());
    }

    #[test]
    fn the_last_one_is_used_again_as_it_is_if_its_array_was_alike() {
        let mut spare = Spare::default();
        let loan = lend(&mut spare, 5000);
        let start = loan.start();
        spare.put(loan);
        assert!(spare.alike(DType::UInt8, &[5001], ArrayOrder::RowMajor).is_none());
        assert!(spare.alike(DType::UInt8, &[5000, 1], ArrayOrder::RowMajor).is_none());
        assert_eq!(spare.alike(DType::UInt8, &[5000], ArrayOrder::RowMajor).unwrap().start(), start);
    }

    #[test]
    fn memory_that_another_language_sees_is_lent_again_once_it_no_longer_does() {
        let mut spare = Spare::default();
        let mut loan = lend(&mut spare, 10);
        let Some(LoanMemory::Draft(draft)) = loan.lent() else { panic!("no draft") };
        let (start, seen) = (loan.start(), draft.pages());
        assert!(loan.bytes_mut().is_empty());
        spare.put(loan);
        let alike = |spare: &mut Spare| spare.alike(DType::UInt8, &[10], ArrayOrder::RowMajor);
        assert!(alike(&mut spare).is_none());
        assert_ne!(lend(&mut spare, 20).start(), start);
        drop(seen);
        assert_eq!(alike(&mut spare).unwrap().start(), start);
    }

    #[test]
    fn much_memory_is_not_kept() {
        let mut spare = Spare::default();
        let loan = lend(&mut spare, MAX_DRAFT_BYTES + 1);
        spare.put(loan);
        assert!(spare.0[0].lent().is_none());
    }

    #[test]
    fn a_few_are_kept_and_the_oldest_go() {
        let mut spare = Spare::default();
        let many: Vec<Loan> = (0..20).map(|_| lend(&mut spare, 5000)).collect();
        let last = many[19].start();
        many.into_iter().for_each(|loan| spare.put(loan));
        assert_eq!(spare.0.len(), MAX_SPARE_LOANS);
        assert_eq!(lend(&mut spare, 5000).start(), last);
    }
}
