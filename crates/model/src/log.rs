//! The settings by which MUSCLE 3 chooses the lines that instances write to the run's log and to their own
//! output.

use crate::identity::Reference;
use crate::settings::{SettingValue, Settings};

/// Name of the setting with the lowest level of lines that go to the run's log. The default is INFO.
pub const REMOTE_LOG_LEVEL: &str = "muscle_remote_log_level";
/// Name of the setting with the lowest level of lines that an instance also writes to its own output. By
/// default there are none.
pub const LOCAL_LOG_LEVEL: &str = "muscle_local_log_level";

/// A level above that of all lines.
pub const LOG_NOTHING: u8 = 5;

/// The levels that a setting can name, with the lowest level of lines that they let pass: from 0 for
/// debugging to 4 for critical.
const LEVELS: &[(&str, u8)] = &[
    ("DEBUG", 0),
    ("INFO", 1),
    ("WARNING", 2),
    ("ERROR", 3),
    ("CRITICAL", 4),
    // MUSCLE 3's manual and its code have different names for this level.
    ("DISABLED", LOG_NOTHING),
    ("DISABLE", LOG_NOTHING),
];

/// The names of the levels, for advice.
pub const LOG_LEVELS: &str = "DEBUG, INFO, WARNING, ERROR, CRITICAL or DISABLED";

/// Returns the level that the value of such a setting names, or `None` if it names no level. Upper and
/// lower case are the same.
pub fn read_log_level(setting: &str, value: &SettingValue) -> Option<u8> {
    let SettingValue::Str(text) = value else { return None };
    if setting == LOCAL_LOG_LEVEL && text.eq_ignore_ascii_case("LOCAL") {
        return Some(0);
    }
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| *level)
}

/// Returns the level that the settings give for an instance, or `None` if they give none.
pub fn log_level(settings: &Settings, instance: &Reference, setting: &str) -> Option<u8> {
    let name = Reference::new(setting).ok()?;
    read_log_level(setting, settings.get(instance, &name)?.1)
}
