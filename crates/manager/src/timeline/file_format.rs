//! The lines of a timeline's file, as docs/reference/timeline.md describes them. This module writes lines,
//! and parses lines without trust in their writer.

use super::merge::{TimelinePiece, TimelineSums};
use super::{Activity, TimelineCause};
use ligament_catalogue::{fault, Fault};
use ligament_wire::RankId;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// First line of the file.
pub(super) const FIRST_LINE: &str = "ligament timeline 1";
/// Part of the first line that is the same in every version of the format.
pub(super) const FIRST_LINE_PREFIX: &str = "ligament timeline ";

/// The second line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineHeader {
    /// Name of the run.
    pub run: String,
    pub model: String,
    /// Date and time of the timeline's time 0, in RFC 3339, UTC.
    pub started: String,
    /// Length below which intervals may have been merged with their neighbours, in ns.
    pub resolution: u64,
}

/// Any line of the file after the first two lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TimelineLine {
    Instance {
        number: RankId,
        component: String,
        name: String,
    },
    Cause {
        number: u32,
        cause: TimelineCause,
    },
    Begins {
        rank: RankId,
        at: u64,
    },
    Ends {
        rank: RankId,
        at: u64,
        how: String,
    },
    Piece {
        rank: RankId,
        piece: TimelinePiece,
    },
    /// Increments of the total time (ns) and of the number of occurrences of a cause.
    Total {
        cause: u32,
        ns: u64,
        count: u64,
    },
    /// A line of a later version.
    Unknown,
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

impl TimelineLine {
    pub fn write(&self, out: &mut String) {
        let _ = match self {
            TimelineLine::Instance { number, component, name } => {
                writeln!(out, "i {number} {component} {name}")
            }
            TimelineLine::Cause { number, cause } => writeln!(
                out,
                "c {number} {} {} {} {} {}",
                cause.rank,
                cause.activity.name(),
                or_dash(cause.at.as_ref()),
                or_dash(cause.peer),
                or_dash(cause.peer_port.as_ref())
            ),
            TimelineLine::Begins { rank, at } => writeln!(out, "b {rank} {at}"),
            TimelineLine::Ends { rank, at, how } => writeln!(out, "e {rank} {at} {how}"),
            TimelineLine::Piece { rank, piece } => return write_piece(*rank, piece, out),
            TimelineLine::Total { cause, ns, count } => writeln!(out, "t {cause} {ns} {count}"),
            TimelineLine::Unknown => Ok(()),
        };
    }

    /// Parses a line.
    ///
    /// # Errors
    /// The line is damaged. The error describes the damage.
    pub fn read(text: &str) -> Result<TimelineLine, Fault> {
        let mut words = FieldReader(text.split(' '));
        Ok(match words.next("kind")? {
            "i" => TimelineLine::Instance {
                number: words.number("instance")?,
                component: words.next("component")?.to_owned(),
                name: words.next("name")?.to_owned(),
            },
            "c" => {
                let number = words.number("cause")?;
                let rank = words.number("instance")?;
                let activity = words.next("activity")?;
                let activity = Activity::from_name(activity).ok_or_else(|| {
                    fault!(
                        TIMELINE_DAMAGED,
                        "\"{activity}\" is no activity; it is one of \
                        message, any, room, slots, memory, steering, send, receive"
                    )
                })?;
                let at = words.perhaps("port")?.map(str::to_owned);
                let peer = words.perhaps_number("peer")?;
                let peer_port = words.perhaps("port of the peer")?.map(str::to_owned);
                TimelineLine::Cause { number, cause: TimelineCause { rank, activity, at, peer, peer_port } }
            }
            "b" => TimelineLine::Begins { rank: words.number("instance")?, at: words.number("time")? },
            "e" => TimelineLine::Ends {
                rank: words.number("instance")?,
                at: words.number("time")?,
                how: words.next("state")?.to_owned(),
            },
            "x" => {
                let rank = words.number("instance")?;
                let (gap, length) = (words.number("gap")?, words.number("length")?);
                let cause = Some(words.number("cause")?);
                let (sums, time) = (words.sums()?, words.time()?);
                let piece = TimelinePiece { gap, length, cause, share: length, is_period: false, sums, time };
                TimelineLine::Piece { rank, piece }
            }
            "p" => {
                let rank = words.number("instance")?;
                let length = words.number("length")?;
                let cause = words.perhaps_number("cause")?;
                let share: u64 = words.number("share")?;
                if share > length {
                    return Err(fault!(TIMELINE_DAMAGED, "a share of {share} in a period of {length} ns"));
                }
                let (sums, time) = (words.sums()?, words.time()?);
                let piece = TimelinePiece { gap: 0, length, cause, share, is_period: true, sums, time };
                TimelineLine::Piece { rank, piece }
            }
            "t" => TimelineLine::Total {
                cause: words.number("cause")?,
                ns: words.number("time")?,
                count: words.number("count")?,
            },
            _ => TimelineLine::Unknown,
        })
    }
}

fn write_piece(rank: RankId, piece: &TimelinePiece, out: &mut String) {
    let _ = match (piece.is_period, piece.cause) {
        (false, Some(cause)) => write!(out, "x {rank} {} {} {cause}", piece.gap, piece.length),
        (_, cause) => write!(out, "p {rank} {} {} {}", piece.length, or_dash(cause), piece.share),
    };
    for value in piece.sums.values() {
        let _ = write!(out, " {value}");
    }
    let _ = match piece.time {
        Some(time) => writeln!(out, " {time}"),
        None => writeln!(out, " -"),
    };
}

/// Reads the fields of a line.
struct FieldReader<'a>(std::str::Split<'a, char>);

impl<'a> FieldReader<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, Fault> {
        let word = self.0.next().filter(|word| !word.is_empty());
        let word = word.ok_or_else(|| fault!(TIMELINE_DAMAGED, "the {what} is missing"))?;
        // The text may be shown on a terminal, so control characters are refused.
        if word.contains(char::is_control) {
            Err(fault!(TIMELINE_DAMAGED, "the {what} has characters that no name has"))
        } else {
            Ok(word)
        }
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Fault> {
        let word = self.next(what)?;
        word.parse().map_err(|_| {
            fault!(TIMELINE_DAMAGED, "the {what} is \"{}\", which is no such number", shortened(word))
        })
    }

    fn perhaps(&mut self, what: &str) -> Result<Option<&'a str>, Fault> {
        Ok(Some(self.next(what)?).filter(|&word| word != "-"))
    }

    fn perhaps_number<T: std::str::FromStr>(&mut self, what: &str) -> Result<Option<T>, Fault> {
        let Some(word) = self.perhaps(what)? else { return Ok(None) };
        let number = word.parse().map(Some);
        number.map_err(|_| {
            fault!(TIMELINE_DAMAGED, "the {what} is \"{}\", which is no such number", shortened(word))
        })
    }

    fn sums(&mut self) -> Result<TimelineSums, Fault> {
        let mut values = [0; TimelineSums::FIELD_COUNT];
        for value in &mut values {
            *value = self.number("count")?;
        }
        Ok(TimelineSums::from_values(values))
    }

    fn time(&mut self) -> Result<Option<f64>, Fault> {
        self.perhaps_number("model time")
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reads_as_it_was_written() {
        let sums = TimelineSums::from_values([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let piece = TimelinePiece {
            gap: 5,
            length: 7,
            cause: Some(3),
            share: 7,
            is_period: false,
            sums,
            time: Some(0.1),
        };
        let period =
            TimelinePiece { gap: 0, cause: None, share: 0, is_period: true, time: None, ..piece.clone() };
        let cause = TimelineCause {
            rank: RankId::new(2),
            activity: Activity::Room,
            at: Some("a[2].out".into()),
            peer: Some(RankId::new(1)),
            peer_port: Some("b.in[3]".into()),
        };
        let any = TimelineCause {
            rank: RankId::new(2),
            activity: Activity::AnyMessage,
            at: None,
            peer: None,
            peer_port: None,
        };
        for line in [
            TimelineLine::Instance {
                number: RankId::new(4),
                component: "a.b".into(),
                name: "a.b[1][2]".into(),
            },
            TimelineLine::Cause { number: 0, cause },
            TimelineLine::Cause { number: 1, cause: any },
            TimelineLine::Begins { rank: RankId::new(3), at: u64::MAX },
            TimelineLine::Ends { rank: RankId::new(3), at: 5, how: "ended".into() },
            TimelineLine::Piece { rank: RankId::new(0), piece },
            TimelineLine::Piece { rank: RankId::new(0), piece: period },
            TimelineLine::Total { cause: 1, ns: 2, count: 3 },
        ] {
            let mut text = String::new();
            line.write(&mut text);
            assert_eq!(TimelineLine::read(text.trim_end_matches('\n')), Ok(line), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (text, part) in [
            ("b 1", "the time is missing"),
            ("b -1 5", "the instance is \"-1\""),
            ("c 0 1 sleeps - - -", "\"sleeps\" is no activity"),
            ("x 0 1 2 3 1 2 3", "the count is missing"),
            ("p 0 10 - 11 0 0 0 0 0 0 0 0 0 -", "a share of 11"),
            ("t 1 2 99999999999999999999999", "no such number"),
        ] {
            let error = TimelineLine::read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(TimelineLine::read("z 1 2 3"), Ok(TimelineLine::Unknown));
    }
}
