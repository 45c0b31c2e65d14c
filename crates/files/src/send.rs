//! The end that has the files. One thread lists the files, and another thread sends the files that the
//! receiver wants.

use crate::channel::MessageChannel;
use crate::outgoing_file::{FileInTransfer, Unsent};
use crate::protocol::{
    heard, misunderstood, read, FileMessage, Pack, Refusal, Want, Word, CHECKSUM_BYTES, MAX_PACK_BYTES, VERSION,
};
use crate::rate::Limit;
use crate::scan::{roots, stopped, Lister, Root, Shelf, MAX_OPEN_FILES};
use crate::tally::CopyTally;
use crate::watch::{watch, WatchOptions};
use ligament_catalogue::{fault, Code, Fault};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum number of attempts to send a file that changes while it is sent.
const MAX_SEND_ATTEMPTS: u32 = 3;

/// Minimum size of a pack if the rate is limited, in bytes.
const MIN_PACK_BYTES: u64 = 4096;

/// The options of a sender.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SendOptions {
    /// The files and directories to send. A source that is a link is followed; links below a source are
    /// copied as links.
    pub sources: Vec<PathBuf>,
    /// True if the contents of the only source are sent, without the name of the source.
    pub contents: bool,
    /// True for a dry run: the sender only finds out which files it would send, and sends nothing.
    pub dry: bool,
    /// Maximum number of bytes per second. None means no limit.
    pub rate: Option<u64>,
    /// If given, the sender keeps watching the source and sends changes until the other end is gone.
    pub watching: Option<WatchOptions>,
}

/// Sends all files that the receiver lacks.
///
/// # Errors
/// The copy cannot continue: the connection is lost, or the receiver has stopped. Failures of single files
/// are in the tally.
pub fn send(channel: &dyn MessageChannel, options: &SendOptions, tally: &CopyTally) -> Result<(), Fault> {
    let result = begin(channel, options, tally);
    if let Err(why) = &result {
        if ![Code::COPY_CUT, Code::COPY_STOPPED].contains(&why.code()) {
            // If the connection is lost or the other end has stopped, it needs no message.
            let _ = channel.send(Word::Stop { why: why.with_code() }.to_bytes());
        }
    }
    result
}

/// Records the names that the other end has removed.
fn were_removed(tally: &CopyTally, names: &[minicbor::bytes::ByteVec], more: u64) {
    names.iter().for_each(|name| tally.removed(name));
    tally.removed_more(more);
}

fn begin(channel: &dyn MessageChannel, options: &SendOptions, tally: &CopyTally) -> Result<(), Fault> {
    let (roots, contents) = roots(&options.sources, options.contents)?;
    let several = roots.len() > 1;
    channel.send(Word::Begin { version: VERSION, several, contents }.to_bytes())?;
    let shelf = Shelf::default();
    std::thread::scope(|scope| {
        let lists = scope.spawn(|| {
            let listed = list(channel, options, &roots, &shelf, tally);
            if listed.is_err() {
                shelf.end();
            }
            listed
        });
        let mut sender = Sender {
            channel,
            options,
            tally,
            shelf: &shelf,
            pack: Pack::new(),
            limit: options.rate.map(Limit::new),
            most: options.rate.map_or(MAX_PACK_BYTES, |rate| {
                (rate / 10).clamp(MIN_PACK_BYTES, MAX_PACK_BYTES as u64) as usize
            }),
            answered: 0,
            wants: VecDeque::new(),
            sends: None,
            tries: HashMap::new(),
            refused: HashSet::new(),
            sent: HashMap::new(),
        };
        let mut sent = sender.send_all();
        sender.hear_last_words(&mut sent);
        shelf.end();
        let listed = lists.join().unwrap_or_else(|_| Err(stopped()));
        match (sent, listed) {
            // If both threads failed, the thread that stopped first has the real reason.
            (Err(why), Err(first)) if why.code() == Code::COPY_STOPPED => Err(first),
            (Err(why), _) => Err(why),
            (Ok(()), listed) => listed,
        }
    })
}

fn list(
    channel: &dyn MessageChannel,
    options: &SendOptions,
    roots: &[Root],
    shelf: &Shelf,
    tally: &CopyTally,
) -> Result<(), Fault> {
    let mut lister = Lister::new(channel, shelf, tally);
    match (&options.watching, roots) {
        (Some(watching), [root]) => watch(watching, root, &mut lister, shelf),
        _ => {
            let mut all = true;
            for root in roots {
                all &= lister.list(root)?;
            }
            lister.end(all)
        }
    }
}

struct Sender<'a> {
    channel: &'a dyn MessageChannel,
    options: &'a SendOptions,
    tally: &'a CopyTally,
    shelf: &'a Shelf,
    pack: Pack,
    limit: Option<Limit>,
    /// Number of bytes from which a pack is sent. If the rate is limited, a pack has a tenth of the bytes
    /// of a second, so that several packs are sent each second.
    most: usize,
    /// The last id that the receiver has processed.
    answered: u64,
    wants: VecDeque<Want>,
    sends: Option<FileInTransfer>,
    /// Number of attempts to send each file that changed while it was sent.
    tries: HashMap<u64, u32>,
    /// Ids of files that the receiver has refused and that are still in `wants`.
    refused: HashSet<u64>,
    /// Names of the files that were sent completely, until the receiver reports them as complete.
    sent: HashMap<u64, Vec<u8>>,
}

impl Sender<'_> {
    fn send_all(&mut self) -> Result<(), Fault> {
        loop {
            let busy = self.sends.is_some() || !self.wants.is_empty();
            if !busy {
                self.flush()?;
            }
            let within = if busy { Duration::ZERO } else { Duration::from_millis(500) };
            match self.channel.receive(Some(within))? {
                Some(message) => {
                    let FileMessage::Word(word) = read(&message)? else {
                        return Err(misunderstood(&"a piece of a file"));
                    };
                    if self.word(word)? {
                        return Ok(());
                    }
                }
                None if busy => self.step()?,
                None if self.shelf.is_over() => return Err(stopped()),
                None => {}
            }
        }
    }

    /// Processes a word of the receiver. Returns true if the copy is finished.
    fn word(&mut self, word: Word) -> Result<bool, Fault> {
        match word {
            Word::Answer { upto, wants, refused } => self.answer(upto, wants, &refused)?,
            Word::Removed { names, more } => were_removed(self.tally, &names, more),
            Word::Made(made) => self.were_made(&made),
            Word::Refused(Refusal { id: 0, why, name }) => {
                self.tally.fails(&name, heard(&why, Code::FILE_NOT_COPIED));
            }
            Word::Refused(Refusal { id, why, name }) => {
                if self.sends.as_ref().is_some_and(|sends| sends.id == id) {
                    self.sends = None;
                } else if self.wants.iter().any(|want| want.id == id) {
                    self.refused.insert(id);
                }
                self.shelf.remove(id);
                self.sent.remove(&id);
                self.tally.fails(&name, heard(&why, Code::FILE_NOT_COPIED));
            }
            Word::Done => return Ok(self.options.watching.is_none()),
            Word::Stop { why } => return Err(heard(&why, Code::COPY_STOPPED)),
            _ => return Err(misunderstood(&"a word at the wrong time")),
        }
        Ok(false)
    }

    /// Reads, after a failure, the messages that the other end sent before it stopped: the reason, and the
    /// files that it completed or removed.
    fn hear_last_words(&mut self, outcome: &mut Result<(), Fault>) {
        if outcome.is_err() {
            while let Ok(Some(message)) = self.channel.receive(Some(Duration::ZERO)) {
                match read(&message) {
                    Ok(FileMessage::Word(Word::Stop { why })) => {
                        *outcome = Err(heard(&why, Code::COPY_STOPPED))
                    }
                    Ok(FileMessage::Word(Word::Removed { names, more })) => {
                        were_removed(self.tally, &names, more)
                    }
                    Ok(FileMessage::Word(Word::Made(made))) => self.were_made(&made),
                    _ => {}
                }
            }
        }
    }

    /// Counts files as copied. A file counts only when the receiver reports it as complete.
    fn were_made(&mut self, made: &[u64]) {
        for id in made {
            if let Some(name) = self.sent.remove(id) {
                self.tally.copied(&name);
            }
        }
    }

    fn answer(&mut self, upto: u64, wants: Vec<Want>, refused: &[Refusal]) -> Result<(), Fault> {
        for refusal in refused {
            let file = self.shelf.remove(refusal.id);
            let why = heard(&refusal.why, Code::FILE_NOT_COPIED);
            match file {
                // Another copy at the receiver holds the file. The file is sent again later.
                Some(file) if self.options.watching.is_some() && why.code() == Code::FILE_BUSY => {
                    self.shelf.list_again(file.name);
                }
                _ => self.tally.fails(&refusal.name, why),
            }
        }
        let wanted: HashSet<u64> = wants.iter().map(|want| want.id).collect();
        self.shelf.settle(self.answered.saturating_add(1)..=upto, &wanted, &mut |file| {
            self.tally.was_there(file.size)
        });
        self.answered = self.answered.max(upto);
        for want in wants {
            let Some(file) = self.shelf.get(want.id) else { continue };
            if self.options.dry {
                self.tally.copied(&file.name);
                self.tally.moved(file.size.saturating_sub(want.from));
                self.shelf.remove(want.id);
                continue;
            }
            self.tally.resumed(want.from);
            self.tally.went_through(want.from);
            self.wants.push_back(want);
        }
        // The receiver may want each file once, and at most `MAX_OPEN_FILES` files are listed at a time.
        if self.wants.len() > MAX_OPEN_FILES {
            Err(misunderstood(&"more is wanted than there is"))
        } else {
            Ok(())
        }
    }

    /// Reads the next bytes of a wanted file into the pack, and sends the pack if it is full.
    fn step(&mut self) -> Result<(), Fault> {
        let mut sends = match self.sends.take() {
            Some(sends) => sends,
            None => {
                let Some(want) = self.wants.pop_front() else { return Ok(()) };
                if self.refused.remove(&want.id) {
                    return Ok(());
                }
                let Some(listed) = self.shelf.get(want.id) else { return Ok(()) };
                let channel = self.channel;
                let is_wanted = || channel.is_there().is_ok();
                match FileInTransfer::open(listed.clone(), &want, false, &mut self.pack, &is_wanted) {
                    Ok(sends) => sends,
                    Err(why) => return self.drop_or_begin_anew(want, &listed.name, why, 0),
                }
            }
        };
        match sends.step(&mut self.pack, self.most, self.tally) {
            Ok(false) => self.sends = Some(sends),
            Ok(true) => {
                self.tries.remove(&sends.id);
                self.shelf.remove(sends.id);
                if self.tally.is_read() {
                    self.sent.insert(sends.id, sends.listed.name.clone());
                }
            }
            Err(why) => {
                let want = Want { id: sends.id, from: 0, sum: vec![0; CHECKSUM_BYTES] };
                self.drop_or_begin_anew(want, &sends.listed.name.clone(), why, sends.at())?;
            }
        }
        if self.pack.is_full(self.most) {
            self.flush()?;
        }
        Ok(())
    }

    /// Handles a file that could not be sent completely. Starts again if the file has changed and attempts
    /// are left; otherwise drops the file.
    fn drop_or_begin_anew(&mut self, want: Want, name: &[u8], why: Unsent, at: u64) -> Result<(), Fault> {
        let live = self.options.watching.is_some();
        let tries = self.tries.entry(want.id).or_default();
        *tries += 1;
        if why == Unsent::Changed && *tries < MAX_SEND_ATTEMPTS && !live {
            let Some(listed) = self.shelf.get(want.id) else { return Ok(()) };
            if let Ok(sends) = FileInTransfer::open(listed, &want, true, &mut self.pack, &|| true) {
                self.tally.came_back(at);
                self.sends = Some(sends);
                return Ok(());
            }
        }
        self.tries.remove(&want.id);
        self.shelf.remove(want.id);
        let fault = match why {
            Unsent::Changed => {
                fault!(FILE_CHANGED, "it changed each time while it was copied; copy it when it is done")
            }
            Unsent::Gone => fault!(FILE_CHANGED, "it was removed while the copy went on"),
            Unsent::System(errno) => crate::scan::unread(&errno.into()),
            Unsent::Cut => return Err(self.channel.is_there().err().unwrap_or_else(stopped)),
        };
        // A sender that watches lists the file again after the change.
        match (live, why) {
            (true, Unsent::Gone) => {}
            (true, Unsent::Changed) => self.shelf.list_again(name.to_vec()),
            _ => self.tally.fails(name, fault.clone()),
        }
        self.flush()?;
        self.channel.send(
            Word::Dropped(Refusal { id: want.id, why: fault.with_code(), name: name.to_vec() }).to_bytes(),
        )
    }

    fn flush(&mut self) -> Result<(), Fault> {
        if self.pack.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::replace(&mut self.pack, Pack::new()).into_bytes();
        let length = bytes.len();
        self.channel.send(bytes)?;
        if let Some(limit) = &mut self.limit {
            let pause = limit.pause_after(length, Instant::now());
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
        Ok(())
    }
}
