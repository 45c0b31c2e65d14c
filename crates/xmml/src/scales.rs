//! The scales of a submodel: step and total size, in time and in each direction of space.

use ligament_catalogue::{fault, Fault};
use ligament_filters::Unit;

/// A direction of space: its name, step and total size.
pub type Direction = (String, Option<String>, Option<String>);

/// The scales of a submodel or an instance, as texts with units. Example: `10 min`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct XmmlScales {
    pub time_step: Option<String>,
    pub total_time: Option<String>,
    /// One entry for each direction of space.
    pub space: Vec<Direction>,
}

impl XmmlScales {
    /// Returns these scales, with each value replaced that `other` has.
    pub(crate) fn with(&self, other: &XmmlScales) -> XmmlScales {
        let mut space = self.space.clone();
        for (name, step, extent) in &other.space {
            match space.iter_mut().find(|(known, ..)| known == name) {
                Some(own) => {
                    own.1 = step.clone().or(own.1.take());
                    own.2 = extent.clone().or(own.2.take());
                }
                None => space.push((name.clone(), step.clone(), extent.clone())),
            }
        }
        XmmlScales {
            time_step: other.time_step.clone().or(self.time_step.clone()),
            total_time: other.total_time.clone().or(self.total_time.clone()),
            space,
        }
    }

    /// Returns the attributes of xMML that have a value for some directions of space and not for all, each with
    /// the number of its values. A model file cannot express this.
    pub(crate) fn incomplete(&self) -> Vec<(&'static str, usize)> {
        let steps = self.space.iter().filter(|(_, step, _)| step.is_some()).count();
        let extents = self.space.iter().filter(|(_, _, extent)| extent.is_some()).count();
        let said = [("delta", steps), ("total", extents)];
        said.into_iter().filter(|(_, count)| (1..self.space.len()).contains(count)).collect()
    }

    /// Returns the scales as in a model file, such as `{time_step: 10 min, extent: 3 km}`, or `None` if there
    /// are none.
    pub(crate) fn written(&self) -> Option<String> {
        let mut said: Vec<String> = Vec::new();
        let mut say =
            |key: &str, value: Option<String>| said.extend(value.map(|value| format!("{key}: {value}")));
        let all = |of: fn(&Direction) -> Option<String>| {
            let values: Vec<String> = self.space.iter().filter_map(of).collect();
            match &values[..] {
                // If a direction had no value, the values after it would count for the wrong directions.
                // `incomplete` reports this case.
                values if values.is_empty() || values.len() < self.space.len() => None,
                [one] => Some(one.clone()),
                several => Some(format!("[{}]", several.join(", "))),
            }
        };
        say("time_step", self.time_step.clone());
        say("total_time", self.total_time.clone());
        say("space_step", all(|(_, step, _)| step.clone()));
        say("extent", all(|(_, _, extent)| extent.clone()));
        if said.is_empty() {
            None
        } else {
            Some(format!("{{{}}}", said.join(", ")))
        }
    }
}

/// Converts a number with a unit of time or length to the form of a model file.
///
/// # Errors
/// Fails if the number is not above 0, or if the unit is missing or is not a unit of this kind.
pub(crate) fn quantity(text: &str, is_time: bool) -> Result<String, Fault> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let mut split = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    // `1e3 s` has an exponent. In `1 e`, the `e` is a unit.
    if let Some(rest) = text[split..].strip_prefix(['e', 'E']) {
        let digits = rest.find(|c: char| !is_number(c)).unwrap_or(rest.len());
        if digits > 0 {
            split += 1 + digits;
        }
    }
    let number: f64 =
        text[..split].parse().map_err(|_| fault!(BAD_XMML, "\"{text}\" begins with no number"))?;
    if !(number > 0.0 && number.is_finite()) {
        return Err(fault!(BAD_XMML, "\"{text}\" is not above 0"));
    }
    let written = text[split..].trim();
    let unit = match written {
        "hr" | "hrs" | "hour" | "hours" => "h",
        "day" | "days" => "d",
        "minute" | "minutes" => "min",
        "second" | "seconds" | "sec" => "s",
        "year" | "years" => "yr",
        "week" | "weeks" => return quantity(&format!("{} d", number * 7.0), is_time),
        "" => return Err(fault!(BAD_XMML, "\"{text}\" has no unit")),
        other => other,
    };
    let base = Unit::parse(if is_time { "s" } else { "m" })?;
    match Unit::parse(unit) {
        Ok(unit) if unit.converts_to(&base) => {}
        _ => {
            let what = if is_time { "time" } else { "length" };
            return Err(fault!(BAD_XMML, "\"{written}\" is no unit of {what}"));
        }
    }
    Ok(format!("{} {unit}", &text[..split]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units_that_are_known() {
        for (text, is_time, expected) in [
            ("10 min", true, "10 min"),
            ("1 yr", true, "1 yr"),
            ("2 years", true, "2 yr"),
            ("1e-3 s", true, "1e-3 s"),
            ("5ms", true, "5 ms"),
            ("2 weeks", true, "14 d"),
            ("3 km", false, "3 km"),
            ("1 dm", false, "1 dm"),
        ] {
            assert_eq!(quantity(text, is_time).as_deref(), Ok(expected));
        }
        for (text, is_time) in
            [("10", true), ("min", true), ("3 km", true), ("1 s", false), ("-1 s", true), ("1 foot", false)]
        {
            assert!(quantity(text, is_time).is_err(), "{text}");
        }
    }

    #[test]
    fn what_one_direction_of_two_has_is_not_taken_for_all() {
        let direction =
            |name: &str, step: Option<&str>| (name.into(), step.map(str::to_owned), Some("1 m".to_owned()));
        let scales = |space| XmmlScales { space, ..XmmlScales::default() };
        let partly = scales(vec![direction("x", Some("1 mm")), direction("y", None)]);
        assert_eq!(partly.written().as_deref(), Some("{extent: [1 m, 1 m]}"));
        assert_eq!(partly.incomplete(), [("delta", 1)]);
        let wholly = scales(vec![direction("x", Some("1 mm"))]);
        assert_eq!(wholly.written().as_deref(), Some("{space_step: 1 mm, extent: 1 m}"));
        assert!(wholly.incomplete().is_empty());
    }
}
