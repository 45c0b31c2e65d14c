//! Points in time in the form that logs and directory names have, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time, in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime(pub u64);

impl UtcTime {
    /// Returns the present time.
    pub fn now() -> UtcTime {
        UtcTime(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64))
    }

    /// Returns year, month, day, hour, minute, second and millisecond.
    fn fields(self) -> [u64; 7] {
        let (days, ms) = (self.0 / 86_400_000, self.0 % 86_400_000);
        // Howard Hinnant, "chrono-compatible low-level date algorithms": eras of 400 years from 1 March 0000.
        let z = days + 719_468;
        let (era, doe) = (z / 146_097, z % 146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let year = yoe + era * 400 + u64::from(month <= 2);
        [year, month, day, ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000]
    }

    /// Returns the time in the form of RFC 3339: `2026-11-21T03:04:05.123Z`.
    pub fn rfc3339(self) -> String {
        let [y, mo, d, h, mi, s, ms] = self.fields();
        format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{ms:03}Z")
    }

    /// Parses a text that `rfc3339` has made.
    pub fn of_rfc3339(text: &str) -> Option<UtcTime> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        // The inverse of the computation in `fields`.
        let y = year.checked_sub(u64::from(month <= 2))?;
        let (era, yoe) = (y / 400, y % 400);
        let doy = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
        let days = (era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy).checked_sub(719_468)?;
        let seconds = (days * 24 + number(11, 13)?) * 3600 + number(14, 16)? * 60 + number(17, 19)?;
        Some(UtcTime(seconds * 1000 + number(20, 23)?))
    }

    /// Returns the time in the form that the name of a directory has: `20261121-030405`.
    pub fn compact(self) -> String {
        let [y, mo, d, h, mi, s, _] = self.fields();
        format!("{y:04}{mo:02}{d:02}-{h:02}{mi:02}{s:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::UtcTime;

    #[test]
    fn dates_are_right_around_leap_days_and_turns_of_years() {
        for (seconds, text) in [
            (0u64, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(UtcTime(seconds * 1000).rfc3339(), text);
            assert_eq!(UtcTime::of_rfc3339(text), Some(UtcTime(seconds * 1000)));
        }
        assert_eq!(UtcTime(1_767_225_599_000).compact(), "20251231-235959");
    }
}
