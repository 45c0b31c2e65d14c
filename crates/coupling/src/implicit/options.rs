//! The settings of `ligament.mappers.implicit`.

use super::acceleration::Method;
use super::convergence::{Measure, MeasureKind};
use super::least_squares::Filter;
use super::newton::{NewtonOptions, Scaling};
use super::scheme::Windows;
use crate::settings::{number, text, whole_number, wrong};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Error, Instance};
use ligament_wire::times::ShownTime;

/// Largest number of iterations of a window, unless the model says another.
const MAX_ITERATIONS: i64 = 100;
/// Share of the residual that is added, unless the model says another: of quasi-Newton methods, and of others.
const NEWTON_RELAXATION: f64 = 0.1;
const RELAXATION: f64 = 0.5;
/// Limits of the two filters, unless the model says another.
const QR1_LIMIT: f64 = 1e-6;
const QR2_LIMIT: f64 = 1e-2;
const MAX_COLUMNS: i64 = 100;
const REUSED_WINDOWS: i64 = 10;
const RESTART_WINDOWS: i64 = 8;

/// The settings of an instance, checked.
pub(super) struct CouplingOptions {
    pub windows: Windows,
    /// False if each window is computed once.
    pub implicit: bool,
    /// True if the first component computes before the others.
    pub serial: bool,
    /// For each of the data, in their order: true if it comes from the component that computes first.
    pub from_first: Vec<bool>,
    /// For each of the data: true if its first axis counts samples of a window.
    pub sampled: Vec<bool>,
    /// For each of the data: true if it determines the coefficients of the acceleration.
    pub leading: Vec<bool>,
    pub measures: Vec<Measure>,
    pub min_iterations: u64,
    pub max_iterations: u64,
    /// True if a window without convergence ends the run.
    pub ends_without: bool,
    pub method: Method,
}

impl CouplingOptions {
    /// Reads the settings of an instance with these data.
    pub fn new(instance: &Instance, data: &[String]) -> Result<CouplingOptions, Error> {
        let scheme = text(instance, "scheme")?;
        let (order, kind) =
            scheme.as_deref().unwrap_or("parallel-implicit").split_once('-').unwrap_or_default();
        let (serial, implicit) = (order == "serial", kind == "implicit");
        refuse_unused(instance, implicit)?;
        let from_first = named(instance, "first", data)?;
        checked_order(&from_first, serial)?;
        let accelerated: Vec<bool> =
            from_first.as_ref().map_or(vec![true; data.len()], |first| first.iter().map(|it| !it).collect());
        let leading = match named(instance, "accelerated_by", data)? {
            Some(leading) => leading,
            None => accelerated.clone(),
        };
        if let Some(at) = (0..data.len()).find(|&at| leading[at] && !accelerated[at]) {
            return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"accelerated_by\" names \"{}\", which \"first\" names too; data of the component that \
                 computes first are passed on as they are in a serial scheme",
                data[at]
            )));
        }
        let measures = measures(instance, data)?;
        if implicit && measures.is_empty() {
            return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "an implicit scheme needs a limit for the change from one iteration to the next; set \
                 \"relative_limit\", \"absolute_limit\", \"residual_relative_limit\" or \"limits\""
            )));
        }
        let min_iterations = count(instance, "min_iterations", 1, 1)?;
        let max_iterations = count(instance, "max_iterations", MAX_ITERATIONS, 1)?;
        if min_iterations > max_iterations {
            return Err(wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"min_iterations\" is {min_iterations}, and \"max_iterations\" {max_iterations}"
            )));
        }
        Ok(CouplingOptions {
            windows: windows(instance)?,
            implicit,
            serial,
            from_first: from_first.unwrap_or_else(|| vec![false; data.len()]),
            sampled: named(instance, "sampled", data)?.unwrap_or_else(|| vec![false; data.len()]),
            leading,
            measures,
            min_iterations,
            max_iterations,
            ends_without: text(instance, "no_convergence")?.as_deref() != Some("warn"),
            method: method(instance)?,
        })
    }
}

/// Refuses settings that would change nothing.
fn refuse_unused(instance: &Instance, implicit: bool) -> Result<(), Error> {
    let acceleration = text(instance, "acceleration")?.filter(|name| name != "none");
    let relaxation = number(instance, "relaxation")?.is_some();
    let counts = ["min_iterations", "max_iterations"].map(|name| Ok((name, whole_number(instance, name)?)));
    let count = counts.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let count = count.into_iter().find(|(_, value)| value.is_some()).map(|(name, _)| name);
    let words = [
        ("acceleration", acceleration.is_some()),
        ("relaxation", relaxation),
        ("accelerated_by", text(instance, "accelerated_by")?.is_some()),
        ("no_convergence", text(instance, "no_convergence")?.is_some()),
    ];
    let unused = words.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name).or(count);
    if let Some(name) = unused.filter(|_| !implicit) {
        return Err(wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"{name}\" is for implicit schemes; an explicit one computes each window once"
        )));
    }
    let is_plain = text(instance, "acceleration")?.as_deref() == Some("none");
    if is_plain && relaxation {
        return Err(wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"relaxation\" changes nothing with the acceleration \"none\"; take \"constant\""
        )));
    }
    Ok(())
}

/// Reads a number that is not negative and not NaN.
fn at_least_0(instance: &Instance, name: &str, default: f64) -> Result<f64, Error> {
    let value = number(instance, name)?.unwrap_or(default);
    if value >= 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(wrong(fault!(SHIPPED_SETTING_WRONG, "\"{name}\" is {value}; give a number that is not below 0")))
}

/// Reads a whole number that is at least `least`.
fn count(instance: &Instance, name: &str, default: i64, least: i64) -> Result<u64, Error> {
    let value = whole_number(instance, name)?.unwrap_or(default);
    if value >= least {
        return Ok(value as u64);
    }
    Err(wrong(fault!(SHIPPED_SETTING_WRONG, "\"{name}\" is {value}; give a whole number from {least} on")))
}

fn windows(instance: &Instance) -> Result<Windows, Error> {
    let of = |name: &str| Ok::<f64, Error>(number(instance, name)?.unwrap_or(0.0));
    let (begin, length, until) = (of("begin")?, of("window")?, of("until")?);
    Windows::new(begin, length, until).ok_or_else(|| {
        wrong(fault!(
            SHIPPED_SETTING_WRONG,
            "\"window\" is {length}, \"begin\" {} and \"until\" {}: a window is above 0 and not lost in the \
             digits of these times, and the end is after the beginning",
            ShownTime(begin),
            ShownTime(until)
        ))
    })
}

/// Reads names of data, with spaces or commas between them. Returns for each of the data whether it is named;
/// `None` if the setting is not set.
fn named(instance: &Instance, name: &str, data: &[String]) -> Result<Option<Vec<bool>>, Error> {
    let Some(text) = text(instance, name)? else { return Ok(None) };
    names(name, &text, data).map(Some).map_err(wrong)
}

fn names(setting: &str, text: &str, data: &[String]) -> Result<Vec<bool>, Fault> {
    let mut found = vec![false; data.len()];
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        found[place(setting, word, data)?] = true;
    }
    if found.contains(&true) {
        return Ok(found);
    }
    Err(fault!(SHIPPED_SETTING_WRONG, "\"{setting}\" names no data; there are {}", data.join(", ")))
}

fn place(setting: &str, word: &str, data: &[String]) -> Result<usize, Fault> {
    data.iter().position(|name| name == word).ok_or_else(|| {
        fault!(
            SHIPPED_SETTING_WRONG,
            "\"{setting}\" names \"{word}\", and there are {}: the ports without \"_in\" and \"_out\"",
            data.join(", ")
        )
    })
}

/// Checks that a serial scheme says who computes first, and that a parallel one does not.
fn checked_order(from_first: &Option<Vec<bool>>, serial: bool) -> Result<(), Error> {
    let why = match from_first {
        None if serial => "a serial scheme needs \"first\", the data of the component that computes first",
        Some(_) if !serial => "\"first\" is for serial schemes, and this one is parallel",
        Some(first) if !first.contains(&false) => {
            "\"first\" names all data; those of the component that computes second stay out"
        }
        _ => return Ok(()),
    };
    Err(wrong(fault!(SHIPPED_SETTING_WRONG, "{why}")))
}

const KINDS: [MeasureKind; 3] = [MeasureKind::Absolute, MeasureKind::Relative, MeasureKind::ResidualRelative];

/// Reads the limits: those for all data, and those of `limits` for single ones.
fn measures(instance: &Instance, data: &[String]) -> Result<Vec<Measure>, Error> {
    let own = single_limits(&text(instance, "limits")?.unwrap_or_default(), data).map_err(wrong)?;
    let mut measures = Vec::new();
    for at in 0..data.len() {
        let mut here: Vec<Measure> = own.iter().filter(|measure| measure.data == at).cloned().collect();
        for kind in KINDS.into_iter().filter(|_| !own.iter().any(|measure| measure.data == at)) {
            let name = format!("{}_limit", kind.name());
            if let Some(limit) = number(instance, &name)? {
                here.push(Measure { data: at, kind, limit: usable_limit(&name, limit).map_err(wrong)? });
            }
        }
        measures.extend(here);
    }
    Ok(measures)
}

fn usable_limit(name: &str, limit: f64) -> Result<f64, Fault> {
    if limit > 0.0 && limit.is_finite() {
        return Ok(limit);
    }
    Err(fault!(SHIPPED_SETTING_WRONG, "\"{name}\" is {limit}; give a number above 0"))
}

/// Reads limits of single data: `force relative 1e-6, heat absolute 1e-3`.
fn single_limits(text: &str, data: &[String]) -> Result<Vec<Measure>, Fault> {
    let mut measures: Vec<Measure> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let [name, kind, limit] = words[..] else { return Err(malformed_limit(part)) };
        let data = place("limits", name, data)?;
        let kind = KINDS.into_iter().find(|known| known.name() == kind).ok_or_else(|| malformed_limit(part))?;
        let limit = limit.parse().map_err(|_| malformed_limit(part))?;
        if measures.iter().any(|other| (other.data, other.kind) == (data, kind)) {
            return Err(fault!(SHIPPED_SETTING_WRONG, "\"limits\" has two limits \"{name} {}\"", kind.name()));
        }
        measures.push(Measure { data, kind, limit: usable_limit("limits", limit)? });
    }
    Ok(measures)
}

fn malformed_limit(part: &str) -> Fault {
    fault!(
        SHIPPED_SETTING_WRONG,
        "\"limits\" has \"{part}\"; write the data, one of absolute, relative and residual_relative, and a \
         number, and commas between several: force relative 1e-6, heat absolute 1e-3"
    )
}

fn method(instance: &Instance) -> Result<Method, Error> {
    let name = text(instance, "acceleration")?.unwrap_or_else(|| "iqn-ils".to_owned());
    let is_newton = name.starts_with("iqn");
    let relaxation =
        at_least_0(instance, "relaxation", if is_newton { NEWTON_RELAXATION } else { RELAXATION })?;
    if relaxation == 0.0 {
        return Err(wrong(fault!(SHIPPED_SETTING_WRONG, "\"relaxation\" is 0; nothing would ever change")));
    }
    Ok(match &*name {
        "none" => Method::Plain,
        "constant" => Method::Constant { relaxation },
        "aitken" => Method::Aitken { relaxation },
        _ => Method::Newton { relaxation, options: newton(instance, name == "iqn-imvj")? },
    })
}

fn newton(instance: &Instance, multi_vector: bool) -> Result<NewtonOptions, Error> {
    let filter = match text(instance, "filter")?.as_deref() {
        Some("qr1") => Filter::Qr1(at_least_0(instance, "filter_limit", QR1_LIMIT)?),
        Some("none") => Filter::Qr2(0.0),
        _ => Filter::Qr2(at_least_0(instance, "filter_limit", QR2_LIMIT)?),
    };
    let scaling = match text(instance, "scaling")?.as_deref() {
        Some("residual") => Scaling::Residual,
        Some("value") => Scaling::Value,
        Some("none") => Scaling::None,
        _ => Scaling::ResidualSum,
    };
    let reused = if multi_vector { 0 } else { REUSED_WINDOWS };
    let restart_windows = count(instance, "restart_windows", RESTART_WINDOWS, 1)? as usize;
    Ok(NewtonOptions {
        filter,
        scaling,
        max_columns: count(instance, "max_columns", MAX_COLUMNS, 1)? as usize,
        reused_windows: count(instance, "reused_windows", reused, 0)? as usize,
        restart_windows: multi_vector.then_some(restart_windows),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Vec<String> {
        vec!["force".to_owned(), "heat".to_owned()]
    }

    #[test]
    fn limits_of_single_data_are_read() {
        let found =
            single_limits("force relative 1e-6, heat absolute 0.5, heat relative 1e-3", &data()).unwrap();
        let expected = [
            (0, MeasureKind::Relative, 1e-6),
            (1, MeasureKind::Absolute, 0.5),
            (1, MeasureKind::Relative, 1e-3),
        ];
        assert_eq!(found, expected.map(|(data, kind, limit)| Measure { data, kind, limit }));
        assert!(single_limits("", &data()).unwrap().is_empty());
        for text in [
            "force",
            "force relative",
            "force relative x",
            "force often 1e-3",
            "mass relative 1e-3",
            "force relative 0",
            "force relative -1",
            "force relative NaN",
            "force relative 1e-3, force relative 1e-4",
        ] {
            assert!(single_limits(text, &data()).is_err(), "{text}");
        }
    }

    #[test]
    fn names_of_data_are_found_or_refused() {
        assert_eq!(names("first", "heat", &data()).unwrap(), [false, true]);
        assert_eq!(names("first", "heat, force", &data()).unwrap(), [true, true]);
        let why = names("first", "hat", &data()).unwrap_err().to_string();
        assert!(why.contains("\"hat\"") && why.contains("force, heat"), "{why}");
        assert!(names("first", " ", &data()).is_err());
    }
}
