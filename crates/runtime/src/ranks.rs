//! The progress of the ranks of an MPI program in which rank 0 speaks for all. Each rank writes the number of
//! its collective calls into memory of rank 0 (ligament_mpi.h, ligament/mpi.py). The process of rank 0 keeps
//! the descriptor of this memory open, so the head can find the memory in /proc and read it when a client asks.
//! Ranks on other nodes cannot write to the memory, so their progress is unknown here.
//!
//! The ranks write while the memory is read, so the content may be inconsistent.

use ligament_agent::{process_state, InstancePhase, InstanceView, RankLag};
use ligament_launch::ranks_below;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Path that the kernel shows for the descriptor of the memory.
const NAME: &str = "/memfd:ligament-mpi (deleted)";
const VERSION: u32 = 1;
/// Size of the first record of the memory, which has the version and the number of ranks, and of each rank's
/// line, in bytes.
const LINE_BYTES: usize = 64;
/// Maximum number of ranks that are read; it is larger than on any machine.
const MAX_RANKS: usize = 1 << 16;
/// Minimum time for which ranks must have been late before they are reported.
const LASTING: Duration = Duration::from_secs(1);
/// Maximum number of late ranks that are named.
const NAMED: usize = 4;
const CALLS: [&str; 18] = [
    "",
    "create",
    "reuse_instance",
    "receive",
    "receive_into",
    "finish",
    "free",
    "receive_all",
    "get_setting",
    "steer",
    "resuming",
    "load_snapshot",
    "should_init",
    "should_save_snapshot",
    "save_snapshot",
    "should_save_final_snapshot",
    "save_final_snapshot",
    "snapshot_directory",
];
/// Number of the last call of a rank.
const FREE: u32 = 6;

/// The memory of each rank 0, by the number of its process. `None` for a process without such memory.
#[derive(Debug, Default)]
pub(crate) struct RankPages(HashMap<u32, Option<File>>);

/// The line that a rank writes about itself.
#[derive(Debug, Clone, Default, PartialEq)]
struct RankLine {
    rank: usize,
    calls: u32,
    /// The last of these calls, and true if the rank is still in the call.
    call: u32,
    is_in: bool,
    process: u32,
    /// Time since the last change of the line.
    lasts: Duration,
    port: String,
}

impl RankPages {
    /// Returns the ranks of an instance that are late or have not ended. Returns `None` if there are none.
    pub fn standing(&mut self, view: &InstanceView) -> Option<RankLag> {
        let (speaker, launcher) = (view.speaker?, view.pid?);
        if speaker == launcher || !matches!(view.phase, InstancePhase::Running | InstancePhase::Finished) {
            return None;
        }
        let page = self.0.entry(speaker).or_insert_with(|| page_of(speaker));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let lines = page.as_ref().map(|page| lines_of(page, now)).unwrap_or_default();
        let late = standing(&lines, |line| known(line, &lines, speaker));
        told(late, || (view.phase == InstancePhase::Finished).then(|| left(launcher, view)).flatten())
    }
}

/// Returns the late ranks if they have been late long enough. If no rank is late, returns the ranks that have
/// not ended. While a rank is late for the end, no rank has ended, so the second answer would not help.
fn told(late: Option<(String, Duration)>, left: impl FnOnce() -> Option<RankLag>) -> Option<RankLag> {
    let Some((what, lasts)) = late else { return left() };
    let since = ligament_shm::status::now().saturating_sub(lasts.as_nanos() as u64);
    (lasts >= LASTING).then_some(RankLag { what, since })
}

/// Opens the memory of a rank 0. Returns `None` if its process has no such memory.
fn page_of(speaker: u32) -> Option<File> {
    let open = std::fs::read_dir(format!("/proc/{speaker}/fd")).ok()?.flatten();
    let mut named =
        open.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == NAME));
    File::open(named.next()?.path()).ok()
}

fn lines_of(page: &File, now: Duration) -> Vec<RankLine> {
    let mut word = [0; LINE_BYTES];
    if page.read_exact_at(&mut word, 0).is_err() || number(&word, 24) != VERSION {
        return Vec::new();
    }
    let ranks = number(&word, 28) as usize;
    let mut bytes = vec![0; ranks.min(MAX_RANKS) * LINE_BYTES];
    if page.read_exact_at(&mut bytes, LINE_BYTES as u64).is_err() {
        return Vec::new();
    }
    bytes.chunks_exact(LINE_BYTES).enumerate().map(|(rank, bytes)| line_of(rank, bytes, now)).collect()
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn line_of(rank: usize, bytes: &[u8], now: Duration) -> RankLine {
    let since = u64::from(number(bytes, 16)) | u64::from(number(bytes, 20)) << 32;
    let port = bytes.get(24..).unwrap_or_default().split(|&byte| byte == 0).next().unwrap_or_default();
    let port = String::from_utf8_lossy(port);
    RankLine {
        rank,
        calls: number(bytes, 0),
        call: number(bytes, 4),
        process: number(bytes, 8),
        is_in: number(bytes, 12) != 0,
        lasts: now.saturating_sub(Duration::from_nanos(since)),
        port: port.chars().filter(|letter| !letter.is_control()).collect(),
    }
}

/// Returns a description of the ranks that have not reached a call that other ranks have reached, and the time
/// for which the others have waited. `who` describes a rank.
fn standing(lines: &[RankLine], who: impl Fn(&RankLine) -> String) -> Option<(String, Duration)> {
    let (first, others) = lines.split_first()?;
    // The line of a rank on another node is empty.
    let others = || others.iter().filter(|line| line.process != 0);
    let is_ahead = |a: &RankLine, b: &RankLine| a.calls.wrapping_sub(b.calls) as i32 > 0;
    let behind: Vec<&RankLine> = others().filter(|line| is_ahead(first, line)).collect();
    let ahead: Vec<&RankLine> = others().filter(|line| is_ahead(line, first) && line.is_in).collect();
    let (missing, there, lasts) = if let Some(one) = behind.first() {
        (behind.clone(), first, behind.iter().map(|line| line.lasts).min()?.min(age(first, one)))
    } else {
        let there = *ahead.first()?;
        (vec![first], there, ahead.iter().map(|line| line.lasts).min()?.min(first.lasts))
    };
    let named: Vec<String> = missing.iter().take(NAMED).map(|line| who(line)).collect();
    let more = match missing.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more ranks"),
    };
    let has = if missing.len() == 1 { "has" } else { "have" };
    let where_is = match (there.rank, there.is_in) {
        (0, true) => "where rank 0 is",
        (0, false) => "where rank 0 was",
        _ => "where others wait for it",
    };
    let call = in_words(there);
    let what = format!("{}{more} {has} not come to {call}, {where_is}", named.join(", "));
    Some((what, lasts))
}

/// Returns the time for which rank 0 has been in a call that another rank has not reached. If rank 0 is more
/// than one call ahead, this time is not known, and the time since the other rank's last call is returned.
fn age(first: &RankLine, other: &RankLine) -> Duration {
    if first.calls == other.calls.wrapping_add(1) {
        first.lasts
    } else {
        other.lasts
    }
}

fn in_words(line: &RankLine) -> String {
    let name = CALLS.get(line.call as usize).copied().unwrap_or_default();
    match (line.call, name, line.port.as_str()) {
        (FREE, ..) => "the end of the instance".to_owned(),
        (_, "", _) => format!("collective call {}", line.calls),
        (_, name, "") => format!("collective call {} ({name})", line.calls),
        (_, name, port) => format!("collective call {} ({name} of {port})", line.calls),
    }
}

/// Describes a rank by its process, with the kernel's state of the process. The process is left out if its
/// number is not valid in this namespace.
fn known(line: &RankLine, lines: &[RankLine], speaker: u32) -> String {
    let same = lines.first().is_some_and(|first| first.process == speaker);
    process_named(line.rank, Some(line.process).filter(|_| same))
}

fn process_named(rank: usize, process: Option<u32>) -> String {
    let Some(process) = process else { return format!("rank {rank}") };
    match process_state(process) {
        None => format!("rank {rank} (process {process}, gone)"),
        Some(state) => format!("rank {rank} (process {process}, {})", state.doing),
    }
}

/// Returns the ranks of a finished instance that have not ended.
fn left(launcher: u32, view: &InstanceView) -> Option<RankLag> {
    let ended = view.status.as_ref().map(|status| status.ended).filter(|&ended| ended > 0)?;
    let lasts = ligament_shm::status::now().saturating_sub(ended);
    let mut ranks = ranks_below(launcher);
    if ranks.is_empty() || u128::from(lasts) < LASTING.as_nanos() {
        return None;
    }
    ranks.sort_unstable();
    let named = ranks.iter().take(NAMED).map(|&(rank, process)| process_named(rank as usize, Some(process)));
    let named: Vec<String> = named.collect();
    let more = match ranks.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more ranks"),
    };
    let have = if ranks.len() == 1 { "has" } else { "have" };
    Some(RankLag { what: format!("{}{more} {have} not ended", named.join(", ")), since: ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE_AFTER: Duration = Duration::from_secs(12);

    fn line(rank: usize, calls: u32, call: u32, lasts: Duration) -> RankLine {
        RankLine { rank, calls, call, is_in: call != 0, process: 40 + rank as u32, lasts, port: "start".into() }
    }

    fn late(lines: &[RankLine]) -> Option<(String, u64)> {
        standing(lines, |line| format!("rank {}", line.rank)).map(|(what, lasts)| (what, lasts.as_secs()))
    }

    #[test]
    fn a_rank_that_does_not_come_is_named_with_the_call() {
        let lines = [line(0, 17, 3, LATE_AFTER), line(1, 16, 0, 2 * LATE_AFTER), line(2, 17, 3, LATE_AFTER)];
        let what = "rank 1 has not come to collective call 17 (receive of start), where rank 0 is";
        assert_eq!(late(&lines), Some((what.to_owned(), 12)));
        // Rank 0 is done, and rank 1 is late for the end.
        let lines = [line(0, 17, FREE, LATE_AFTER), line(1, 16, 0, 2 * LATE_AFTER)];
        assert_eq!(late(&lines).unwrap().0, "rank 1 has not come to the end of the instance, where rank 0 is");
    }

    #[test]
    fn ranks_that_wait_for_rank_0_and_those_on_the_way_are_told_apart() {
        let lines = [line(0, 3, 0, LATE_AFTER), line(1, 4, 2, LATE_AFTER), line(2, 4, 2, LATE_AFTER)];
        let what =
            "rank 0 has not come to collective call 4 (reuse_instance of start), where others wait for it";
        assert_eq!(late(&lines), Some((what.to_owned(), 12)));
        let lines = [line(0, 4, 2, LATE_AFTER), line(1, 3, 0, LASTING / 2)];
        assert_eq!(late(&lines).map(|(_, seconds)| seconds), Some(0));
        let lines = [line(0, 4, 2, LATE_AFTER), line(1, 4, 2, LATE_AFTER)];
        assert_eq!(late(&lines), None);
    }

    #[test]
    fn nobody_is_called_left_while_one_is_late_for_the_end() {
        let left = || Some(RankLag { what: "rank 0, rank 1 have not ended".to_owned(), since: 1 });
        let late = |lasts| Some(("rank 1 has not come to the end".to_owned(), lasts));
        assert_eq!(told(late(LASTING / 2), left), None);
        assert_eq!(told(late(LASTING), left).unwrap().what, "rank 1 has not come to the end");
        assert_eq!(told(None, left).unwrap().what, "rank 0, rank 1 have not ended");
    }

    #[test]
    fn ranks_on_other_nodes_have_no_line_and_many_are_counted() {
        let mut lines: Vec<RankLine> = (1..8).map(|rank| line(rank, 1, 0, LATE_AFTER)).collect();
        lines.insert(0, line(0, 2, 3, LATE_AFTER));
        assert!(late(&lines)
            .unwrap()
            .0
            .starts_with("rank 1, rank 2, rank 3, rank 4 and 3 more ranks have not come"));
        lines[2] = RankLine::default();
        assert!(late(&lines)
            .unwrap()
            .0
            .starts_with("rank 1, rank 3, rank 4, rank 5 and 2 more ranks have not come"));
        assert_eq!(late(&[]), None);
    }

    #[test]
    fn what_stands_in_the_memory_may_be_anything() {
        let mut bytes = vec![0xff; LINE_BYTES];
        let told = line_of(1, &bytes, LATE_AFTER);
        assert_eq!((told.calls, told.lasts), (u32::MAX, Duration::ZERO));
        bytes[24..30].copy_from_slice(b"ab\n\x1bc\0");
        assert_eq!(line_of(1, &bytes, LATE_AFTER).port, "abc");
        assert_eq!(in_words(&told), format!("collective call {}", u32::MAX));
    }
}
