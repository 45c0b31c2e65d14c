//! The end that gets files. It does not trust the sender: it checks each name, opens directories without
//! following links, and gives a file its final name only if the checksum is right.

use crate::channel::MessageChannel;
use crate::entry::{DirectoryEntry, EntryKind, Stamp};
use crate::names;
use crate::partial::{Partial, PartialFileError};
use crate::protocol::{heard, misunderstood, read, FileMessage, FilePiece, Refusal, Want, Word, VERSION};
use crate::removal::{self, KeptDirectories, Removal};
use crate::scan::{MAX_BATCH_ENTRIES, MAX_OPEN_FILES};
use crate::tally::CopyTally;
use crate::tree::Tree;
use ligament_catalogue::{fault, Code, Fault};
use rustix::fs::{self, AtFlags, FileType, Mode};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Maximum number of partial files from an earlier, interrupted copy that are kept open until their
/// remaining bytes arrive.
const MAX_PARTIAL_FILES: usize = 16;
/// Maximum sum of the lengths of removed names that are sent to the other end for one list, in bytes. The
/// other end may be busy sending and read none of them.
const MAX_REMOVED_NAME_BYTES: usize = 4 << 20;
/// Approximate length of a refusal without its name, in bytes.
const REFUSAL_BYTES: usize = 100;
/// Number of removed things without names after which a `Removed` message is sent.
const MAX_NAMES_IN_A_MESSAGE: u64 = 1000;

/// The options of a receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// The destination: a directory, or the name that a single file gets.
    pub into: PathBuf,
    /// True if the destination is a directory, even if it does not exist yet.
    pub directory: bool,
    /// True for a dry run: the receiver only finds out which files it would copy and remove, and writes
    /// nothing.
    pub dry: bool,
    /// True if files that the sender does not have are removed.
    pub delete: bool,
    /// True if the receiver continues after the first list, until the sender is gone.
    pub live: bool,
    /// The names that the user asked the sender for. The receiver refuses all other names. None means that
    /// it accepts every name.
    pub only: Option<Vec<String>>,
}

/// Receives all files that the sender sends.
///
/// # Errors
/// The copy cannot continue: the connection is lost, the disk is full, or the sender has stopped. Failures
/// of single files are in the tally.
pub fn receive(channel: &dyn MessageChannel, options: &ReceiveOptions, tally: &CopyTally) -> Result<(), Fault> {
    let result = receive_all(channel, options, tally);
    if let Err(why) = &result {
        if ![Code::COPY_CUT, Code::COPY_STOPPED].contains(&why.code()) {
            // If the connection is lost or the other end has stopped, it needs no message.
            let _ = channel.send(Word::Stop { why: why.with_code() }.to_bytes());
        }
    }
    result
}

fn receive_all(channel: &dyn MessageChannel, options: &ReceiveOptions, tally: &CopyTally) -> Result<(), Fault> {
    let first = channel.receive(None)?.unwrap_or_default();
    let (several, contents) = match read(&first)? {
        FileMessage::Word(Word::Begin { version: VERSION, several, contents }) => (several, contents),
        FileMessage::Word(Word::Begin { version, .. }) => {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "the other end copies by version {version}, where this Ligament knows {VERSION}; use the same \
                 version of Ligament at both ends"
            ))
        }
        FileMessage::Word(Word::Stop { why }) => return Err(heard(&why, Code::COPY_STOPPED)),
        _ => return Err(misunderstood(&"it does not begin")),
    };
    if contents && options.only.is_some() {
        return Err(misunderstood(&"it sends what was not asked for"));
    }
    let kept = if options.delete { KeptDirectories::of_user() } else { KeptDirectories::default() };
    let tree = place(options, several, contents, &kept)?;
    let mut receiver = Receiver {
        channel,
        options,
        tally,
        tree,
        kept,
        cleared: HashSet::new(),
        told: 0,
        made: Vec::new(),
        wanted: HashMap::new(),
        held: 0,
        directories: Vec::new(),
        seen: HashSet::new(),
        upto: 0,
        lists: 0,
    };
    loop {
        let Some(message) = channel.receive(None)? else { continue };
        match read(&message)? {
            FileMessage::Word(word) => receiver.word(word)?,
            FileMessage::Pieces(pieces) => {
                let done = pieces.into_iter().try_for_each(|piece| {
                    let (id, piece) = piece?;
                    receiver.piece(id, piece)
                });
                // Files that were completed before the failing piece are reported, too.
                receiver.tell_made()?;
                done?;
            }
        }
        if receiver.wanted.is_empty() && receiver.lists > 0 {
            receiver.finish_list()?;
            if !options.live {
                return Ok(());
            }
        }
    }
}

/// Creates the destination directory and opens it as a tree. The tree also has the new name if a single
/// file is copied. Returns none in a dry run if the directory does not exist.
fn place(
    options: &ReceiveOptions,
    several: bool,
    contents: bool,
    kept: &KeptDirectories,
) -> Result<Option<Tree>, Fault> {
    let into = if options.into.as_os_str().is_empty() { Path::new(".") } else { &options.into };
    let below = several
        || contents
        || options.directory
        || options.delete
        || into.is_dir()
        || into.file_name().is_none();
    let (directory, first) = match (below, into.file_name()) {
        (false, Some(name)) => {
            let parent =
                into.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            (parent, Some(std::os::unix::ffi::OsStrExt::as_bytes(name).to_vec()))
        }
        _ => (into, None),
    };
    let named = |error: &dyn std::fmt::Display| {
        fault!(FILE_NOT_COPIED, "{}: nothing can be put there: {error}", directory.display())
    };
    if !options.dry {
        std::fs::create_dir_all(directory).map_err(|error| named(&error))?;
    }
    match Tree::new(directory, first) {
        Ok(tree) => match kept.within(tree.root()).filter(|_| options.delete) {
            None => Ok(Some(tree)),
            Some(place) => Err(fault!(
                NOT_TO_BE_EMPTIED,
                "nothing is removed in {}: it is, or holds, {}, which no copy has made; name a directory of \
                 its own",
                directory.display(),
                place.display()
            )),
        },
        Err(Errno::NOENT) if options.dry => Ok(None),
        Err(error) => Err(named(&error)),
    }
}

/// A wanted file whose pieces are arriving.
struct ExpectedFile {
    name: Vec<u8>,
    /// Number of bytes that have arrived.
    at: u64,
    partial: Option<Partial>,
}

struct Receiver<'a> {
    channel: &'a dyn MessageChannel,
    options: &'a ReceiveOptions,
    tally: &'a CopyTally,
    tree: Option<Tree>,
    /// Directories that are never removed.
    kept: KeptDirectories,
    /// Names that would have been removed to make room for something else, in a dry run.
    cleared: HashSet<Vec<u8>>,
    /// Number of bytes of removed names that were reported to the other end, in this list.
    told: usize,
    /// The ids of completed files that have not been reported to the other end yet.
    made: Vec<u64>,
    wanted: HashMap<u64, ExpectedFile>,
    /// Number of wanted files that are open.
    held: usize,
    /// The directories whose modes and times are set at the end of the list, after their contents are
    /// written.
    directories: Vec<(Vec<u8>, Stamp)>,
    /// All names of the current list, if the receiver removes other names after the list.
    seen: HashSet<Vec<u8>>,
    upto: u64,
    /// Number of lists that have ended and whose files are not finished yet.
    lists: u64,
}

/// Returns true if the name is in the set, or lies below a directory in the set.
fn is_below(names: &HashSet<Vec<u8>>, name: &[u8]) -> bool {
    let ends = name.iter().enumerate().filter(|(_, &byte)| byte == b'/').map(|(at, _)| at);
    !names.is_empty() && ends.chain([name.len()]).any(|end| names.contains(&name[..end]))
}

/// Returns the error for a file or a directory that occupies the name of something of another kind.
fn in_the_way(what: FileType) -> Errno {
    if what.is_dir() {
        Errno::ISDIR
    } else {
        Errno::EXIST
    }
}

impl Receiver<'_> {
    fn word(&mut self, word: Word) -> Result<(), Fault> {
        match word {
            Word::Entries(entries) => self.entries(entries),
            Word::Listed { all } => {
                if all && self.options.delete {
                    self.remove_others()?;
                }
                self.seen.clear();
                self.tally.complete();
                self.lists += 1;
                Ok(())
            }
            Word::Gone(gone) => {
                if self.options.delete {
                    for name in gone {
                        // If such a file is still being received, its transfer is dropped, so that it does
                        // not get its name later.
                        let below = [&name[..], b"/"].concat();
                        let is_it =
                            |wanted: &ExpectedFile| wanted.name == *name || wanted.name.starts_with(&below);
                        let late: Vec<u64> =
                            self.wanted.iter().filter(|(_, one)| is_it(one)).map(|(&id, _)| id).collect();
                        for id in late {
                            self.let_go(id);
                        }
                        self.remove(&name)?;
                    }
                }
                Ok(())
            }
            Word::Dropped(Refusal { id, why, name }) => {
                let why = heard(&why, Code::FILE_NOT_COPIED);
                // If the other end watches its files, a file that has only changed is sent again later, so
                // this is no failure.
                if !(self.options.live && why.code() == Code::FILE_CHANGED) {
                    let wanted = self.let_go(id).map(|wanted| wanted.name);
                    self.tally.fails(&wanted.unwrap_or(name), why);
                } else {
                    self.let_go(id);
                }
                Ok(())
            }
            Word::LeftOut(name) => {
                self.tally.leaves_out(&name);
                Ok(())
            }
            Word::Stop { why } => Err(heard(&why, Code::COPY_STOPPED)),
            Word::Begin { .. }
            | Word::Answer { .. }
            | Word::Refused(_)
            | Word::Done
            | Word::Removed { .. }
            | Word::Made(_) => Err(misunderstood(&"a word at the wrong time")),
        }
    }

    fn let_go(&mut self, id: u64) -> Option<ExpectedFile> {
        let wanted = self.wanted.remove(&id);
        if wanted.as_ref().is_some_and(|wanted| wanted.partial.is_some()) {
            self.held -= 1;
        }
        wanted
    }

    // ---- entries of the sender's list -----------------------------------------------------------------------
    fn entries(&mut self, entries: Vec<DirectoryEntry>) -> Result<(), Fault> {
        let (mut wants, mut refused) = (Vec::new(), Vec::new());
        for entry in entries {
            if entry.id <= self.upto {
                return Err(misunderstood(&"a number that was there before"));
            }
            self.upto = entry.id;
            let first = entry.name.split(|&byte| byte == b'/').next().unwrap_or_default();
            let asked = |only: &Vec<String>| only.iter().any(|name| name.as_bytes() == first);
            let strange = self.options.only.as_ref().is_some_and(|only| !asked(only));
            if let Some(wrong) = names::wrong(&entry.name).or(strange.then_some("was not asked for")) {
                let why = fault!(FILE_NOT_COPIED, "its name {wrong}, so it is not written here");
                refused.push(Refusal { id: entry.id, why: why.with_code(), name: entry.name.clone() });
                self.tally.fails(&entry.name, why);
                continue;
            }
            let name = match &self.tree {
                Some(tree) => tree.called(&entry.name),
                None => entry.name.clone(),
            };
            if self.options.delete {
                self.seen.insert(name.clone());
            }
            match self.enter(&entry, &name) {
                Ok(None) => {}
                Ok(Some(want)) => wants.push(want),
                Err(trouble) => refused.push(self.refusal(entry.id, &name, trouble)?),
            }
        }
        self.channel.send(Word::Answer { upto: self.upto, wants, refused }.to_bytes())?;
        // An honest sender waits before it lists more files than this.
        if self.wanted.len() > MAX_OPEN_FILES {
            Err(misunderstood(&"it lists more files than it may"))
        } else {
            Ok(())
        }
    }

    /// Creates a directory or a link, or compares a file with the entry. Returns the request for a file if
    /// its bytes must be sent.
    fn enter(&mut self, entry: &DirectoryEntry, name: &[u8]) -> Result<Option<Want>, PartialFileError> {
        if entry.kind == EntryKind::Later {
            return Ok(None);
        }
        let dry = self.options.dry;
        let mut found = match &mut self.tree {
            Some(tree) if !is_below(&self.cleared, name) => tree.look(name)?,
            _ => None,
        };
        let kind = found.map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (entry.kind, kind) {
            (EntryKind::Directory, Some(kind)) if kind.is_dir() => {}
            (_, Some(other)) if (entry.kind == EntryKind::Directory) != other.is_dir() => {
                if !self.options.delete {
                    return Err(in_the_way(other).into());
                }
                self.clear(name)?;
                found = None;
            }
            _ => {}
        }
        match entry.kind {
            EntryKind::Directory => {
                if !dry {
                    self.make_directory(name, &entry.stamp)?;
                    self.directories.push((name.to_vec(), entry.stamp));
                }
                Ok(None)
            }
            EntryKind::Later => Ok(None),
            EntryKind::Link => self.link(entry, name).map(|()| None),
            EntryKind::File => {
                self.tally.found(entry.stamp.size);
                if let Some(stat) = found.filter(|stat| FileType::from_raw_mode(stat.st_mode).is_file()) {
                    let there = Stamp::of(&stat);
                    if entry.stamp.is_same_as(&there) {
                        if there.mode != entry.stamp.mode && !dry {
                            self.set_mode(name, &entry.stamp)?;
                        }
                        self.tally.was_there(entry.stamp.size);
                        return Ok(None);
                    }
                }
                self.want(entry, name).map(Some)
            }
        }
    }

    /// Returns the request for a file. A partial file from an interrupted copy provides the beginning.
    fn want(&mut self, entry: &DirectoryEntry, name: &[u8]) -> Result<Want, PartialFileError> {
        let mut want = Want { id: entry.id, from: 0, sum: Vec::new() };
        let partial = match &mut self.tree {
            None => None,
            Some(_) if is_below(&self.cleared, name) => None,
            Some(tree) => match tree.parent(name) {
                Ok((directory, last)) => Partial::open(directory, last, false)?,
                Err(Errno::NOENT) if self.options.dry => None,
                Err(errno) => return Err(errno.into()),
            },
        };
        let mut held = None;
        if let Some(mut partial) = partial {
            let channel = self.channel;
            partial.take_up(&|| channel.is_there().is_ok())?;
            if (1..=entry.stamp.size).contains(&partial.length) {
                (want.from, want.sum) = (partial.length, partial.sum().to_vec());
                held = Some(partial).filter(|_| self.held < MAX_PARTIAL_FILES);
            }
        }
        if self.options.dry {
            self.tally.copied(name);
            self.tally.moved(entry.stamp.size - want.from);
            return Ok(want);
        }
        self.held += usize::from(held.is_some());
        self.tally.went_through(want.from);
        self.tally.resumed(want.from);
        self.wanted.insert(entry.id, ExpectedFile { name: name.to_vec(), at: want.from, partial: held });
        Ok(want)
    }

    fn make_directory(&mut self, name: &[u8], stamp: &Stamp) -> Result<(), PartialFileError> {
        let tree = self.tree.as_mut().ok_or(Errno::NOENT)?;
        let (directory, last) = tree.parent(name)?;
        // The receiver needs all rights in the directory to write files there. The directory gets its own
        // mode at the end of the list.
        match fs::mkdirat(directory, last, stamp.mode() | Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn link(&mut self, entry: &DirectoryEntry, name: &[u8]) -> Result<(), PartialFileError> {
        if entry.target.is_empty() || entry.target.contains(&0) {
            return Err(Errno::INVAL.into());
        }
        if is_below(&self.cleared, name) {
            return Ok(());
        }
        let Some(tree) = &mut self.tree else { return Ok(()) };
        let (directory, last) = match tree.parent(name) {
            Err(Errno::NOENT) if self.options.dry => return Ok(()),
            found => found?,
        };
        if fs::readlinkat(directory, last, Vec::new()).is_ok_and(|there| there.as_bytes() == &entry.target[..])
        {
            return Ok(());
        }
        if !self.options.dry {
            let fresh = names::partial(last);
            match fs::unlinkat(directory, &fresh[..], AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
            fs::symlinkat(&entry.target[..], directory, &fresh[..])?;
            let times = entry.stamp.times();
            // Links have no times on some file systems, so an error is ignored.
            let _ = fs::utimensat(directory, &fresh[..], &times, AtFlags::SYMLINK_NOFOLLOW);
            fs::renameat(directory, &fresh[..], directory, last)?;
        }
        Ok(())
    }

    fn set_mode(&mut self, name: &[u8], stamp: &Stamp) -> Result<(), Errno> {
        let tree = self.tree.as_mut().ok_or(Errno::NOENT)?;
        let (directory, last) = tree.parent(name)?;
        let flags = fs::OFlags::RDONLY | fs::OFlags::NOFOLLOW | fs::OFlags::CLOEXEC | fs::OFlags::NONBLOCK;
        match fs::openat(directory, last, flags, Mode::empty()) {
            Ok(file) => fs::fchmod(file, stamp.mode()),
            // The owner has no right to read this file, so its mode stays as it is.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    // ---- pieces of files ------------------------------------------------------------------------------------
    fn piece(&mut self, id: u64, piece: FilePiece<'_>) -> Result<(), Fault> {
        if id > self.upto {
            return Err(misunderstood(&"a piece of a file that nobody knows"));
        }
        // The file is unknown if it was refused meanwhile; its pieces may still arrive.
        let Some(mut wanted) = self.let_go(id) else { return Ok(()) };
        match self.put(&mut wanted, piece) {
            Ok(true) => {
                self.tally.copied(&wanted.name);
                self.made.push(id);
            }
            Ok(false) => {
                self.held += usize::from(wanted.partial.is_some());
                self.wanted.insert(id, wanted);
            }
            Err(trouble) => {
                let refusal = self.refusal(id, &wanted.name, trouble)?;
                self.channel.send(Word::Refused(refusal).to_bytes())?;
            }
        }
        Ok(())
    }

    /// Reports completed files to the other end, unless the user reads the tally at this end.
    fn tell_made(&mut self) -> Result<(), Fault> {
        let made = std::mem::take(&mut self.made);
        if made.is_empty() || self.tally.is_read() {
            Ok(())
        } else {
            self.channel.send(Word::Made(made).to_bytes())
        }
    }

    /// Writes a piece to its file. Returns true if the file is complete.
    fn put(&mut self, wanted: &mut ExpectedFile, piece: FilePiece<'_>) -> Result<bool, PartialFileError> {
        let tree = self.tree.as_mut().ok_or(Errno::NOENT)?;
        let (directory, last) = tree.parent(&wanted.name)?;
        let partial = match &mut wanted.partial {
            Some(partial) => partial,
            none => {
                let mut partial = Partial::open(directory, last, true)?.ok_or(Errno::NOENT)?;
                if wanted.at == 0 {
                    partial.begin_anew()?;
                } else {
                    let channel = self.channel;
                    partial.take_up(&|| channel.is_there().is_ok())?;
                    if partial.length != wanted.at {
                        return Err(PartialFileError::Busy);
                    }
                }
                none.insert(partial)
            }
        };
        match piece {
            FilePiece::Bytes(bytes) => {
                partial.write(bytes)?;
                self.tally.moved(bytes.len() as u64);
            }
            FilePiece::Hole(length) => {
                let channel = self.channel;
                partial.skip(length, &|| channel.is_there().is_ok())?;
                self.tally.went_through(length);
            }
            FilePiece::Anew => {
                self.tally.came_back(partial.length);
                partial.begin_anew()?;
            }
            FilePiece::Whole(sum, stamp) => {
                if let Some(partial) = wanted.partial.take() {
                    partial.finish(directory, last, &sum, &stamp)?;
                }
                return Ok(true);
            }
        }
        wanted.at = partial.length;
        Ok(false)
    }

    /// Returns the refusal of a file that cannot be written. Fails if no file can be written any more: the
    /// disk is full, or the other end is gone.
    fn refusal(&mut self, id: u64, name: &[u8], trouble: PartialFileError) -> Result<Refusal, Fault> {
        let shown = names::shown(name);
        let is_busy = matches!(trouble, PartialFileError::Busy);
        let why = match trouble {
            PartialFileError::System(errno @ (Errno::NOSPC | Errno::DQUOT)) => {
                return Err(fault!(
                    DISK_FULL,
                    "{shown} cannot be written below {}: {errno}; make room there and copy again: it goes on \
                     where it was",
                    self.options.into.display()
                ));
            }
            PartialFileError::System(Errno::LOOP | Errno::NOTDIR) => fault!(
                FILE_NOT_COPIED,
                "a link or a file stands where it or its directory is to be; nothing is written through a link"
            ),
            PartialFileError::System(Errno::ISDIR) => {
                fault!(FILE_NOT_COPIED, "a directory stands where it is to be")
            }
            PartialFileError::System(Errno::EXIST) => {
                fault!(FILE_NOT_COPIED, "something else stands where it is to be")
            }
            PartialFileError::System(errno) => fault!(FILE_NOT_COPIED, "it cannot be written there: {errno}"),
            PartialFileError::Cut => {
                return Err(self.channel.is_there().err().unwrap_or_else(crate::scan::stopped))
            }
            PartialFileError::Busy => fault!(FILE_BUSY, "another copy is writing it now"),
            PartialFileError::Differs => {
                fault!(
                    FILE_NOT_COPIED,
                    "the file that arrived has another checksum than the one that was \
                                         sent; copy it again"
                )
            }
        };
        // If the other end watches its files, it sends a busy file again later, so this is not counted as a
        // failure.
        if !(is_busy && self.options.live) {
            self.tally.fails(name, why.clone());
        }
        Ok(Refusal { id, why: why.with_code(), name: name.to_vec() })
    }

    // ---- the end of a list ----------------------------------------------------------------------------------
    fn finish_list(&mut self) -> Result<(), Fault> {
        // A directory comes before its contents in the list. The reverse order sets the time of the deepest
        // directories first.
        for (name, stamp) in std::mem::take(&mut self.directories).into_iter().rev() {
            let Some(tree) = &mut self.tree else { break };
            let Ok((directory, last)) = tree.parent(&name) else { continue };
            let flags = fs::OFlags::RDONLY | fs::OFlags::DIRECTORY | fs::OFlags::NOFOLLOW | fs::OFlags::CLOEXEC;
            let opened = fs::openat(directory, last, flags, Mode::empty());
            let done =
                opened.and_then(|fd| fs::futimens(&fd, &stamp.times()).and(fs::fchmod(&fd, stamp.mode())));
            match done {
                // The directory was removed again before the end of the list.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => {
                    let why = fault!(FILE_NOT_COPIED, "it did not get its mode and time: {errno}");
                    self.fails(&name, why)?;
                }
            }
        }
        self.told = 0;
        while self.lists > 0 {
            self.lists -= 1;
            self.channel.send(Word::Done.to_bytes())?;
        }
        Ok(())
    }

    fn remove(&mut self, name: &[u8]) -> Result<(), Fault> {
        if let Some(wrong) = names::wrong(name) {
            return Err(misunderstood(&format!("a name to remove that {wrong}")));
        }
        let Some(tree) = &mut self.tree else { return Ok(()) };
        let name = tree.called(name);
        match self.removing(|tree, how| removal::remove(tree, &name, how).map(|_| ())) {
            Err(PartialFileError::System(errno)) => {
                self.fails(&name, fault!(FILE_NOT_COPIED, "it cannot be removed: {errno}"))
            }
            done => self.unless_cut(done),
        }
    }

    /// Records the failure of something that the sender does not know about. Reports it to the sender
    /// unless the user reads the tally at this end.
    fn fails(&mut self, name: &[u8], why: Fault) -> Result<(), Fault> {
        let refusal = Refusal { id: 0, why: why.with_code(), name: name.to_vec() };
        self.tally.fails(name, why);
        if self.tally.is_read() {
            Ok(())
        } else {
            self.channel.send(Word::Refused(refusal).to_bytes())
        }
    }

    /// Removes the file or directory of this name, so that something of another kind can get the name.
    fn clear(&mut self, name: &[u8]) -> Result<(), PartialFileError> {
        self.removing(|tree, how| removal::remove(tree, name, how).map(|_| ()))?;
        if self.options.dry {
            self.cleared.insert(name.to_vec());
        }
        Ok(())
    }

    /// Calls `removes`, and reports the removed names to the other end.
    fn removing(
        &mut self,
        removes: impl FnOnce(&mut Tree, &mut Removal<'_>) -> Result<(), PartialFileError>,
    ) -> Result<(), PartialFileError> {
        let tree = self.tree.as_mut().ok_or(Errno::NOENT)?;
        let (tally, channel) = (self.tally, self.channel);
        let mut news =
            ReceiverReport { channel, names: Vec::new(), more: 0, told: self.told, is_read: tally.is_read() };
        let mut failed = Vec::new();
        let done = removes(
            tree,
            &mut Removal {
                dry: self.options.dry,
                cleared: &self.cleared,
                kept: &self.kept,
                told: &mut |name| {
                    tally.removed(name);
                    news.add(name);
                },
                failed: &mut |name, errno| failed.push((name.to_vec(), errno)),
                is_wanted: &|| channel.is_there().is_ok(),
            },
        );
        news.tell();
        self.told = news.told;
        let mut left = failed.len();
        for (name, errno) in failed {
            left -= 1;
            // The number of reports is limited, because the other end may be busy sending and read none of
            // them.
            let is_last = !tally.is_read() && self.told >= MAX_REMOVED_NAME_BYTES;
            let why = if is_last && left > 0 {
                fault!(FILE_NOT_COPIED, "it cannot be removed: {errno}; nor can {left} others")
            } else {
                fault!(FILE_NOT_COPIED, "it cannot be removed: {errno}")
            };
            self.told = self.told.saturating_add(name.len() + REFUSAL_BYTES);
            // An error of sending is ignored here: `is_there` reports a lost connection.
            let _ = self.fails(&name, why);
            if is_last {
                break;
            }
        }
        done
    }

    /// Fails if the removal stopped because the other end is gone. Other errors are ignored here.
    fn unless_cut(&self, done: Result<(), PartialFileError>) -> Result<(), Fault> {
        match done {
            Err(PartialFileError::Cut) => {
                Err(self.channel.is_there().err().unwrap_or_else(crate::scan::stopped))
            }
            _ => Ok(()),
        }
    }

    fn remove_others(&mut self) -> Result<(), Fault> {
        if self.tree.is_none() {
            return Ok(());
        }
        let seen = std::mem::take(&mut self.seen);
        let done = self.removing(|tree, how| removal::remove_others(tree, &seen, how));
        self.unless_cut(done)
    }
}

/// The report of removed files to the other end. It is sent in several messages.
struct ReceiverReport<'a> {
    channel: &'a dyn MessageChannel,
    names: Vec<minicbor::bytes::ByteVec>,
    more: u64,
    /// Number of bytes of names that were reported in this list.
    told: usize,
    /// True if the user reads the tally at this end. Then no report is sent.
    is_read: bool,
}

impl ReceiverReport<'_> {
    fn add(&mut self, name: &[u8]) {
        if self.is_read {
            return;
        }
        if self.told < MAX_REMOVED_NAME_BYTES {
            self.names.push(name.to_vec().into())
        } else {
            self.more += 1
        }
        self.told = self.told.saturating_add(name.len());
        if self.names.len() >= MAX_BATCH_ENTRIES || self.more >= MAX_NAMES_IN_A_MESSAGE {
            self.tell();
        }
    }

    /// Sends the collected names. An error of sending is ignored here: `is_there` reports a lost
    /// connection.
    fn tell(&mut self) {
        let (names, more) = (std::mem::take(&mut self.names), std::mem::take(&mut self.more));
        if !names.is_empty() || more > 0 {
            let _ = self.channel.send(Word::Removed { names, more }.to_bytes());
        }
    }
}
