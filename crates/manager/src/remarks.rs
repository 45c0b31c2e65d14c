//! Remarks at the end of a successful run: messages that were not received, and settings that no instance
//! asked for.

use crate::conduits::without_indices;
use crate::names::Names;
use crate::record::{UnreceivedRecord, UnusedSettingRecord};
use ligament_model::{nearest, DeclaredScales, Reference, Settings};
use ligament_wire::RankId;
use std::collections::{BTreeMap, BTreeSet};

/// Name that an endpoint reports if the endpoint has read all settings.
const ALL_SETTINGS: &str = "*";

/// The settings that a finished endpoint has asked for, and the channels that it has used.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndpointUsage {
    pub asked: BTreeSet<String>,
    /// Channels on which the endpoint sent, each with its number of messages. The next field has the same
    /// for received messages.
    pub sent: Vec<(u32, u64)>,
    pub received: Vec<(u32, u64)>,
}

/// Returns the name of a setting without its first `parts` parts, which name a component or an instance.
fn without(setting: &Reference, parts: usize) -> Option<String> {
    Some(Reference::from_parts(setting.parts().get(parts..)?.to_vec())?.to_string())
}

/// Returns the conduits with messages that were sent and not received, as far as both ends have reported
/// counts. Only channels to receivers for which `counts` returns true are looked at.
pub(crate) fn unreceived(
    used: &[&EndpointUsage],
    names: &impl Names,
    counts: impl Fn(RankId) -> bool,
) -> Vec<UnreceivedRecord> {
    let received: BTreeMap<u32, u64> = used.iter().flat_map(|one| one.received.iter().copied()).collect();
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for &(channel, sent) in used.iter().flat_map(|one| &one.sent) {
        let left = received.get(&channel).map_or(0, |received| sent.saturating_sub(*received));
        if left > 0 {
            if let Some(((_, from), (_, to))) = names.ends(channel).filter(|(_, (to, _))| counts(*to)) {
                *found.entry((without_indices(&from), without_indices(&to))).or_default() += left;
            }
        }
    }
    found.into_iter().map(|((from, to), messages)| UnreceivedRecord { from, to, messages }).collect()
}

/// Returns the settings that no instance has asked for. For example, an instance `macro[3]` that asks for `D`
/// has asked for the settings `D`, `macro.D` and `macro[3].D`. `asked` has, for each instance, the names that
/// the instance's process asked for. `given` names the settings that the user gave for this run.
pub(crate) fn unasked(
    settings: &Settings,
    given: &[String],
    asked: &[(&Reference, &BTreeSet<String>)],
) -> Vec<UnusedSettingRecord> {
    let names: BTreeSet<&str> = asked.iter().flat_map(|(_, names)| names.iter().map(String::as_str)).collect();
    let begins = |instance: &Reference, setting: &Reference, parts: usize| {
        instance.parts().get(..parts) == setting.parts().get(..parts)
    };
    let mut found = Vec::new();
    for (setting, _) in settings.iter() {
        // `parts` is the number of leading parts that name an owner: no part, the parts of a component's
        // name, or the parts of an instance's name.
        let mut wanted = false;
        let mut own = 0;
        for parts in 0..setting.len() {
            let Some(name) = without(setting, parts) else { continue };
            let known = names.contains(name.as_str()) || names.contains(ALL_SETTINGS);
            for (instance, names) in asked.iter().filter(|(instance, _)| begins(instance, setting, parts)) {
                own = own.max(parts.min(instance.len()));
                wanted |= names.contains(&name) || names.contains(ALL_SETTINGS);
                if wanted || !known {
                    break;
                }
            }
        }
        let Some(name) = without(setting, own) else { continue };
        // The setting is not reported if it belongs to no instance of this run, if it is a setting of
        // MUSCLE 3 itself, or if it is one of the scales, which need not be read.
        let is_other = (own == 0 && setting.len() > 1) || name.starts_with("muscle_") || is_scale(&name);
        if wanted || is_other {
            continue;
        }
        let written = setting.to_string();
        let meant =
            nearest(&name, names.iter().copied().filter(|known| *known != ALL_SETTINGS && *known != name));
        let before = written.strip_suffix(&name).unwrap_or_default();
        found.push(UnusedSettingRecord {
            given: given.contains(&written),
            meant: meant.map(|meant| format!("{before}{meant}")),
            name: written,
        });
    }
    found
}

/// Returns true if this setting of a component is made from the component's scales in the model.
fn is_scale(name: &str) -> bool {
    let scale = name.split_once('.').filter(|(section, _)| *section == DeclaredScales::SETTINGS);
    scale.is_some_and(|(_, key)| DeclaredScales::KEYS.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::SettingValue;

    fn found(settings: &[&str], asked: &[(&str, &[&str])]) -> Vec<(String, Option<String>)> {
        let mut all = Settings::new();
        for name in settings {
            all.set(Reference::new(name).unwrap(), SettingValue::Int(1));
        }
        let instances: Vec<(Reference, BTreeSet<String>)> = asked
            .iter()
            .map(|(one, names)| {
                (Reference::new(one).unwrap(), names.iter().map(|name| (*name).to_owned()).collect())
            })
            .collect();
        let instances: Vec<_> = instances.iter().map(|(one, names)| (one, names)).collect();
        unasked(&all, &[], &instances).into_iter().map(|one| (one.name, one.meant)).collect()
    }

    #[test]
    fn a_setting_that_nobody_asks_for_is_found_with_the_one_that_was_meant() {
        let unasked = found(&["tmax", "t_max", "dx"], &[("macro", &["t_max"]), ("micro", &[])]);
        assert_eq!(unasked, [("tmax".to_owned(), Some("t_max".to_owned())), ("dx".to_owned(), None)]);
    }

    #[test]
    fn a_setting_for_one_component_is_asked_for_by_that_one_only() {
        let asked: &[(&str, &[&str])] = &[("macro", &["dt"]), ("micro[0]", &["dx"]), ("micro[1]", &["dx"])];
        assert_eq!(found(&["macro.dt", "micro.dx", "micro[1].dx"], asked), []);
        let two = found(&["micro.dt", "macro.dtt"], asked);
        assert_eq!(two[0].0, "micro.dt");
        assert_eq!(two[1], ("macro.dtt".to_owned(), Some("macro.dt".to_owned())));
    }

    #[test]
    fn nothing_is_said_of_other_components_of_muscle_and_where_all_are_looked_through() {
        assert_eq!(found(&["other.dt", "muscle_remote_log_level"], &[("macro", &[])]), []);
        assert_eq!(found(&["whatever", "macro.x"], &[("macro", &["*"])]), []);
    }

    #[test]
    fn scales_are_there_for_whoever_wants_them() {
        assert_eq!(found(&["macro.scale.time_step", "macro.scale.extent"], &[("macro", &["dt"])]), []);
        let other = found(&["macro.scale.colour"], &[("macro", &["dt"])]);
        assert_eq!(other, [("macro.scale.colour".to_owned(), None)]);
    }

    #[test]
    fn a_port_is_named_without_its_copies() {
        assert_eq!(without_indices("micro[3].init[2]"), "micro.init");
        assert_eq!(without_indices("a.b[1][2].c"), "a.b.c");
    }
}
