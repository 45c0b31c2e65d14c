//! Reading the filters of a conduit, under `ligament: filters:`.

use super::fields::FieldReader;
use crate::filters::{
    Filter, FilterEnd, FilterSpec, FilterValue, OnError, Parameter, ParameterKind, COMPRESS, FILTERS,
};
use crate::problem::{nearest, Problem, Problems};
use crate::yaml::{self, YamlKind, YamlNode};
use ligament_catalogue::Code;

/// Keys that are allowed beside every filter.
const BESIDE: [&str; 2] = ["at", "on_error"];

/// Filters that may run at the sender after `compress`, because they do not look at the data.
const BLIND: [&str; 7] =
    ["every", "block_until", "block_after", "time_offset", "time_factor", "console", "discard"];

impl Filter {
    /// Reads a text that `write` has written.
    ///
    /// # Errors
    /// The text is wrong.
    pub fn read(text: &str) -> Result<Vec<Filter>, Problems> {
        let mut problems = Vec::new();
        let root = yaml::parse(text, None, &mut problems);
        let mut reader = FieldReader { problems, ..FieldReader::default() };
        let filters = root.and_then(|root| reader.own_filters(&root)).unwrap_or_default();
        if reader.problems.iter().any(Problem::is_error) {
            Err(Problems(reader.problems))
        } else {
            Ok(filters)
        }
    }
}

impl FieldReader {
    /// Reads the filters of a conduit: a list, or a single filter. Returns `None` if any of them is wrong,
    /// because the other filters have no meaning without it.
    pub(super) fn own_filters(&mut self, node: &YamlNode) -> Option<Vec<Filter>> {
        let items = match &node.kind {
            YamlKind::Seq(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let before = self.problems.len();
        let filters: Vec<Filter> = items.iter().filter_map(|item| self.filter(item)).collect();
        self.check_ends(&filters);
        (self.problems.len() == before).then_some(filters)
    }

    /// Reports a filter that is set to run at the receiver, if a later one runs at the sender.
    fn check_ends(&mut self, filters: &[Filter]) {
        let (sent, _) = filters.split_at(Filter::at_sender(filters));
        for filter in sent.iter().filter(|filter| filter.end == Some(FilterEnd::Receiver)) {
            self.error(
                Code::BAD_FILTER,
                &filter.at,
                format!(
                    "\"{}\" is to run at the receiver, before a filter that runs at the sender",
                    filter.name
                ),
                "put it after all that run at the sender (\"compress\" always does), or leave \"at\" out",
            );
        }
        if let Some(second) = sent.iter().filter(|filter| filter.name == COMPRESS).nth(1) {
            let message = "what this conduit carries is compressed already";
            self.error(Code::BAD_FILTER, &second.at, message, "remove one of them");
        }
        let packed = sent.iter().skip_while(|filter| filter.name != COMPRESS);
        let sees = |filter: &&Filter| filter.name != COMPRESS && !BLIND.contains(&filter.name);
        if let Some(filter) = packed.into_iter().find(sees) {
            self.error(
                Code::BAD_FILTER,
                &filter.at,
                format!(
                    "\"{}\" is to run at the sender, and what comes to it there is compressed",
                    filter.name
                ),
                "put it before \"compress\", or leave \"at\" out: behind \"compress\" it runs at the receiver",
            );
        }
    }

    fn filter(&mut self, node: &YamlNode) -> Option<Filter> {
        let nothing = YamlNode { kind: YamlKind::Null, at: node.at.clone() };
        let (name, value, beside) = match &node.kind {
            YamlKind::Str(name) => (name.clone(), &nothing, Vec::new()),
            YamlKind::Map(pairs) => {
                let mut named = Vec::new();
                let mut beside = Vec::new();
                for (key, value) in pairs {
                    let name = self.key(key)?;
                    if BESIDE.contains(&name.as_str()) {
                        beside.push((name, value))
                    } else {
                        named.push((name, value))
                    }
                }
                let count = named.len();
                let Some((name, value)) = named.pop().filter(|_| count == 1) else {
                    self.error(
                        Code::BAD_FILTER,
                        &node.at,
                        format!("one filter must stand in each item of the list, and here are {count}"),
                        "put a \"- \" before each filter; only \"at\" and \"on_error\" stand beside it",
                    );
                    return None;
                };
                (name, value, beside)
            }
            _ => {
                self.error(
                    Code::BAD_FILTER,
                    &node.at,
                    format!(
                        "a filter must be a name, or \"name: parameters\", and this is {}",
                        node.describe()
                    ),
                    "write for example \"- multiply: 2\", or \"- discard\" for no messages at all",
                );
                return None;
            }
        };
        let Some(spec) = FilterSpec::named(&name) else {
            let known = FILTERS.iter().map(|spec| spec.name);
            let advice = match other_name(&name).or_else(|| nearest(&name, known.clone())) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("the filters are {}", known.collect::<Vec<_>>().join(", ")),
            };
            self.error(Code::UNKNOWN_FILTER, &node.at, format!("there is no filter \"{name}\""), advice);
            return None;
        };
        let parameters = self.parameters(spec, value, node)?;
        let mut filter =
            Filter { name: spec.name, parameters, end: None, on_error: OnError::End, at: node.at.clone() };
        for (key, value) in beside {
            match key.as_str() {
                "at" => filter.end = Some(self.word(value, "at", FilterEnd::NAMES, FilterEnd::from_name)?),
                _ => filter.on_error = self.word(value, "on_error", OnError::NAMES, OnError::from_name)?,
            }
        }
        Some(filter)
    }

    fn parameters(
        &mut self,
        spec: &'static FilterSpec,
        value: &YamlNode,
        whole: &YamlNode,
    ) -> Option<Vec<(&'static str, FilterValue)>> {
        let mut parameters = Vec::new();
        match &value.kind {
            YamlKind::Null => {}
            YamlKind::Map(_) => {
                let names: Vec<&str> = spec.takes.iter().map(|parameter| parameter.name).collect();
                let before = self.problems.len();
                let given = self.mapping(value, &format!("the filter \"{}\"", spec.name), &names);
                if self.problems.len() > before {
                    return None;
                }
                for parameter in spec.takes {
                    if let Some(node) = given.get(parameter.name) {
                        parameters.push((parameter.name, self.parameter(spec, parameter, node)?));
                    }
                }
            }
            _ => {
                let Some(first) = spec.takes.first() else {
                    let message = format!("the filter \"{}\" takes no parameter", spec.name);
                    self.error(Code::BAD_FILTER, &value.at, message, format!("write \"- {}\"", spec.name));
                    return None;
                };
                parameters.push((first.name, self.parameter(spec, first, value)?));
            }
        }
        let given = |wanted: &Parameter| parameters.iter().any(|(name, _)| *name == wanted.name);
        if let Some(missing) = spec.takes.iter().find(|parameter| parameter.required && !given(parameter)) {
            self.error(
                Code::BAD_FILTER,
                &whole.at,
                format!("the filter \"{}\" lacks \"{}\"", spec.name, missing.name),
                format!("write \"- {}\"", spec.usage()),
            );
            return None;
        }
        Some(parameters)
    }

    fn parameter(&mut self, spec: &FilterSpec, parameter: &Parameter, node: &YamlNode) -> Option<FilterValue> {
        let count = |node: &YamlNode, least: i64| match node.kind {
            YamlKind::Int(value, _) if value >= least => Some(value as u64),
            _ => None,
        };
        let number = match node.kind {
            YamlKind::Int(value, _) => Some(value as f64),
            YamlKind::Float(value, _) => Some(value).filter(|value| value.is_finite()),
            _ => None,
        };
        let (value, wanted) = match parameter.kind {
            ParameterKind::Number => (number.map(FilterValue::Number), "a finite number".to_owned()),
            ParameterKind::Positive => {
                let positive = number.filter(|&number| number > 0.0);
                (positive.map(FilterValue::Number), "a number above 0".to_owned())
            }
            ParameterKind::Count => {
                (count(node, 1).map(FilterValue::Count), "a whole number of at least 1".to_owned())
            }
            ParameterKind::Index => {
                (count(node, 0).map(FilterValue::Count), "a whole number of at least 0".to_owned())
            }
            ParameterKind::Counts => {
                let counts = match &node.kind {
                    YamlKind::Seq(items) => items.iter().map(|item| count(item, 1)).collect(),
                    _ => count(node, 1).map(|one| vec![one]),
                };
                (counts.map(FilterValue::Counts), "whole numbers of at least 1, such as [20, 30]".to_owned())
            }
            ParameterKind::Text => match &node.kind {
                YamlKind::Str(text) => (Some(FilterValue::Text(text.clone())), String::new()),
                _ => (None, "text, in quotes".to_owned()),
            },
            ParameterKind::Word(words) => match &node.kind {
                YamlKind::Str(text) if words.contains(&text.as_str()) => {
                    (Some(FilterValue::Text(text.clone())), String::new())
                }
                _ => (None, format!("one of {}", words.join(", "))),
            },
        };
        if value.is_none() {
            let what = format!("\"{}\" of the filter \"{}\"", parameter.name, spec.name);
            self.error(
                Code::BAD_FILTER,
                &node.at,
                format!("{what} must be {wanted}, and this is {}", node.describe()),
                format!("write \"- {}\"", spec.usage()),
            );
        }
        value
    }
}

/// Returns our filter for a name that MUSCLE 2 or other programs use.
fn other_name(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "null" | "none" | "nothing" => "discard",
        "drop" | "keep" | "subsample" => "every",
        "timeoffset" | "offset" => "time_offset",
        "timefactor" => "time_factor",
        "blockafter" => "block_after",
        "lineartimeinterpolation" => "interpolate_time",
        "linearinterpolation" => "interpolate_space",
        "decompress" => "compress",
        "print" | "log" => "console",
        "scale" | "factor" => "multiply",
        "convert" | "cast" | "astype" => "type",
        "units" => "unit",
        "mean" | "min" | "max" | "sum" | "norm" => "reduce",
        "regrid" => "resample",
        "formula" | "eval" => "expression",
        "average" => "moving_average",
        _ => return None,
    })
}
