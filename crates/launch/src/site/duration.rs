//! The time limit of a job. It is parsed in Slurm's form or with units, and written in Slurm's form.

use std::fmt;

/// The time limit of a job, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walltime(pub u64);

impl Walltime {
    /// Parses `90` (minutes), `30:00` (minutes and seconds), `1:30:00`, `2-12` (days and hours), `2-12:30`,
    /// `2-12:30:00`, as sbatch does, or a number with a unit, `90 min`.
    pub fn parse(text: &str) -> Option<Walltime> {
        let text = text.trim();
        if let Some(seconds) = parse_duration(text) {
            return Some(Walltime(seconds)).filter(|time| time.0 > 0);
        }
        let (days, rest) = match text.split_once('-') {
            Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
            None => (None, text),
        };
        let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let (hours, minutes, seconds) = match (days, parts.as_slice()) {
            (Some(_), [hours]) => (*hours, 0, 0),
            (Some(_), [hours, minutes]) => (*hours, *minutes, 0),
            (None, [minutes]) => (0, *minutes, 0),
            (None, [minutes, seconds]) => (0, *minutes, *seconds),
            (_, [hours, minutes, seconds]) => (*hours, *minutes, *seconds),
            _ => return None,
        };
        let total = days
            .unwrap_or(0)
            .checked_mul(86_400)?
            .checked_add(hours.checked_mul(3600)?)?
            .checked_add(minutes.checked_mul(60)?)?
            .checked_add(seconds)?;
        (total > 0).then_some(Walltime(total))
    }
}

impl fmt::Display for Walltime {
    /// Writes the time limit in Slurm's form: `1-02:03:04`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 86_400 {
            write!(f, "{}-", self.0 / 86_400)?;
        }
        write!(f, "{:02}:{:02}:{:02}", self.0 / 3600 % 24, self.0 / 60 % 60, self.0 % 60)
    }
}

/// Parses a number with a unit (`s`, `min`, `h`, `d`, or the words), in seconds; `None` if it is invalid.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "s" | "sec" | "second" | "seconds" => 1.0,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    (0.0..1e12).contains(&seconds).then_some(seconds.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_sbatch_reads_them_and_with_units() {
        for (text, seconds) in [
            ("90", 5400),
            ("30:15", 1815),
            ("1:30:00", 5400),
            ("2-12", 216_000),
            ("1-0:30", 88_200),
            ("1-02:03:04", 93_784),
            ("90 min", 5400),
            ("1.5h", 5400),
            ("2 days", 172_800),
        ] {
            assert_eq!(Walltime::parse(text), Some(Walltime(seconds)), "{text}");
        }
        for text in ["", "0", "-1", "1:2:3:4", "one hour", "1-", "99999999999999999999", "5 parsecs", "0 s"] {
            assert_eq!(Walltime::parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_slurm_reads_them() {
        assert_eq!(Walltime(93_784).to_string(), "1-02:03:04");
        assert_eq!(Walltime(600).to_string(), "00:10:00");
    }
}
