//! The end that gets files. It believes nothing that it is told: names are checked and found without following
//! links, and a file gets its name when its checksum is right.

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

/// The number of files of an interrupted copy that are held open until their rest comes.
const MAX_PARTIAL_FILES: usize = 16;
/// Names of things that were removed are told up to so many bytes: the other end may be busy sending, and reads
/// none of them.
const MAX_REMOVED_NAME_BYTES: usize = 4 << 20;
/// The size of a refusal (bytes, about).
const REFUSAL_BYTES: usize = 100;
/// Of more, how many are told at a time.
const MAX_NAMES_IN_A_MESSAGE: u64 = 1000;

/// The options of a receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// The directory that it goes into, or the name that one thing gets.
    pub into: PathBuf,
    /// It is to be a directory, even if it is not there yet.
    pub directory: bool,
    /// Nothing is written: it is only found out what would be.
    pub dry: bool,
    /// Files that the sender does not have are removed.
    pub delete: bool,
    /// It goes on after the first list, until the sender is gone.
    pub live: bool,
    /// The names that were asked for, if the sender was told them: nothing else is taken from it.
    pub only: Option<Vec<String>>,
}

/// Receives all that the sender sends.
///
/// # Errors
/// It could not go on: the connection is lost, there is no room, or the sender has said so. What fails with
/// single files is in the tally.
pub fn receive(channel: &dyn MessageChannel, options: &ReceiveOptions, tally: &CopyTally) -> Result<(), Fault> {
    let result = receive_all(channel, options, tally);
    if let Err(why) = &result {
        if ![Code::COPY_CUT, Code::COPY_STOPPED].contains(&why.code()) {
            // One that is gone need not be told.
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
                // Files before one that ends the copy are reported, too.
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

/// The destination: the directory, which is made, and the name that the only thing gets. None: a trial, and
/// there is nothing.
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

/// A file that comes.
struct ExpectedFile {
    name: Vec<u8>,
    /// How far it is.
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
    /// Files that would have been removed before something else came in their place, in a dry run.
    cleared: HashSet<Vec<u8>>,
    /// Bytes of names that the other end was told to be removed, in this list.
    told: usize,
    /// Files that are there and that the other end was not told of.
    made: Vec<u64>,
    wanted: HashMap<u64, ExpectedFile>,
    /// The number of wanted files that are open.
    held: usize,
    /// Directories that get their modes and times when all is in them.
    directories: Vec<(Vec<u8>, Stamp)>,
    /// All names of a list, if others are removed after it.
    seen: HashSet<Vec<u8>>,
    upto: u64,
    /// Lists that have ended and are not done.
    lists: u64,
}

/// Returns true if a name is one of these, or lies below one.
fn is_below(names: &HashSet<Vec<u8>>, name: &[u8]) -> bool {
    let ends = name.iter().enumerate().filter(|(_, &byte)| byte == b'/').map(|(at, _)| at);
    !names.is_empty() && ends.chain([name.len()]).any(|end| names.contains(&name[..end]))
}

/// The error of a file that stands where something else is to be.
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
                        // The part of it that is still on its way does not come to its name later.
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
                // A file that has only changed is sent again later, while the other end watches.
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

    // ---- what there is --------------------------------------------------------------------------------------
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
        // Whoever has more lists them when there is room.
        if self.wanted.len() > MAX_OPEN_FILES {
            Err(misunderstood(&"it lists more files than it may"))
        } else {
            Ok(())
        }
    }

    /// Makes what has no bytes; what is wanted of a file.
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

    /// The part that is lacking of a file, of which some may be there from a copy that was cut.
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
        // Files go into it before it has its own mode.
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
            // Links of some file systems have no times.
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
            // One that its owner may not read.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    // ---- what comes -----------------------------------------------------------------------------------------
    fn piece(&mut self, id: u64, piece: FilePiece<'_>) -> Result<(), Fault> {
        if id > self.upto {
            return Err(misunderstood(&"a piece of a file that nobody knows"));
        }
        // Pieces of a file that was refused may be on their way.
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

    /// Tells the other end which files are there, if somebody reads its tally.
    fn tell_made(&mut self) -> Result<(), Fault> {
        let made = std::mem::take(&mut self.made);
        if made.is_empty() || self.tally.is_read() {
            Ok(())
        } else {
            self.channel.send(Word::Made(made).to_bytes())
        }
    }

    /// Puts a piece where it belongs; whether the file is whole.
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

    /// The report about a file that cannot be written. If nothing can be written, it ends here.
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
        // It is sent again while the other end watches, until nobody else writes it.
        if !(is_busy && self.options.live) {
            self.tally.fails(name, why.clone());
        }
        Ok(Refusal { id, why: why.with_code(), name: name.to_vec() })
    }

    // ---- at the end of a list -------------------------------------------------------------------------------
    fn finish_list(&mut self) -> Result<(), Fault> {
        // The content of a directory comes after it, so the deepest is done first.
        for (name, stamp) in std::mem::take(&mut self.directories).into_iter().rev() {
            let Some(tree) = &mut self.tree else { break };
            let Ok((directory, last)) = tree.parent(&name) else { continue };
            let flags = fs::OFlags::RDONLY | fs::OFlags::DIRECTORY | fs::OFlags::NOFOLLOW | fs::OFlags::CLOEXEC;
            let opened = fs::openat(directory, last, flags, Mode::empty());
            let done =
                opened.and_then(|fd| fs::futimens(&fd, &stamp.times()).and(fs::fchmod(&fd, stamp.mode())));
            match done {
                // It was removed again before the list has ended.
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

    /// Something fails of which the sender knows nothing: it is told, unless somebody reads the tally here.
    fn fails(&mut self, name: &[u8], why: Fault) -> Result<(), Fault> {
        let refusal = Refusal { id: 0, why: why.with_code(), name: name.to_vec() };
        self.tally.fails(name, why);
        if self.tally.is_read() {
            Ok(())
        } else {
            self.channel.send(Word::Refused(refusal).to_bytes())
        }
    }

    /// Removes what stands under a name, so that something else can.
    fn clear(&mut self, name: &[u8]) -> Result<(), PartialFileError> {
        self.removing(|tree, how| removal::remove(tree, name, how).map(|_| ()))?;
        if self.options.dry {
            self.cleared.insert(name.to_vec());
        }
        Ok(())
    }

    /// Removes something, and tells the other end what.
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
            // The other end may have much to say itself, and hear nothing meanwhile.
            let is_last = !tally.is_read() && self.told >= MAX_REMOVED_NAME_BYTES;
            let why = if is_last && left > 0 {
                fault!(FILE_NOT_COPIED, "it cannot be removed: {errno}; nor can {left} others")
            } else {
                fault!(FILE_NOT_COPIED, "it cannot be removed: {errno}")
            };
            self.told = self.told.saturating_add(name.len() + REFUSAL_BYTES);
            // True if it could be told shows when it is asked whether the other end is there.
            let _ = self.fails(&name, why);
            if is_last {
                break;
            }
        }
        done
    }

    /// It goes on, unless the other end is gone.
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

/// The report to the other end about removed files, some at a time.
struct ReceiverReport<'a> {
    channel: &'a dyn MessageChannel,
    names: Vec<minicbor::bytes::ByteVec>,
    more: u64,
    /// Bytes of names that were told, in this list.
    told: usize,
    /// Somebody reads the tally here, and nobody the other one.
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

    /// Returns true if it could be told shows when it is asked whether the other end is there.
    fn tell(&mut self) {
        let (names, more) = (std::mem::take(&mut self.names), std::mem::take(&mut self.more));
        if !names.is_empty() || more > 0 {
            let _ = self.channel.send(Word::Removed { names, more }.to_bytes());
        }
    }
}
