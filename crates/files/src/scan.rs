//! The scan of the files to be sent: the sources' trees, directories before what is in them. Links are told as
//! links.

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

/// The number of files that may be listed and neither be there nor sent.
const OPEN: usize = 1 << 16;
/// The maximum number of files that the other end has open, unless one of the two lies: some that are settled
/// here are on their way.
pub(crate) const MAX_OPEN_FILES: usize = 4 * OPEN;
/// When what was found is told: so many, so many bytes of names, or after so long.
pub(crate) const MAX_BATCH_ENTRIES: usize = 1000;
const BATCH_BYTES: usize = 1 << 20;
const BATCH_TIME: Duration = Duration::from_millis(20);

/// Something that is to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub path: PathBuf,
    /// The name at the other end; the contents of a directory are copied without its name.
    pub name: Vec<u8>,
}

/// The sources of a copy, as the user has named them: `contents` if it is all that is in one directory.
pub(crate) fn roots(sources: &[PathBuf], contents: bool) -> Result<(Vec<Root>, bool), Fault> {
    let mut roots: Vec<Root> = Vec::new();
    let mut without_name = contents;
    for source in sources {
        let named = |error: &dyn std::fmt::Display| fault!(FILE_NOT_COPIED, "{}: {error}", source.display());
        // A link that the user names is followed.
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

/// Something that was found.
pub(crate) enum ScanItem<'a> {
    Thing(&'a [u8], &'a Path, &'a Stat),
    /// It could not be looked at.
    Unread(&'a [u8], std::io::Error),
    /// It is not copied: neither a file, nor a directory, nor a link, or its name is that of a file that is not
    /// whole.
    Other(&'a [u8]),
}

/// Calls `visit` with a thing and all below it.
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
            // It is gone: then there is nothing in it.
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

/// The files that were listed, and neither are there nor sent: what lists and what sends share it.
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

    /// A file is settled.
    pub fn remove(&self, id: u64) -> Option<ListedFile> {
        let removed = self.lock().files.remove(&id);
        self.changed.notify_all();
        removed
    }

    /// Files of these numbers are settled, except those that are wanted. Calls `done` with each.
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

    /// Nothing more is to be listed.
    pub fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// A file is to be listed again when it has come to rest.
    pub fn list_again(&self, name: Vec<u8>) {
        self.lock().again.push(name);
    }

    pub fn take_again(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.lock().again)
    }

    /// Waits at most so long, or until it is over.
    pub fn wait(&self, within: Duration) {
        let open = self.lock();
        if !open.over {
            drop(self.changed.wait_timeout(open, within));
        }
    }
}

/// Lists what is found, some at a time.
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
                // It is gone, or something else now.
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

    /// Tells that there is a file which is not listed yet, so that it is not taken for one that is gone.
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

    /// Tells what was found and not told yet.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.bytes = 0;
        if self.batch.is_empty() {
            Ok(())
        } else {
            self.channel.send(Word::Entries(std::mem::take(&mut self.batch)).to_bytes())
        }
    }

    /// Whoever has many files lists them no faster than they are looked at.
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

    /// Something is not listed; whoever receives learns why.
    pub fn fails(&mut self, name: &[u8], why: Fault) -> Result<(), Fault> {
        let refusal = Refusal { id: 0, why: why.with_code(), name: name.to_vec() };
        self.tally.fails(name, why);
        self.channel.send(Word::Dropped(refusal).to_bytes())
    }

    /// Names that are no more.
    pub fn gone(&mut self, gone: Vec<Vec<u8>>) -> Result<(), Fault> {
        self.flush()?;
        for some in gone.chunks(MAX_BATCH_ENTRIES) {
            let some = some.iter().cloned().map(Into::into).collect();
            self.channel.send(Word::Gone(some).to_bytes())?;
        }
        Ok(())
    }

    /// A list ends.
    pub fn end(&mut self, all: bool) -> Result<(), Fault> {
        self.flush()?;
        self.wait_for_room()?;
        self.tally.complete();
        self.channel.send(Word::Listed { all }.to_bytes())
    }

    /// Lists a tree; whether all of it could be read.
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

    /// Something is not copied, and both ends say so.
    pub fn leaves_out(&mut self, name: &[u8]) -> Result<(), Fault> {
        self.tally.leaves_out(name);
        self.channel.send(Word::LeftOut(name.to_vec().into()).to_bytes())
    }
}

/// Why something is not sent.
pub(crate) fn unread(error: &std::io::Error) -> Fault {
    fault!(FILE_NOT_COPIED, "it cannot be read: {error}")
}

/// For whoever waits when it ends; the reason is told elsewhere.
pub(crate) fn stopped() -> Fault {
    fault!(COPY_STOPPED, "the copy has ended")
}
