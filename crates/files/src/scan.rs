//! The scan of the files to be sent: it walks the trees of the sources and lists directories before their
//! contents. Links are listed as links.

use crate::channel::MessageChannel;
use crate::entry::{DirectoryEntry, EntryKind, Stamp};
use crate::names;
use crate::protocol::{Refusal, Word};
use crate::tally::CopyTally;
use ligament_catalogue::{fault, Fault};
use rustix::fs::{self, FileType, Stat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of listed files that are not settled. A file is settled when the receiver has it or its
/// transfer has ended.
const OPEN: usize = 1 << 16;
/// Maximum number of files that the receiver has open if both ends are honest. It is larger than `OPEN`,
/// because messages about files that are settled here may still be on their way.
pub(crate) const MAX_OPEN_FILES: usize = 4 * OPEN;
/// A batch of entries is sent when it has this number of entries, this number of bytes of names, or this
/// age.
pub(crate) const MAX_BATCH_ENTRIES: usize = 1000;
const BATCH_BYTES: usize = 1 << 20;
const BATCH_TIME: Duration = Duration::from_millis(20);

/// A source of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub path: PathBuf,
    /// The name at the other end. It is empty if the contents of a directory are copied without the
    /// directory's name.
    pub name: Vec<u8>,
}

/// Returns the sources that the user has named. Also returns true if the contents of one directory are
/// copied without its name; `contents` asks for this.
pub(crate) fn roots(sources: &[PathBuf], contents: bool) -> Result<(Vec<Root>, bool), Fault> {
    let mut roots: Vec<Root> = Vec::new();
    let mut without_name = contents;
    for source in sources {
        let named = |error: &dyn std::fmt::Display| fault!(FILE_NOT_COPIED, "{}: {error}", source.display());
        // If the user names a link, the link is followed.
        let path = source.canonicalize().map_err(|error| named(&error))?;
        let text = source.as_os_str().as_bytes();
        let here = contents || text == b"." || text.ends_with(b"/.") || source.file_name().is_none();
        let name = if here { Vec::new() } else { source.file_name().unwrap_or_default().as_bytes().to_vec() };
        if here && (sources.len() > 1 || !path.is_dir()) {
            return Err(if path.is_dir() {
                fault!(
                    WORD_OF_THE_COMMAND_LINE,
                    "{} has no name of its own, so it is copied alone; name its contents one by one",
                    source.display()
                )
            } else {
                named(&"it is no directory")
            });
        }
        if let Some(other) = roots.iter().find(|root| root.name == name) {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "{} and {} would get the same name; copy them one after the other, to different places",
                other.path.display(),
                path.display()
            ));
        }
        without_name |= here;
        roots.push(Root { path, name });
    }
    Ok((roots, without_name))
}

/// An item that the scan has found.
pub(crate) enum ScanItem<'a> {
    Thing(&'a [u8], &'a Path, &'a Stat),
    /// A thing that could not be read.
    Unread(&'a [u8], std::io::Error),
    /// A thing that is not copied: it is not a file, a directory or a link, or it has the name of a partial
    /// file.
    Other(&'a [u8]),
}

/// Calls `visit` for the root and for everything below it.
pub(crate) fn walk(root: &Root, visit: &mut dyn FnMut(ScanItem<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
    let stat = match fs::lstat(&root.path) {
        Ok(stat) => stat,
        Err(errno) => return visit(ScanItem::Unread(&root.name, errno.into())),
    };
    if !root.name.is_empty() {
        tell(&root.name, &root.path, &stat, visit)?;
    }
    if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Ok(());
    }
    let mut open = vec![(root.name.clone(), root.path.clone())];
    while let Some((name, path)) = open.pop() {
        let mut inner = Vec::new();
        let read = std::fs::read_dir(&path).and_then(|entries| {
            for entry in entries {
                inner.push(entry?.file_name().into_vec());
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            // The directory was removed meanwhile, so it has no contents.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && name != root.name => {}
            Err(error) => visit(ScanItem::Unread(&name, error))?,
        }
        inner.sort();
        let mut deeper = Vec::new();
        for last in inner {
            if names::is_partial(&last) {
                visit(ScanItem::Other(&names::join(&name, &last)))?;
                continue;
            }
            let (name, path) = (names::join(&name, &last), path.join(std::ffi::OsStr::from_bytes(&last)));
            match fs::lstat(&path) {
                Ok(stat) => {
                    tell(&name, &path, &stat, visit)?;
                    if FileType::from_raw_mode(stat.st_mode).is_dir() {
                        deeper.push((name, path));
                    }
                }
                Err(Errno::NOENT) => {}
                Err(errno) => visit(ScanItem::Unread(&name, errno.into()))?,
            }
        }
        open.extend(deeper.into_iter().rev());
    }
    Ok(())
}

fn tell(
    name: &[u8],
    path: &Path,
    stat: &Stat,
    visit: &mut dyn FnMut(ScanItem<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind.is_file() || kind.is_dir() || kind.is_symlink() {
        visit(ScanItem::Thing(name, path, stat))
    } else {
        visit(ScanItem::Other(name))
    }
}

/// A file that was listed.
#[derive(Debug, Clone)]
pub(crate) struct ListedFile {
    pub name: Vec<u8>,
    pub path: PathBuf,
    pub size: u64,
}

#[derive(Default)]
struct OpenFiles {
    files: BTreeMap<u64, ListedFile>,
    over: bool,
    /// Names of files that changed while they were sent.
    again: Vec<Vec<u8>>,
}

/// The listed files that are not settled. The listing thread and the sending thread share this shelf.
#[derive(Default)]
pub(crate) struct Shelf {
    open: Mutex<OpenFiles>,
    changed: Condvar,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, OpenFiles> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, id: u64) -> Option<ListedFile> {
        self.lock().files.get(&id).cloned()
    }

    /// Marks a file as settled, and returns it.
    pub fn remove(&self, id: u64) -> Option<ListedFile> {
        let removed = self.lock().files.remove(&id);
        self.changed.notify_all();
        removed
    }

    /// Marks the files with these ids as settled, except the wanted ones. Calls `done` for each settled
    /// file.
    pub fn settle(&self, ids: RangeInclusive<u64>, wanted: &HashSet<u64>, done: &mut dyn FnMut(&ListedFile)) {
        let mut open = self.lock();
        if ids.is_empty() {
            return;
        }
        let settled: Vec<u64> =
            open.files.range(ids).map(|(&id, _)| id).filter(|id| !wanted.contains(id)).collect();
        for id in settled {
            if let Some(file) = open.files.remove(&id) {
                done(&file);
            }
        }
        self.changed.notify_all();
    }

    /// Ends the shelf: no more files are listed.
    pub fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Marks a file to be listed again when it has stopped changing.
    pub fn list_again(&self, name: Vec<u8>) {
        self.lock().again.push(name);
    }

    pub fn take_again(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.lock().again)
    }

    /// Waits at most `within`, or until the shelf has ended.
    pub fn wait(&self, within: Duration) {
        let open = self.lock();
        if !open.over {
            drop(self.changed.wait_timeout(open, within));
        }
    }
}

/// Lists files to the receiver, in batches.
pub(crate) struct Lister<'a> {
    channel: &'a dyn MessageChannel,
    shelf: &'a Shelf,
    tally: &'a CopyTally,
    last: u64,
    batch: Vec<DirectoryEntry>,
    bytes: usize,
    since: Instant,
}

impl<'a> Lister<'a> {
    pub fn new(channel: &'a dyn MessageChannel, shelf: &'a Shelf, tally: &'a CopyTally) -> Lister<'a> {
        Lister { channel, shelf, tally, last: 0, batch: Vec::new(), bytes: 0, since: Instant::now() }
    }

    pub fn add(&mut self, name: &[u8], path: &Path, stat: &Stat) -> Result<(), Fault> {
        let stamp = Stamp::of(stat);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut target = Vec::new();
        let kind = if kind.is_dir() {
            EntryKind::Directory
        } else if kind.is_file() {
            EntryKind::File
        } else {
            match fs::readlink(path, Vec::new()) {
                Ok(text) => target = text.into_bytes(),
                // The link was removed, or is something else now.
                Err(_) => return Ok(()),
            }
            EntryKind::Link
        };
        if self.batch.is_empty() {
            self.since = Instant::now();
        }
        self.last += 1;
        if kind == EntryKind::File {
            self.tally.found(stamp.size);
            let listed = ListedFile { name: name.to_vec(), path: path.to_owned(), size: stamp.size };
            self.shelf.lock().files.insert(self.last, listed);
        }
        self.bytes += name.len() + target.len();
        self.batch.push(DirectoryEntry { id: self.last, kind, name: name.to_vec(), stamp, target });
        if self.batch.len() >= MAX_BATCH_ENTRIES
            || self.bytes >= BATCH_BYTES
            || self.since.elapsed() >= BATCH_TIME
        {
            self.flush()?;
            self.wait_for_room()?;
        }
        Ok(())
    }

    /// Lists the name of a file that will be listed later, so that the receiver does not treat the file as
    /// removed.
    pub fn mention(&mut self, name: &[u8]) -> Result<(), Fault> {
        self.last += 1;
        let stamp = Stamp { size: 0, seconds: 0, nanos: 0, mode: 0 };
        self.batch.push(DirectoryEntry {
            id: self.last,
            kind: EntryKind::Later,
            name: name.to_vec(),
            stamp,
            target: Vec::new(),
        });
        if self.batch.len() >= MAX_BATCH_ENTRIES {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Sends the batch of entries.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.bytes = 0;
        if self.batch.is_empty() {
            Ok(())
        } else {
            self.channel.send(Word::Entries(std::mem::take(&mut self.batch)).to_bytes())
        }
    }

    /// Waits while too many listed files are not settled, so that listing is not faster than the receiver.
    fn wait_for_room(&self) -> Result<(), Fault> {
        let mut open = self.shelf.lock();
        while open.files.len() >= OPEN && !open.over {
            open = self.shelf.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        if open.over {
            Err(stopped())
        } else {
            Ok(())
        }
    }

    /// Records that something is not listed, and tells the receiver the reason.
    pub fn fails(&mut self, name: &[u8], why: Fault) -> Result<(), Fault> {
        let refusal = Refusal { id: 0, why: why.with_code(), name: name.to_vec() };
        self.tally.fails(name, why);
        self.channel.send(Word::Dropped(refusal).to_bytes())
    }

    /// Tells the receiver the names that no longer exist.
    pub fn gone(&mut self, gone: Vec<Vec<u8>>) -> Result<(), Fault> {
        self.flush()?;
        for some in gone.chunks(MAX_BATCH_ENTRIES) {
            let some = some.iter().cloned().map(Into::into).collect();
            self.channel.send(Word::Gone(some).to_bytes())?;
        }
        Ok(())
    }

    /// Ends a list. `all` is true if the list has everything that exists.
    pub fn end(&mut self, all: bool) -> Result<(), Fault> {
        self.flush()?;
        self.wait_for_room()?;
        self.tally.complete();
        self.channel.send(Word::Listed { all }.to_bytes())
    }

    /// Lists a tree. Returns true if all of it could be read.
    pub fn list(&mut self, root: &Root) -> Result<bool, Fault> {
        let mut all = true;
        walk(root, &mut |found| match found {
            ScanItem::Thing(name, path, stat) => self.add(name, path, stat),
            ScanItem::Unread(name, error) => {
                all = false;
                self.fails(name, unread(&error))
            }
            ScanItem::Other(name) => self.leaves_out(name),
        })?;
        Ok(all)
    }

    /// Records that something is not copied, and tells the receiver.
    pub fn leaves_out(&mut self, name: &[u8]) -> Result<(), Fault> {
        self.tally.leaves_out(name);
        self.channel.send(Word::LeftOut(name.to_vec().into()).to_bytes())
    }
}

/// Returns the fault for something that cannot be read.
pub(crate) fn unread(error: &std::io::Error) -> Fault {
    fault!(FILE_NOT_COPIED, "it cannot be read: {error}")
}

/// Returns the fault for a thread that waits when the copy ends. The real reason is reported elsewhere.
pub(crate) fn stopped() -> Fault {
    fault!(COPY_STOPPED, "the copy has ended")
}
