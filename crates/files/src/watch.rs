//! Watching a directory for changes. The kernel reports changes (inotify). Changes that another machine
//! makes in a shared file system are unknown to the kernel, so the directory is also scanned at intervals.
//!
//! A file with a report from the kernel is listed when the process that writes it has closed it. A file
//! that only a scan has found is listed when it has looked the same for a while.

use crate::entry::Stamp;
use crate::names;
use crate::scan::{stopped, unread, walk, Lister, Root, ScanItem, Shelf};
use ligament_catalogue::{fault, Fault};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{self, FileType, Stat};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Interval between scans of the whole directory: on a local file system, and on one that other machines
/// write.
const RESCAN_INTERVAL: Duration = Duration::from_secs(30);
const FAST_RESCAN_INTERVAL: Duration = Duration::from_secs(2);
/// Time in which further kernel events are collected and processed together with the first one.
const EVENT_BATCH_TIME: Duration = Duration::from_millis(20);
/// Time after its last change from which an unclosed file no longer counts as being written.
const MAX_WRITE_TIME: Duration = Duration::from_secs(60);
/// Maximum time of one wait.
const WAIT: Duration = Duration::from_millis(500);

/// Magic numbers of file systems that other machines may write: NFS, SMB (three of them), Lustre, GPFS,
/// FUSE, Ceph, 9P, BeeGFS, PanFS, AFS.
const SHARED: [u64; 12] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0bd0_0bd0,
    0x4750_4653,
    0x6573_5546,
    0x00c3_6400,
    0x0102_1997,
    0x1983_0326,
    0xaad7_aaea,
    0x5346_414f,
];

/// Options for watching a directory.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchOptions {
    /// Interval between scans of the whole directory [default: 30 s; 2 s where other machines write].
    pub look: Option<Duration>,
    /// Time for which a file must look the same before it is listed, unless the kernel reports that it was
    /// closed.
    pub rest: Duration,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions { look: None, rest: Duration::from_secs(2) }
    }
}

/// A file that may still be written: its last stamp, and the time since which it looks the same.
struct RestingFile {
    stamp: Stamp,
    since: Instant,
}

struct Watcher<'a, 'l> {
    root: &'a Root,
    lister: &'a mut Lister<'l>,
    rest: Duration,
    /// True if other machines may write in the directory. Then the reports of the kernel are incomplete,
    /// and the clock of this machine says nothing about the age of a file.
    shared: bool,
    kernel: Option<OwnedFd>,
    places: HashMap<i32, Vec<u8>>,
    /// The listed files, and their stamps.
    known: HashMap<Vec<u8>, Stamp>,
    resting: HashMap<Vec<u8>, RestingFile>,
    /// Files that a process of this machine has written and not closed, and the time of the last change.
    open: HashMap<Vec<u8>, Instant>,
    /// True if something was listed after the last end of a list.
    some: bool,
    /// Failures that were reported already, so that each is reported once. An entry is a name, or a general
    /// problem, which begins with "/" because no name does.
    failed: HashSet<Vec<u8>>,
    /// Device and inode number of the directory at the start of the watch.
    place: Option<Option<(u64, u64)>>,
}

/// Lists the contents of a directory, and then all changes, until the shelf has ended.
pub(crate) fn watch(
    options: &WatchOptions,
    root: &Root,
    lister: &mut Lister<'_>,
    shelf: &Shelf,
) -> Result<(), Fault> {
    let shared =
        fs::statfs(&root.path).is_ok_and(|about| SHARED.contains(&(about.f_type as u64 & 0xffff_ffff)));
    let look = options.look.unwrap_or(if shared { FAST_RESCAN_INTERVAL } else { RESCAN_INTERVAL });
    let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
    let mut watcher = Watcher {
        root,
        lister,
        rest: options.rest,
        shared,
        kernel,
        places: HashMap::new(),
        known: HashMap::new(),
        resting: HashMap::new(),
        open: HashMap::new(),
        some: false,
        failed: HashSet::new(),
        place: None,
    };
    let all = watcher.look_through(true)?;
    watcher.lister.end(all)?;
    let mut next = Instant::now() + look;
    while !shelf.is_over() {
        let overflowed = watcher.hear(next.saturating_duration_since(Instant::now()), shelf)?;
        for name in shelf.take_again() {
            // The name may come from the other end, so only a known name is looked at.
            if watcher.known.remove(&name).is_some() {
                watcher.sees_again(&name);
            }
        }
        if overflowed || Instant::now() >= next {
            watcher.look_through(false)?;
            // The interval counts from the end of a scan, so that a large tree is not scanned all the time.
            next = Instant::now() + look;
        }
        watcher.list_what_rests()?;
        if std::mem::take(&mut watcher.some) {
            watcher.lister.end(false)?;
        }
    }
    Err(stopped())
}

impl Watcher<'_, '_> {
    fn path(&self, name: &[u8]) -> PathBuf {
        match name {
            b"" => self.root.path.clone(),
            _ => self.root.path.join(std::ffi::OsStr::from_bytes(name)),
        }
    }

    /// Asks the kernel to report changes in a directory. If the kernel cannot, scans find the changes.
    fn follow(&mut self, name: &[u8]) -> Result<(), Fault> {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        let what = WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE_SELF
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        match inotify::add_watch(kernel, self.path(name), what) {
            Ok(watch) => {
                self.places.insert(watch, name.to_vec());
            }
            Err(Errno::NOSPC) if self.failed.insert(b"/watches".to_vec()) => {
                let why = fault!(
                    NOT_WATCHED,
                    "the kernel watches no more directories for this user (fs.inotify.max_user_watches); what \
                     changes in the others is found by looking through all of them"
                );
                self.lister.fails(name, why)?;
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Scans the whole directory. Returns true if all of it could be read.
    fn look_through(&mut self, first: bool) -> Result<bool, Fault> {
        let root = self.root;
        let mut present = HashSet::new();
        if !self.is_in_place() {
            // A file system was unmounted, or the directory was moved. Its files still exist, so they are
            // not listed as removed.
            if self.failed.insert(b"/another".to_vec()) {
                let why = fault!(
                    FILE_NOT_COPIED,
                    "another directory stands there now, or none; nothing is copied or removed until it is back"
                );
                self.lister.fails(b"", why)?;
            }
            return Ok(false);
        }
        self.failed.remove(b"/another".as_slice());
        self.follow(b"")?;
        let all = self.look_below(root, first, &mut |name| {
            present.insert(name.to_vec());
        })?;
        if all {
            let gone: Vec<Vec<u8>> =
                self.known.keys().filter(|name| !present.contains(*name)).cloned().collect();
            self.are_gone(gone)?;
        }
        self.resting.retain(|name, _| present.contains(name));
        Ok(all)
    }

    /// Returns true if the path still leads to the directory that was there at the start.
    fn is_in_place(&mut self) -> bool {
        let place = fs::stat(&self.root.path).map(|stat| (stat.st_dev, stat.st_ino)).ok();
        *self.place.get_or_insert(place) == place
    }

    fn look_below(&mut self, root: &Root, first: bool, told: &mut dyn FnMut(&[u8])) -> Result<bool, Fault> {
        let mut all = true;
        walk(root, &mut |found| match found {
            ScanItem::Thing(name, _, stat) => {
                told(name);
                self.considers(name, stat, false)?;
                if first && self.resting.contains_key(name) {
                    self.lister.mention(name)?;
                }
                Ok(())
            }
            ScanItem::Unread(name, error) => {
                all = false;
                if self.failed.insert(name.to_vec()) {
                    self.lister.fails(name, unread(&error))
                } else {
                    Ok(())
                }
            }
            ScanItem::Other(name) if self.failed.insert(name.to_vec()) => self.lister.leaves_out(name),
            ScanItem::Other(_) => Ok(()),
        })?;
        Ok(all)
    }

    /// Lists a thing if it is new or has changed. `sure` is true if no process writes it.
    fn considers(&mut self, name: &[u8], stat: &Stat, sure: bool) -> Result<(), Fault> {
        let (kind, stamp) = (FileType::from_raw_mode(stat.st_mode), Stamp::of(stat));
        if kind.is_dir() {
            if self.known.insert(name.to_vec(), stamp).is_none() {
                self.follow(name)?;
                self.list(name, stat)?;
            }
            return Ok(());
        }
        if self.known.get(name) == Some(&stamp) {
            self.resting.remove(name);
            return Ok(());
        }
        if kind.is_file() && !sure {
            if self.is_open(name) {
                return Ok(());
            }
            if self.shared || !self.is_old(&stamp) {
                let now = Instant::now();
                let resting = self.resting.entry(name.to_vec()).or_insert(RestingFile { stamp, since: now });
                if resting.stamp != stamp {
                    *resting = RestingFile { stamp, since: now };
                }
                return Ok(());
            }
        }
        if kind.is_file() || kind.is_symlink() {
            self.resting.remove(name);
            self.known.insert(name.to_vec(), stamp);
            self.list(name, stat)?;
        }
        Ok(())
    }

    fn list(&mut self, name: &[u8], stat: &Stat) -> Result<(), Fault> {
        self.some = true;
        let path = self.path(name);
        self.lister.add(name, &path, stat)
    }

    /// Returns true if a process writes the file, as far as the kernel reports it. The time limit is for
    /// files that were only truncated by name: such a file is never closed.
    fn is_open(&self, name: &[u8]) -> bool {
        self.open.get(name).is_some_and(|since| since.elapsed() < MAX_WRITE_TIME)
    }

    /// Returns true if the last change of the file is so long ago, by the clock of this machine, that no
    /// process writes it.
    fn is_old(&self, stamp: &Stamp) -> bool {
        let changed = u64::try_from(stamp.seconds).ok().map(|s| Duration::new(s, stamp.nanos.min(999_999_999)));
        let changed = changed.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        changed.is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age >= self.rest))
    }

    /// Marks a file that changed while it was sent. It is listed again when it has stopped changing.
    fn sees_again(&mut self, name: &[u8]) {
        if let Ok(stat) = fs::lstat(self.path(name)) {
            self.resting.insert(name.to_vec(), RestingFile { stamp: Stamp::of(&stat), since: Instant::now() });
        }
    }

    /// Lists the files that have looked the same for long enough.
    fn list_what_rests(&mut self) -> Result<(), Fault> {
        let now = Instant::now();
        let due = |resting: &RestingFile| now.saturating_duration_since(resting.since) >= self.rest;
        let due: Vec<Vec<u8>> =
            self.resting.iter().filter(|(_, one)| due(one)).map(|(name, _)| name.clone()).collect();
        for name in due {
            let Some(before) = self.resting.remove(&name) else { continue };
            let Ok(stat) = fs::lstat(self.path(&name)) else { continue };
            let same = Stamp::of(&stat) == before.stamp;
            if !same {
                let resting = RestingFile { stamp: Stamp::of(&stat), since: now };
                self.resting.insert(name, resting);
            } else if !self.is_open(&name) {
                self.considers(&name, &stat, true)?;
            }
        }
        Ok(())
    }

    fn are_gone(&mut self, mut gone: Vec<Vec<u8>>) -> Result<(), Fault> {
        if gone.is_empty() {
            return Ok(());
        }
        for name in &gone {
            self.known.remove(name);
            self.resting.remove(name);
            self.open.remove(name);
        }
        // The deepest names come first, so that directories are empty when they are removed.
        gone.sort_by(|a, b| b.cmp(a));
        self.some = true;
        self.lister.gone(gone)
    }

    // ---- kernel events --------------------------------------------------------------------------------------
    /// Waits for events of the kernel, at most `within`, and processes them. Returns true if events were
    /// lost or the directory has moved, so that a scan is needed.
    fn hear(&mut self, within: Duration, shelf: &Shelf) -> Result<bool, Fault> {
        let soonest = self.resting.values().map(|one| self.rest.saturating_sub(one.since.elapsed())).min();
        let within = soonest.unwrap_or(WAIT).min(within).min(WAIT);
        let Some(kernel) = &self.kernel else {
            shelf.wait(within.max(Duration::from_millis(1)));
            return Ok(false);
        };
        let time = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        if !matches!(poll(&mut [PollFd::new(kernel, PollFlags::IN)], Some(&time)), Ok(1..)) {
            return Ok(false);
        }
        std::thread::sleep(EVENT_BATCH_TIME);
        let told = self.told();
        let mut overflowed = false;
        // The last event of a file says whether it is closed. Each file is looked at once.
        let mut closed: HashSet<Vec<u8>> = HashSet::new();
        let mut look: Vec<Vec<u8>> = Vec::new();
        let mut gone = Vec::new();
        for (watch, what, last) in told {
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.open.clear();
                overflowed = true;
                continue;
            }
            if what.contains(ReadFlags::IGNORED) {
                self.places.remove(&watch);
                continue;
            }
            let Some(place) = self.places.get(&watch) else { continue };
            let Some(last) = last else {
                // The watched directory itself was moved or removed, so a scan is needed at once.
                overflowed |=
                    place.is_empty() && what.intersects(ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF);
                continue;
            };
            if names::is_partial(&last) {
                continue;
            }
            let name = names::join(place, &last);
            if what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
                closed.remove(&name);
                self.forget(&name, &mut gone);
            } else if what.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO) {
                self.open.remove(&name);
                closed.insert(name.clone());
                look.push(name);
            } else if what.contains(ReadFlags::MODIFY) {
                closed.remove(&name);
                self.open.insert(name, Instant::now());
            } else {
                look.push(name);
            }
        }
        // The kernel also reports events in a directory that was moved away, whose names now lead to other
        // files.
        if !self.is_in_place() {
            return Ok(true);
        }
        let mut seen = HashSet::new();
        for name in look.into_iter().rev() {
            if seen.insert(name.clone()) {
                self.looks_at(&name, closed.contains(&name))?;
            }
        }
        // A file that exists again under its name is not listed as removed.
        gone.retain(|name| fs::lstat(self.path(name)).is_err());
        self.are_gone(gone)?;
        Ok(overflowed)
    }

    /// Returns all events that the kernel has now.
    fn told(&self) -> Vec<(i32, ReadFlags, Option<Vec<u8>>)> {
        let Some(kernel) = &self.kernel else { return Vec::new() };
        let mut buffer = [const { MaybeUninit::<u8>::uninit() }; 16 << 10];
        let mut reader = Reader::new(kernel, &mut buffer);
        let mut told = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes().to_vec());
                    told.push((event.wd(), event.events(), name));
                }
                Err(Errno::INTR) => {}
                Err(_) => return told,
            }
        }
    }

    fn looks_at(&mut self, name: &[u8], closed: bool) -> Result<(), Fault> {
        let Ok(stat) = fs::lstat(self.path(name)) else { return Ok(()) };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind.is_dir() {
            // The directory may have got contents before the kernel began to report its changes.
            if !self.known.contains_key(name) {
                self.considers(name, &stat, true)?;
                let below = Root { path: self.path(name), name: name.to_vec() };
                self.look_below(&below, false, &mut |_| {})?;
            }
            return Ok(());
        }
        let written = kind.is_file() && !closed;
        if written && !self.known.contains_key(name) {
            // A new file will be written next. A file with several links is only another name of an
            // existing file.
            if stat.st_nlink < 2 {
                self.open.insert(name.to_vec(), Instant::now());
                return Ok(());
            }
        }
        if written && self.is_open(name) {
            Ok(())
        } else {
            self.considers(name, &stat, true)
        }
    }

    /// Forgets a name and everything below it, and adds the known names to `gone`.
    fn forget(&mut self, name: &[u8], gone: &mut Vec<Vec<u8>>) {
        let below = [name, b"/"].concat();
        let is_it = |other: &[u8]| other == name || other.starts_with(&below);
        gone.extend(self.known.keys().chain(self.resting.keys()).filter(|other| is_it(other)).cloned());
        self.known.retain(|other, _| !is_it(other));
        self.resting.retain(|other, _| !is_it(other));
        self.open.retain(|other, _| !is_it(other));
        let over: Vec<i32> =
            self.places.iter().filter(|(_, place)| is_it(place)).map(|(&watch, _)| watch).collect();
        for watch in over {
            self.places.remove(&watch);
            if let Some(kernel) = &self.kernel {
                // The kernel has already ended the watch of a deleted directory, so an error is ignored.
                let _ = inotify::remove_watch(kernel, watch);
            }
        }
    }
}
