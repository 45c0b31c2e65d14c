//! The progress of a copy. A display may read it at any time.

use crate::names::{is_partial, shown, split};
use ligament_catalogue::Fault;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is not copied, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedFile {
    pub name: String,
    pub why: Fault,
}

#[derive(Default)]
struct Lists {
    failed: Vec<FailedFile>,
    copied: Vec<String>,
    removed: Vec<String>,
    left_out: Vec<String>,
    /// Number of removed things whose names were not reported.
    removed_more: u64,
}

/// Maximum number of names that each list keeps, because the other end may report names without end.
const MAX_LISTED_NAMES: usize = 1 << 20;

fn keep<T>(list: &mut Vec<T>, one: T) {
    if list.len() < MAX_LISTED_NAMES {
        list.push(one);
    }
}

/// The counts of one copy.
#[derive(Default)]
pub struct CopyTally {
    /// Number of files found so far (`files`) and of their bytes (`bytes`). `complete` is true if no more
    /// files will be found.
    files: AtomicU64,
    bytes: AtomicU64,
    complete: AtomicBool,
    /// Number of files that the receiver already had, and number of their bytes.
    same: AtomicU64,
    same_bytes: AtomicU64,
    /// Number of copied files (`copied`). Number of bytes sent or received, without holes (`moved`). Number
    /// of bytes that an interrupted copy had left at the receiver (`resumed`).
    copied: AtomicU64,
    moved: AtomicU64,
    resumed: AtomicU64,
    /// Number of bytes of files that are done, including holes. A display shows the progress with it.
    through: AtomicU64,
    lists: Mutex<Lists>,
    keeps: Keeps,
}

/// The names that a tally keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keeps {
    /// The names of files that failed or are left out.
    #[default]
    Failed,
    /// The names of copied and removed files, too.
    All,
    None,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub files: u64,
    pub bytes: u64,
    pub complete: bool,
    pub same: u64,
    pub copied: u64,
    pub moved: u64,
    pub resumed: u64,
    pub through: u64,
}

/// Subtracts from a count, but not below 0. The other end may report more than there is.
fn less(count: &AtomicU64, by: u64) {
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| Some(count.saturating_sub(by)));
}

impl CopyTally {
    /// Makes a tally that keeps the names of all copied files, for a dry run or for reports.
    pub fn with_names() -> CopyTally {
        CopyTally { keeps: Keeps::All, ..CopyTally::default() }
    }

    /// Makes a tally that only counts. Failures are reported to the other end instead.
    pub fn without_names() -> CopyTally {
        CopyTally { keeps: Keeps::None, ..CopyTally::default() }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the counts at this moment.
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            files: read(&self.files),
            bytes: read(&self.bytes),
            complete: self.complete.load(Ordering::Relaxed),
            same: read(&self.same),
            copied: read(&self.copied),
            moved: read(&self.moved),
            resumed: read(&self.resumed),
            through: read(&self.through),
        }
    }

    /// Returns the files that have failed so far.
    pub fn failed(&self) -> Vec<FailedFile> {
        self.lists().failed.clone()
    }

    /// Returns the names of the files that were copied, or would be in a dry run, and clears the list.
    pub fn take_copied(&self) -> Vec<String> {
        std::mem::take(&mut self.lists().copied)
    }

    /// Returns the names of the things that were removed, or would be in a dry run, and clears the list.
    pub fn take_removed(&self) -> Vec<String> {
        std::mem::take(&mut self.lists().removed)
    }

    /// Returns the number of further removed things whose names are not known, and resets it.
    pub fn take_removed_more(&self) -> u64 {
        std::mem::take(&mut self.lists().removed_more)
    }

    pub(crate) fn removed_more(&self, many: u64) {
        let more = &mut self.lists().removed_more;
        *more = more.saturating_add(many);
    }

    /// Returns true if the user reads failures and removals at this end, so that the other end needs no
    /// report.
    pub(crate) fn is_read(&self) -> bool {
        self.keeps != Keeps::None
    }

    /// Returns the failed files, and clears the list.
    pub fn take_failed(&self) -> Vec<FailedFile> {
        std::mem::take(&mut self.lists().failed)
    }

    /// Returns the names of the things that are not copied. `reason_of` gives the reason.
    pub fn left_out(&self) -> Vec<String> {
        self.lists().left_out.clone()
    }

    pub(crate) fn found(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn complete(&self) {
        self.complete.store(true, Ordering::Relaxed);
    }

    pub(crate) fn was_there(&self, bytes: u64) {
        self.same.fetch_add(1, Ordering::Relaxed);
        self.same_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.went_through(bytes);
    }

    pub(crate) fn resumed(&self, bytes: u64) {
        self.resumed.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Ordering::Relaxed);
        self.went_through(bytes);
    }

    pub(crate) fn went_through(&self, bytes: u64) {
        self.through.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts the bytes of a file that is sent again from its beginning.
    pub(crate) fn came_back(&self, bytes: u64) {
        less(&self.through, bytes);
    }

    pub(crate) fn copied(&self, name: &[u8]) {
        self.copied.fetch_add(1, Ordering::Relaxed);
        if self.keeps == Keeps::All {
            keep(&mut self.lists().copied, shown(name));
        }
    }

    pub(crate) fn removed(&self, name: &[u8]) {
        if self.keeps == Keeps::All {
            keep(&mut self.lists().removed, shown(name));
        }
    }

    /// Returns the names of the things that are not copied, and clears the list.
    pub fn take_left_out(&self) -> Vec<String> {
        std::mem::take(&mut self.lists().left_out)
    }

    pub(crate) fn leaves_out(&self, name: &[u8]) {
        if self.keeps != Keeps::None {
            keep(&mut self.lists().left_out, shown(name));
        }
    }

    pub(crate) fn fails(&self, name: &[u8], why: Fault) {
        if self.keeps != Keeps::None {
            let name = if name.is_empty() { ".".to_owned() } else { shown(name) };
            keep(&mut self.lists().failed, FailedFile { name, why });
        }
    }
}

/// Returns the reason why a thing of this name is left out.
pub fn reason_of(left_out: &str) -> &'static str {
    if is_partial(split(left_out.as_bytes()).1) {
        "has the name of a file that is not whole yet, and is left out; give it another name"
    } else {
        "is neither a file nor a directory nor a link, and is left out"
    }
}
