//! The settings that can be steered. The model, or the code of a component, declares each of these settings
//! with a range, a unit, and the moment at which the code reads the setting.

use ligament_agent::settings_body;
use ligament_catalogue::{fault, Fault};
use ligament_model::{
    parse_assignment, Reference, ReferencePart, ResolvedModel, SettingType, SettingValue, Settings,
};
use ligament_wire::control;
use ligament_wire::steering::Matter;
use ligament_wire::{RankId, Ranks};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum length of the text of an assignment, in bytes.
const MAX_ASSIGNMENT_BYTES: usize = 4096;
/// Maximum number of settings in one change.
const MAX_ASSIGNMENTS: usize = 64;
/// Maximum number of settings that the codes of a run may declare.
const MAX_DECLARED_SETTINGS: usize = 4096;

/// The moment at which a code reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadingMoment {
    /// The code reads the setting in each step.
    Step,
    /// The code reads the setting once per pass of the reuse loop.
    Restart,
}

/// A setting that can be steered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteerableRecord {
    /// Full name of the setting, without indices, such as `macro.D`.
    pub name: String,
    /// Type of the setting's values, as in yMMSL.
    #[serde(rename = "type")]
    pub kind: SettingType,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<f64>,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub unit: String,
    pub apply: ReadingMoment,
    /// Present value, or the value that was agreed for a later time. `None` if the setting has no value, so
    /// that the code uses its default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
}

/// A change of the value of one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingAssignment {
    pub name: String,
    /// Previous value. `None` if the setting had no value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    pub to: String,
}

#[derive(Debug, Clone)]
struct DeclaredSetting {
    name: Reference,
    /// Type of the values. `None` if the model has no value for the setting, and the code has not declared
    /// the type.
    kind: Option<SettingType>,
    min: Option<f64>,
    max: Option<f64>,
    unit: String,
    restart: bool,
}

/// A change of settings that has been checked.
#[derive(Debug)]
pub struct CheckedChange {
    pub matter: Matter,
    /// Ranks concerned.
    pub ranks: Vec<RankId>,
    pub assignments: Vec<SettingAssignment>,
}

/// An assignment with its setting's declaration.
#[derive(Debug)]
struct ParsedAssignment<'a> {
    name: Reference,
    value: SettingValue,
    declared: &'a DeclaredSetting,
}

/// All settings of a run that can be steered, and their values.
#[derive(Debug, Default)]
pub struct SteerableSettings {
    declared: Vec<DeclaredSetting>,
    /// Present values, including the values of agreed changes.
    settings: Settings,
    /// Values at the beginning of the run.
    first: Settings,
    /// Agreed values of each setting, each with the model time from which on it holds. The earliest time is
    /// first.
    agreed: HashMap<Reference, Vec<(f64, SettingValue)>>,
    /// Name of the instance of each rank.
    instances: Vec<Reference>,
    /// For each rank, true if the rank belongs to a component that comes with Ligament. Such a component
    /// reads only its own settings.
    shipped: Vec<bool>,
}

fn without_indices(name: &Reference) -> Reference {
    let parts = name.parts().iter().filter(|part| matches!(part, ReferencePart::Name(_))).cloned().collect();
    Reference::from_parts(parts).unwrap_or_else(Reference::empty)
}

/// Returns a setting's name, and the shorter names whose values also apply to the setting. For example, a
/// value of `D` also applies to `macro.D`.
fn names(name: &Reference) -> impl Iterator<Item = Reference> {
    let plain = without_indices(name);
    let shorter: Vec<_> =
        (0..plain.len()).map(|from| Reference::from_parts(plain.parts()[from..].to_vec())).collect();
    [Some(name.clone())].into_iter().chain(shorter).flatten()
}

/// Returns all numbers in a value.
fn numbers(value: &SettingValue) -> Vec<f64> {
    match value {
        SettingValue::Int(i) => vec![*i as f64],
        SettingValue::Float(x) => vec![*x],
        SettingValue::IntList(list) => list.iter().map(|&i| i as f64).collect(),
        SettingValue::FloatList(list) => list.clone(),
        SettingValue::FloatListList(rows) => rows.iter().flatten().copied().collect(),
        SettingValue::Str(_) | SettingValue::Bool(_) => Vec::new(),
    }
}

/// Returns the beginning of a text that comes from outside, without control characters.
fn shown(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    let clean: String =
        text.chars().take(MAX_SHOWN_CHARS).map(|c| if c.is_control() { '?' } else { c }).collect();
    if clean.len() < text.len() {
        return format!("{clean}… ({} bytes)", text.len());
    }
    clean
}

impl SteerableSettings {
    /// Returns the settings that the model declares as steerable.
    pub fn of(model: &ResolvedModel) -> SteerableSettings {
        let ranks = Ranks::new(model.instances.iter().map(|instance| instance.ranks.unwrap_or(1)));
        let instances =
            ranks.all().map(|rank| model.instances[ranks.instance(rank).index()].name.clone()).collect();
        let is_shipped = |rank| {
            let program = model.program(ranks.instance(rank).number());
            program.is_some_and(|program| program.shipped().is_some())
        };
        let shipped = ranks.all().map(is_shipped).collect();
        let mut all = SteerableSettings {
            settings: model.settings.clone(),
            first: model.settings.clone(),
            instances,
            shipped,
            ..SteerableSettings::default()
        };
        for (name, one) in &model.ligament.steerable {
            let kind = all.kind(name);
            all.declared.push(DeclaredSetting {
                name: name.clone(),
                kind,
                min: one.min,
                max: one.max,
                unit: one.unit.clone(),
                restart: one.restart,
            });
        }
        all
    }

    /// Takes the declaration of a setting by the code of an instance.
    ///
    /// # Errors
    /// The setting has no valid name, or too many settings are declared already.
    pub fn declare(&mut self, rank: RankId, one: &control::SteerableSetting) -> Result<(), Fault> {
        let bad = |why: String| {
            fault!(NOT_STEERABLE, "the setting \"{}\" cannot be steered: {why}", shown(&one.name))
        };
        if one.name.len() > MAX_ASSIGNMENT_BYTES || one.unit.len() > MAX_ASSIGNMENT_BYTES {
            return Err(bad(format!("its name or its unit has more than {MAX_ASSIGNMENT_BYTES} bytes")));
        }
        let name = Reference::new(&one.name).map_err(|error| bad(error.to_string()))?;
        let instance = self.instances.get(rank.index()).cloned().unwrap_or_else(Reference::empty);
        let full = without_indices(&instance.join(&name));
        if self.declared.iter().any(|known| known.name == full) {
            return Ok(());
        }
        if self.declared.len() >= MAX_DECLARED_SETTINGS {
            return Err(bad(format!("there are {MAX_DECLARED_SETTINGS} already")));
        }
        let of_value = || self.settings.get(&instance, &name).map(|(_, value)| value.setting_type());
        let kind = one.kind.as_deref().and_then(SettingType::from_name).or_else(of_value);
        let (min, max) = (one.min.map(|min| min.0), one.max.map(|max| max.0));
        self.declared.push(DeclaredSetting {
            name: full,
            kind,
            min,
            max,
            unit: one.unit.clone(),
            restart: one.restart,
        });
        Ok(())
    }

    /// Returns the present value of a setting, found under the setting's own name or a shorter name.
    fn value(&self, name: &Reference) -> Option<&SettingValue> {
        names(name).find_map(|name| self.settings.exact(&name))
    }

    /// Returns the value of a setting at a model time.
    fn value_at(&self, name: &Reference, at: f64) -> Option<&SettingValue> {
        let by_then = |name: &Reference| {
            let changes = self.agreed.get(name)?.iter().rev();
            changes.map(|(from, value)| (*from, value)).find(|&(from, _)| from <= at).map(|(_, value)| value)
        };
        names(name).find_map(|name| by_then(&name).or_else(|| self.first.exact(&name)))
    }

    fn kind(&self, name: &Reference) -> Option<SettingType> {
        self.value(name).map(SettingValue::setting_type)
    }

    /// Returns the records of all settings that can be steered.
    pub fn list(&self) -> Vec<SteerableRecord> {
        let one = |declared: &DeclaredSetting| SteerableRecord {
            name: declared.name.to_string(),
            kind: declared.kind.unwrap_or(SettingType::Float),
            min: declared.min,
            max: declared.max,
            unit: declared.unit.clone(),
            apply: if declared.restart { ReadingMoment::Restart } else { ReadingMoment::Step },
            value: self.value(&declared.name).map(SettingValue::to_string),
        };
        self.declared.iter().map(one).collect()
    }

    /// Returns the ranks that a setting concerns. If the setting's name begins with the name of an instance
    /// or a component, these are the ranks of the matching instances. If not, these are all ranks except
    /// the ranks of components that come with Ligament, which never ask for such a setting.
    pub fn concerned(&self, name: &Reference) -> Vec<RankId> {
        let own = self.named(name);
        if !own.is_empty() {
            return own;
        }
        let asks = |rank: &RankId| !self.shipped.get(rank.index()).is_some_and(|&shipped| shipped);
        RankId::first(self.instances.len()).filter(asks).collect()
    }

    /// Returns the ranks of the instances with whose name, or component's name, the setting's name begins.
    fn named(&self, name: &Reference) -> Vec<RankId> {
        let is_of = |instance: &Reference| {
            (1..=instance.len()).any(|length| {
                let own = &instance.parts()[..length];
                // The next part must be the name of the setting. So `macro[3].D` does not belong to
                // `macro[5]`, although both begin with `macro`.
                name.parts().starts_with(own)
                    && matches!(name.parts().get(length), Some(ReferencePart::Name(_)))
            })
        };
        RankId::first(self.instances.len()).filter(|rank| is_of(&self.instances[rank.index()])).collect()
    }

    /// Returns all ranks of the run.
    pub fn all(&self) -> Vec<RankId> {
        RankId::first(self.instances.len()).collect()
    }

    fn read(&self, text: &str) -> Result<ParsedAssignment<'_>, Fault> {
        let bad = |what: String| fault!(BAD_STEERING, "{}: {what}", shown(text));
        if text.len() > MAX_ASSIGNMENT_BYTES {
            return Err(bad(format!(
                "this is {} bytes long, where {MAX_ASSIGNMENT_BYTES} are the most",
                text.len()
            )));
        }
        let (name, value) = parse_assignment(text).map_err(|error| bad(error.to_string()))?;
        let plain = without_indices(&name);
        // A setting that is declared for several instances can be steered for each single instance. For
        // example, a declaration of `macro.D` also allows `macro[3].D`.
        let shorter = (0..plain.len()).filter_map(|from| Reference::from_parts(plain.parts()[from..].to_vec()));
        let mut known = shorter.filter_map(|one| self.declared.iter().find(|known| known.name == one));
        let whose = !self.named(&name).is_empty();
        let Some(declared) = known.next().filter(|known| whose || known.name == plain) else {
            let names: Vec<String> = self.declared.iter().map(|known| known.name.to_string()).collect();
            return Err(match ligament_model::nearest(&plain.to_string(), names.iter().map(String::as_str)) {
                Some(meant) => fault!(NOT_STEERABLE, "\"{name}\" cannot be steered; did you mean \"{meant}\"?"),
                None if names.is_empty() => fault!(
                    NOT_STEERABLE,
                    "\"{name}\" cannot be steered: nothing in this model can; declare it under ligament: \
                    steerable:"
                ),
                None => fault!(
                    NOT_STEERABLE,
                    "\"{name}\" cannot be steered; {} can",
                    crate::record::list_some(&names, 8)
                ),
            });
        };
        // If nobody has said the type of the setting, that of the new value is accepted.
        let kind = declared.kind.unwrap_or_else(|| value.setting_type());
        let Some(fit) = value.as_type(kind) else {
            let (is, wanted) = (value.setting_type().name(), kind.name());
            return Err(bad(format!("it is of type {wanted}, and this is of type {is}")));
        };
        for number in numbers(&fit) {
            let unit = &declared.unit;
            let range = match (declared.min, declared.max) {
                (Some(min), _) if number < min => Some(format!("{min} {unit} is the least")),
                (_, Some(max)) if number > max => Some(format!("{max} {unit} is the most")),
                _ if !number.is_finite() => Some("it must be finite".to_owned()),
                _ => None,
            };
            if let Some(range) = range {
                return Err(bad(format!("{number} is out of range; {}", range.replace("  ", " "))));
            }
        }
        Ok(ParsedAssignment { name, value: fit, declared })
    }

    /// Parses assignments of the form `name=value`, and checks that each setting can be steered to its
    /// value.
    ///
    /// # Errors
    /// A setting cannot be steered, or does not allow the value.
    pub fn check(&self, texts: &[String]) -> Result<CheckedChange, Fault> {
        if texts.is_empty() || texts.len() > MAX_ASSIGNMENTS {
            return Err(fault!(
                BAD_STEERING,
                "one change has 1 to {MAX_ASSIGNMENTS} settings, and this has {}",
                texts.len()
            ));
        }
        let mut settings = Settings::new();
        let mut ranks: Vec<RankId> = Vec::new();
        let mut assignments = Vec::new();
        let mut restart = None;
        for text in texts {
            let ParsedAssignment { name, value, declared } = self.read(text)?;
            if settings.exact(&name).is_some() {
                return Err(fault!(BAD_STEERING, "{name} is given twice"));
            }
            if *restart.get_or_insert(declared.restart) != declared.restart {
                return Err(fault!(
                    BAD_STEERING,
                    "{name} is read at another moment than the settings before it (apply: step or restart); \
                    change them one after the other"
                ));
            }
            ranks.extend(self.concerned(&name));
            let from = self.value(&name).map(SettingValue::to_string);
            assignments.push(SettingAssignment { name: name.to_string(), from, to: value.to_string() });
            settings.set(name, value);
        }
        ranks.sort_unstable();
        ranks.dedup();
        let matter = Matter::Set { settings: settings_body(&settings)?, restart: restart.unwrap_or_default() };
        Ok(CheckedChange { matter, ranks, assignments })
    }

    /// Updates the previous value of each assignment to the value at model time `at`. Other changes may
    /// have been agreed on since the request.
    pub fn renew(&self, changes: &mut [SettingAssignment], at: f64) {
        for change in changes {
            if let Ok(name) = Reference::new(&change.name) {
                change.from = self.value_at(&name, at).map(SettingValue::to_string);
            }
        }
    }

    /// Returns the change that consists of assignments made in an earlier run, and the ranks concerned.
    ///
    /// # Errors
    /// An assignment is invalid.
    pub fn restored(
        &self,
        changes: &[SettingAssignment],
        restart: bool,
    ) -> Result<(Matter, Vec<RankId>), Fault> {
        let mut settings = Settings::new();
        let mut ranks: Vec<RankId> = Vec::new();
        for change in changes {
            let (name, value) = parse_assignment(&format!("{}={}", change.name, change.to))
                .map_err(|error| fault!(BAD_STEERING, "{}: {error}", shown(&change.name)))?;
            ranks.extend(self.concerned(&name));
            settings.set(name, value);
        }
        ranks.sort_unstable();
        ranks.dedup();
        Ok((Matter::Set { settings: settings_body(&settings)?, restart }, ranks))
    }

    /// Stores assignments that were agreed on for model time `at`. Assignments for later times remain
    /// valid.
    pub fn record_agreed(&mut self, changes: &[SettingAssignment], at: f64) {
        for change in changes {
            if let Ok((name, value)) = parse_assignment(&format!("{}={}", change.name, change.to)) {
                let agreed = self.agreed.entry(name.clone()).or_default();
                let place = agreed.partition_point(|&(from, _)| from <= at);
                agreed.insert(place, (at, value));
                self.settings.set(name, agreed[agreed.len() - 1].1.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_nobody_in_particular_does_not_concern_components_that_come_with_ligament() {
        let names = ["macro", "source"].map(|name| Reference::new(name).unwrap()).to_vec();
        let all =
            SteerableSettings { instances: names, shipped: vec![false, true], ..SteerableSettings::default() };
        let concerned = |name: &str| all.concerned(&Reference::new(name).unwrap());
        assert_eq!(concerned("D"), [RankId::new(0)]);
        assert_eq!(concerned("source.path"), [RankId::new(1)]);
    }

    #[test]
    fn the_type_that_a_code_declares_counts_more_than_that_of_the_model_s_value() {
        let mut all = SteerableSettings {
            instances: vec![Reference::new("wave").unwrap()],
            ..SteerableSettings::default()
        };
        all.settings.set(Reference::new("wave.gain").unwrap(), SettingValue::Int(1));
        all.settings.set(Reference::new("wave.old").unwrap(), SettingValue::Int(1));
        for (name, kind) in [("gain", Some("float")), ("count", Some("int")), ("old", None), ("new", None)] {
            let (name, kind) = (name.to_owned(), kind.map(str::to_owned));
            let unit = String::new();
            let one = control::SteerableSetting { name, min: None, max: None, unit, restart: false, kind };
            all.declare(RankId::new(0), &one).unwrap();
        }
        for (text, fits) in [
            ("wave.gain=1.5", true),
            ("wave.gain=2", true),
            ("wave.gain=high", false),
            ("wave.count=2", true),
            ("wave.count=2.5", false),
            ("wave.old=1.5", false),
            ("wave.new=true", true),
        ] {
            assert_eq!(all.check(&[text.to_owned()]).is_ok(), fits, "{text}");
        }
        let kinds: Vec<SettingType> = all.list().into_iter().map(|one| one.kind).collect();
        assert_eq!(kinds[..3], [SettingType::Float, SettingType::Int, SettingType::Int]);
    }

    #[test]
    fn a_setting_is_what_the_change_for_the_latest_model_time_makes_it() {
        let mut all = SteerableSettings::default();
        let name = Reference::new("D").unwrap();
        for (to, at, last) in
            [("1.0", 100.0, 1.0), ("2.0", 50.0, 1.0), ("3.0", 100.0, 3.0), ("4.0", 101.0, 4.0)]
        {
            all.record_agreed(&[SettingAssignment { name: "D".into(), from: None, to: to.into() }], at);
            assert_eq!(all.value(&name), Some(&SettingValue::Float(last)));
        }
        // The previous value is the value at that time.
        for (at, from) in [(49.0, None), (60.0, Some("2.0")), (100.5, Some("3.0"))] {
            let mut change = [SettingAssignment { name: "D".into(), from: None, to: "5.0".into() }];
            all.renew(&mut change, at);
            assert_eq!(change[0].from.as_deref(), from);
        }
    }
}
