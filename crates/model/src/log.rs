//! The settings by which MUSCLE 3 chooses what instances log: to the run's log, and in their own output.

use crate::identity::Reference;
use crate::settings::{SettingValue, Settings};

/// The least level of what goes to the run's log; INFO without it.
pub const REMOTE_LOG_LEVEL: &str = "muscle_remote_log_level";
/// The least level of what an instance writes into its own output, too; nothing without it.
pub const LOCAL_LOG_LEVEL: &str = "muscle_local_log_level";

/// The level above all that is logged.
pub const LOG_NOTHING: u8 = 5;

/// The levels that a setting can name, and from which level on they let lines pass: 0 for debugging to 4 for
/// what is critical.
const LEVELS: &[(&str, u8)] = &[
    ("DEBUG", 0),
    ("INFO", 1),
    ("WARNING", 2),
    ("ERROR", 3),
    ("CRITICAL", 4),
    // MUSCLE 3's manual and its code differ in this name.
    ("DISABLED", LOG_NOTHING),
    ("DISABLE", LOG_NOTHING),
];

/// The names of the levels, for advice.
pub const LOG_LEVELS: &str = "DEBUG, INFO, WARNING, ERROR, CRITICAL or DISABLED";

/// The level that the value of such a setting means; none if it is no level. Upper and lower case are the same.
pub fn read_log_level(setting: &str, value: &SettingValue) -> Option<u8> {
    let SettingValue::Str(text) = value else { return None };
    if setting == LOCAL_LOG_LEVEL && text.eq_ignore_ascii_case("LOCAL") {
        return Some(0);
    }
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| *level)
}

/// The level that settings say for an instance; none if they say none.
pub fn log_level(settings: &Settings, instance: &Reference, setting: &str) -> Option<u8> {
    let name = Reference::new(setting).ok()?;
    read_log_level(setting, settings.get(instance, &name)?.1)
}
