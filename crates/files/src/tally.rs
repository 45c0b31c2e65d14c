//! The progress of a copy, which a display may read at any time.

use crate::names::{is_partial, shown, split};
use ligament_catalogue::Fault;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is not copied, and why.
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
    /// The number of things that were removed whose names nobody has told.
    removed_more: u64,
}

/// So many names are kept of each kind: what the other end tells has no end.
const MAX_NAME_LIST_BYTES: usize = 1 << 20;

fn keep<T>(list: &mut Vec<T>, one: T) {
    if list.len() < MAX_NAME_LIST_BYTES {
        list.push(one);
    }
}

/// The counts of one copy.
#[derive(Default)]
pub struct CopyTally {
    /// Files that were found, and their bytes; whether these are all.
    files: AtomicU64,
    bytes: AtomicU64,
    complete: AtomicBool,
    /// Files that were there already, and their bytes.
    same: AtomicU64,
    same_bytes: AtomicU64,
    /// Files that were copied; the bytes of files that were sent or received, holes left out; and those that
    /// were there of a copy that was cut.
    copied: AtomicU64,
    moved: AtomicU64,
    resumed: AtomicU64,
    /// Bytes of files that are dealt with, holes included: for how far the copy is.
    through: AtomicU64,
    lists: Mutex<Lists>,
    keeps: Keeps,
}

/// Which names are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keeps {
    /// Of what failed or is left out.
    #[default]
    Failed,
    /// Of what was copied or removed, too.
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

/// Takes something off a count. What the other end says may be more than there is.
fn less(count: &AtomicU64, by: u64) {
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| Some(count.saturating_sub(by)));
}

impl CopyTally {
    /// One that keeps the names of all that was copied, for a trial or for news.
    pub fn with_names() -> CopyTally {
        CopyTally { keeps: Keeps::All, ..CopyTally::default() }
    }

    /// One that only counts: the other end is told of what fails.
    pub fn without_names() -> CopyTally {
        CopyTally { keeps: Keeps::None, ..CopyTally::default() }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
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

    /// The files that are not copied, so far.
    pub fn failed(&self) -> Vec<FailedFile> {
        self.lists().failed.clone()
    }

    /// The names of what was copied, or would be; taken away.
    pub fn take_copied(&self) -> Vec<String> {
        std::mem::take(&mut self.lists().copied)
    }

    /// The names of what was removed, or would be; taken away.
    pub fn take_removed(&self) -> Vec<String> {
        std::mem::take(&mut self.lists().removed)
    }

    /// The number of more things that were removed, whose names are not known; taken away.
    pub fn take_removed_more(&self) -> u64 {
        std::mem::take(&mut self.lists().removed_more)
    }

    pub(crate) fn removed_more(&self, many: u64) {
        let more = &mut self.lists().removed_more;
        *more = more.saturating_add(many);
    }

    /// Returns true if somebody at this end learns of what fails and what is removed, so that the other end
    /// need not be told.
    pub(crate) fn is_read(&self) -> bool {
        self.keeps != Keeps::None
    }

    /// Failures; taken away.
    pub fn take_failed(&self) -> Vec<FailedFile> {
        std::mem::take(&mut self.lists().failed)
    }

    /// The names of what is not copied; `reason_of` says why.
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

    /// The bytes of a file that begins anew do not count.
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

    /// The same, since the last call.
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

/// The reason why something of this name is left out.
pub fn reason_of(left_out: &str) -> &'static str {
    if is_partial(split(left_out.as_bytes()).1) {
        "has the name of a file that is not whole yet, and is left out; give it another name"
    } else {
        "is neither a file nor a directory nor a link, and is left out"
    }
}
