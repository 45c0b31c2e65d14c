//! The needs of a job other than cores, in the form in which people write them: accelerators, licences, and
//! rates.

use std::fmt;

/// Accelerators of each node: `2`, or `a100:2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpus {
    /// The kind, by its name in the batch system.
    pub kind: Option<String>,
    pub count: u32,
}

impl Gpus {
    /// Parses `2` or `a100:2`.
    pub fn parse(text: &str) -> Option<Gpus> {
        let (kind, count) = match text.trim().rsplit_once(':') {
            Some((kind, count)) => (Some(kind.trim()), count),
            None => (None, text),
        };
        let count = count.trim().parse().ok().filter(|count| *count > 0)?;
        match kind {
            Some(kind) if !is_name(kind) => None,
            kind => Some(Gpus { kind: kind.map(str::to_owned), count }),
        }
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(f, "{kind}:{}", self.count),
            None => write!(f, "{}", self.count),
        }
    }
}

/// Licences of one kind that a job needs: `solver`, or `solver:4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    /// The name in the batch system.
    pub name: String,
    pub count: u32,
}

impl Licence {
    /// Parses `solver` or `solver:4`. The name may include the server, `solver@server:4`.
    pub fn parse(text: &str) -> Option<Licence> {
        let (name, count) = match text.trim().rsplit_once(':') {
            Some((name, count)) => (name.trim(), count.trim().parse().ok().filter(|count| *count > 0)?),
            None => (text.trim(), 1),
        };
        is_name(name).then(|| Licence { name: name.to_owned(), count })
    }
}

impl fmt::Display for Licence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.count)
    }
}

/// Returns true if a batch system reads the text as one word that is not an option.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// Parses a rate, in bytes per second, with a unit: `500k`, `10M`, `1.5 GB/s`. Units are powers of 1000.
pub fn parse_rate(text: &str) -> Option<u64> {
    let bare = text.trim();
    let bare = bare.strip_suffix("/s").unwrap_or(bare).trim_end();
    let bare = bare.strip_suffix('B').unwrap_or(bare).trim_end();
    let units = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
    let found = units.iter().find_map(|(name, unit)| bare.strip_suffix(name).map(|number| (number, *unit)));
    let (number, unit) = found.unwrap_or((bare, 1.0));
    let rate = number.trim().parse::<f64>().ok()? * unit;
    (1.0..=1e15).contains(&rate).then_some(rate as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_and_licences_are_read_and_written_alike() {
        for (text, written) in [("2", "2"), ("a100:2", "a100:2"), (" 4 ", "4")] {
            assert_eq!(Gpus::parse(text).map(|gpus| gpus.to_string()).as_deref(), Some(written));
        }
        for text in ["", "0", "a100", "a100:0", ":2", "-x:2", "a b:2", "2.5"] {
            assert_eq!(Gpus::parse(text), None, "{text}");
        }
        for (text, written) in [("solver", "solver:1"), ("solver@host:4", "solver@host:4")] {
            assert_eq!(Licence::parse(text).map(|one| one.to_string()).as_deref(), Some(written));
        }
        for text in ["", "a b", "solver:0", "solver:x", "-a", "a,b"] {
            assert_eq!(Licence::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_may_have_a_unit() {
        for (text, rate) in [("500", 500), ("1.5M", 1_500_000), ("10 MB/s", 10_000_000), ("2G", 2_000_000_000)]
        {
            assert_eq!(parse_rate(text), Some(rate), "{text}");
        }
        for text in ["", "0", "fast", "-1k", "inf", "10 Mbit/s"] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }
}
