//! Tests of a receiver whose sender breaks the rules of the protocol.

use crate::channel::MessageChannel;
use crate::entry::{DirectoryEntry, EntryKind, Stamp};
use crate::protocol::{read, FileMessage, Pack, Word, CHECKSUM_BYTES, VERSION};
use crate::receive::{receive, ReceiveOptions};
use crate::tally::CopyTally;
use ligament_catalogue::{fault, Fault};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// A channel to a sender that breaks the rules: it delivers given messages, and records the receiver's
/// answers.
struct Liar {
    says: Mutex<VecDeque<Vec<u8>>>,
    heard: Mutex<Vec<Vec<u8>>>,
}

impl MessageChannel for Liar {
    fn send(&self, message: Vec<u8>) -> Result<(), Fault> {
        self.heard.lock().unwrap().push(message);
        Ok(())
    }

    fn receive(&self, _: Option<Duration>) -> Result<Option<Vec<u8>>, Fault> {
        let next = self.says.lock().unwrap().pop_front();
        next.map(Some).ok_or_else(|| fault!(COPY_CUT, "it has said all"))
    }

    fn under_way(&self) -> u64 {
        0
    }

    fn is_there(&self) -> Result<(), Fault> {
        if self.says.lock().unwrap().is_empty() {
            Err(fault!(COPY_CUT, "it has said all"))
        } else {
            Ok(())
        }
    }
}

/// A directory with two directories, `in` and `out`. It is removed at the end.
struct ScratchDirectories(PathBuf);

impl ScratchDirectories {
    fn new(name: &str) -> ScratchDirectories {
        let path = std::env::temp_dir().join(format!("ligament-strangers-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("in")).unwrap();
        std::fs::create_dir_all(path.join("out")).unwrap();
        ScratchDirectories(path)
    }

    fn names(&self, of: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.join(of))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for ScratchDirectories {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Receives the given messages after a valid `Begin`. Returns the result, the names of failed files, and the
/// receiver's answers.
fn hear(into: &Path, delete: bool, says: Vec<Vec<u8>>) -> (Result<(), Fault>, Vec<String>, Vec<Word>) {
    let begin = Word::Begin { version: VERSION, several: false, contents: true };
    let says = Mutex::new([vec![begin.to_bytes()], says].concat().into());
    let liar = Liar { says, heard: Mutex::default() };
    let tally = CopyTally::default();
    let options = ReceiveOptions { into: into.join("in"), delete, ..ReceiveOptions::default() };
    let done = receive(&liar, &options, &tally);
    let heard = liar.heard.into_inner().unwrap();
    let words = heard.iter().map(|message| match read(message) {
        Ok(FileMessage::Word(word)) => word,
        _ => panic!("a receiver says words"),
    });
    (done, tally.failed().into_iter().map(|one| one.name).collect(), words.collect())
}

fn entry(id: u64, kind: EntryKind, name: &str, target: &str) -> DirectoryEntry {
    let stamp = Stamp { size: 3, seconds: 1, nanos: 0, mode: 0o7777 };
    DirectoryEntry { id, kind, name: name.into(), stamp, target: target.into() }
}

fn file(id: u64, bytes: &[u8], sum: [u8; CHECKSUM_BYTES]) -> Vec<u8> {
    let mut pack = Pack::new();
    pack.bytes_of(id, bytes.len(), |place| {
        place.copy_from_slice(bytes);
        Ok::<usize, ()>(bytes.len())
    })
    .unwrap();
    pack.whole(id, &sum, &Stamp { size: bytes.len() as u64, seconds: 1, nanos: 0, mode: 0o7777 });
    pack.into_bytes()
}

fn sum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    ring::digest::digest(&ring::digest::SHA256, bytes).as_ref().try_into().unwrap()
}

#[test]
fn names_that_lead_out_are_refused_and_all_else_arrives() {
    let place = ScratchDirectories::new("names");
    let outside = place.0.join("out/x").display().to_string();
    let entries = vec![
        entry(1, EntryKind::File, "../out/x", ""),
        entry(2, EntryKind::File, &outside, ""),
        entry(3, EntryKind::Directory, "a/../../out/d", ""),
        entry(4, EntryKind::Link, "..", "x"),
        entry(5, EntryKind::File, "good", ""),
    ];
    let says = vec![
        Word::Entries(entries).to_bytes(),
        file(1, b"bad", sum(b"bad")),
        file(5, b"yes", sum(b"yes")),
        Word::Listed { all: true }.to_bytes(),
    ];
    let (done, failed, _) = hear(&place.0, false, says);
    assert_eq!((done, failed.len()), (Ok(()), 4));
    assert_eq!((place.names("in"), place.names("out")), (vec!["good".into()], vec![]));
    let mode = std::fs::metadata(place.0.join("in/good")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o7777, 0o777, "no set-user-ID");
}

#[test]
fn a_link_that_the_sender_made_leads_it_nowhere() {
    let place = ScratchDirectories::new("links");
    let outside = place.0.join("out").display().to_string();
    std::fs::write(place.0.join("out/victim"), "old").unwrap();
    let entries = vec![
        entry(1, EntryKind::Link, "d", &outside),
        entry(2, EntryKind::File, "d/f", ""),
        entry(3, EntryKind::Link, "v", &format!("{outside}/victim")),
        entry(4, EntryKind::File, "v", ""),
        entry(5, EntryKind::Directory, "d", ""),
    ];
    let says = vec![
        Word::Entries(entries).to_bytes(),
        file(2, b"bad", sum(b"bad")),
        file(4, b"new", sum(b"new")),
        Word::Gone(vec![b"d/victim".to_vec().into()]).to_bytes(),
        Word::Listed { all: false }.to_bytes(),
    ];
    let (done, failed, _) = hear(&place.0, false, says);
    assert_eq!((done, failed), (Ok(()), vec!["d/f".into(), "d".into()]));
    assert_eq!(place.names("out"), ["victim"]);
    assert_eq!(std::fs::read(place.0.join("out/victim")).unwrap(), b"old");
    assert_eq!(std::fs::read(place.0.join("in/v")).unwrap(), b"new");
}

#[test]
fn removing_stays_inside_too() {
    let place = ScratchDirectories::new("removing");
    std::fs::write(place.0.join("out/victim"), "old").unwrap();
    std::os::unix::fs::symlink(place.0.join("out"), place.0.join("in/d")).unwrap();
    std::fs::write(place.0.join("in/old"), "old").unwrap();
    let says = vec![
        Word::Gone(vec![b"d/victim".to_vec().into(), b"old".to_vec().into()]).to_bytes(),
        Word::Listed { all: true }.to_bytes(),
        // The receiver does not read this message. It only shows that the sender is still there, because
        // nothing is removed after the sender is gone.
        Word::Listed { all: true }.to_bytes(),
    ];
    let (done, ..) = hear(&place.0, true, says);
    assert_eq!((done, place.names("in"), place.names("out")), (Ok(()), vec![], vec!["victim".into()]));
    std::fs::write(place.0.join("in/new"), "new").unwrap();
    let (done, ..) = hear(&place.0, true, vec![Word::Listed { all: true }.to_bytes()]);
    assert!(done.is_err() && place.names("in") == ["new"], "{done:?}");
    let says = vec![Word::Gone(vec![b"../out/victim".to_vec().into()]).to_bytes()];
    assert!(hear(&place.0, true, says).0.is_err());
    assert_eq!(place.names("out"), ["victim"]);
}

#[test]
fn a_file_with_another_checksum_gets_no_name() {
    let place = ScratchDirectories::new("sums");
    let says = vec![
        Word::Entries(vec![entry(1, EntryKind::File, "f", "")]).to_bytes(),
        file(1, b"abc", sum(b"abd")),
        Word::Listed { all: true }.to_bytes(),
    ];
    let (done, failed, words) = hear(&place.0, false, says);
    assert_eq!((done, failed), (Ok(()), vec!["f".to_owned()]));
    assert!(words.iter().any(|word| matches!(word, Word::Refused(_))));
    assert!(place.names("in").is_empty());
}

#[test]
fn nonsense_ends_it_and_says_so() {
    let place = ScratchDirectories::new("nonsense");
    let entries = || Word::Entries(vec![entry(1, EntryKind::File, "f", "")]).to_bytes();
    let nonsense = [
        vec![file(9, b"abc", sum(b"abc"))],
        vec![entries(), entries()],
        vec![Word::Done.to_bytes()],
        vec![vec![]],
        vec![vec![1, 2, 3]],
        vec![vec![0, 0xff]],
    ];
    for says in nonsense {
        let (done, _, words) = hear(&place.0, false, says);
        assert!(done.is_err_and(|why| why.code() == "copy-misunderstood"));
        assert!(matches!(words.last(), Some(Word::Stop { .. })));
    }
    assert!(place.names("in").is_empty());
}

#[test]
fn changed_bytes_of_true_messages_are_errors_at_most() {
    let place = ScratchDirectories::new("changed");
    let says = [
        Word::Entries(vec![entry(1, EntryKind::File, "f", ""), entry(2, EntryKind::Link, "l", "t")]).to_bytes(),
        file(1, b"abc", sum(b"abc")),
        Word::Listed { all: true }.to_bytes(),
    ];
    let mut seed = 1_u64;
    for _ in 0..2000 {
        let mut says = says.to_vec();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let message = &mut says[(seed >> 33) as usize % 3];
        let at = (seed >> 40) as usize % message.len();
        message[at] ^= 1 << (seed >> 61);
        let _ = hear(&place.0, false, says);
        let _ = std::fs::remove_dir_all(place.0.join("in"));
        std::fs::create_dir(place.0.join("in")).unwrap();
    }
    assert!(place.names("out").is_empty());
}

#[test]
fn what_was_not_asked_for_is_not_taken() {
    let place = ScratchDirectories::new("asked");
    let entries = vec![
        entry(1, EntryKind::File, ".profile", ""),
        entry(2, EntryKind::Directory, "results", ""),
        entry(3, EntryKind::File, "results/f", ""),
    ];
    let begin = |contents| Word::Begin { version: VERSION, several: false, contents }.to_bytes();
    let options = |into: PathBuf| ReceiveOptions {
        into,
        only: Some(vec!["results".into()]),
        ..ReceiveOptions::default()
    };
    let tells = |says: Vec<Vec<u8>>| {
        let liar = Liar { says: Mutex::new(says.into()), heard: Mutex::default() };
        receive(&liar, &options(place.0.join("in")), &CopyTally::default())
    };
    let says = vec![
        begin(false),
        Word::Entries(entries).to_bytes(),
        file(3, b"abc", sum(b"abc")),
        Word::Listed { all: true }.to_bytes(),
    ];
    assert_eq!((tells(says), place.names("in")), (Ok(()), vec!["results".into()]));
    assert!(tells(vec![begin(true)]).is_err_and(|why| why.code() == "copy-misunderstood"));
}

#[test]
fn a_hole_that_nobody_can_wait_for_keeps_nobody_busy_when_its_sender_is_gone() {
    let place = ScratchDirectories::new("holes");
    let mut pack = Pack::new();
    pack.hole(1, 1 << 62);
    let says = vec![Word::Entries(vec![entry(1, EntryKind::File, "f", "")]).to_bytes(), pack.into_bytes()];
    let (done, ..) = hear(&place.0, false, says);
    assert!(done.is_err_and(|why| why.code() == "copy-cut"));
    assert!(!place.names("in").contains(&"f".to_owned()));
}

#[test]
fn what_the_sender_says_does_nothing_to_a_terminal() {
    let place = ScratchDirectories::new("terminal");
    let says = vec![Word::Stop { why: "no\u{1b}[2J\u{7} room\u{9b}1m".into() }.to_bytes()];
    let why = hear(&place.0, false, says).0.unwrap_err();
    assert!(why.text().contains("room") && !why.text().contains(char::is_control), "{:?}", why.text());
}

#[test]
fn a_directory_that_is_gone_before_its_list_ends_is_no_failure() {
    let place = ScratchDirectories::new("gone");
    let says = vec![
        Word::Entries(vec![entry(1, EntryKind::Directory, "d", "")]).to_bytes(),
        Word::Gone(vec![b"d".to_vec().into()]).to_bytes(),
        Word::Listed { all: false }.to_bytes(),
    ];
    let (done, failed, _) = hear(&place.0, true, says);
    assert_eq!((done, failed, place.names("in")), (Ok(()), vec![], vec![]));
}
