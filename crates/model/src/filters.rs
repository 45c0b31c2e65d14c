//! Filters of conduits beyond yMMSL: their names and parameters under `ligament: filters:`. One table lists
//! all filters; reading, writing, the JSON schema and the page of filters are made from it. The effect of a
//! filter is in `ligament-filters`.

use crate::problem::At;
use crate::write::{float, quoted};
use std::fmt::Write;

/// A filter of the table.
#[derive(Debug)]
pub struct FilterSpec {
    pub name: &'static str,
    pub takes: &'static [Parameter],
}

/// A parameter of a filter. The first parameter may be written without its name: `multiply: 2` is
/// `multiply: {by: 2}`.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: ParameterKind,
    pub required: bool,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A finite number.
    Number,
    /// A finite number above zero.
    Positive,
    /// A whole number of at least 1.
    Count,
    /// A whole number of at least 0.
    Index,
    /// One or several whole numbers of at least 1.
    Counts,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum FilterValue {
    Number(f64),
    Count(u64),
    Counts(Vec<u64>),
    Text(String),
}

const fn needs(name: &'static str, kind: ParameterKind) -> Parameter {
    Parameter { name, kind, required: true }
}

const fn may(name: &'static str, kind: ParameterKind) -> Parameter {
    Parameter { name, kind, required: false }
}

/// The types of elements, with their names in messages and NumPy.
const TYPES: &[&str] = &[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

use ParameterKind::{Count, Counts, Index, Number, Positive, Text, Word};

/// All filters.
pub const FILTERS: &[FilterSpec] = &[
    FilterSpec { name: "every", takes: &[needs("n", Count)] },
    FilterSpec { name: "block_until", takes: &[needs("time", Number)] },
    FilterSpec { name: "block_after", takes: &[needs("time", Number)] },
    FilterSpec { name: "time_offset", takes: &[needs("by", Number)] },
    FilterSpec { name: "time_factor", takes: &[needs("by", Positive)] },
    FilterSpec { name: "interpolate_time", takes: &[needs("parts", Count)] },
    FilterSpec { name: "moving_average", takes: &[needs("n", Count)] },
    FilterSpec { name: "chunk", takes: &[needs("n", Count)] },
    FilterSpec { name: "dechunk", takes: &[] },
    FilterSpec { name: "multiply", takes: &[needs("by", Number)] },
    FilterSpec { name: "unit", takes: &[needs("to", Text), may("from", Text)] },
    FilterSpec { name: "type", takes: &[needs("to", Word(TYPES))] },
    FilterSpec {
        name: "threshold",
        takes: &[needs("value", Number), may("below", Number), may("above", Number)],
    },
    FilterSpec { name: "expression", takes: &[needs("formula", Text)] },
    FilterSpec { name: "slice", takes: &[needs("ranges", Text)] },
    FilterSpec {
        name: "reduce",
        takes: &[needs("to", Word(&["mean", "min", "max", "sum", "norm"])), may("axis", Index)],
    },
    FilterSpec { name: "interpolate_space", takes: &[needs("parts", Count), may("axis", Index)] },
    FilterSpec {
        name: "resample",
        takes: &[
            needs("shape", Counts),
            may("method", Word(&["linear", "nearest", "conservative"])),
            may("points", Word(&["cells", "nodes"])),
            may("masked", Word(&["keep", "skip", "nearest"])),
        ],
    },
    FilterSpec { name: "compress", takes: &[may("method", Word(&["lz4", "zstd"])), may("level", Count)] },
    FilterSpec { name: "console", takes: &[may("label", Text)] },
    FilterSpec { name: "discard", takes: &[] },
    FilterSpec { name: PYTHON, takes: &[needs("function", Text), may("with", Text)] },
    FilterSpec { name: LIBRARY, takes: &[needs("file", Text), needs("function", Text), may("with", Text)] },
];

/// Name of the filter that calls a Python function.
pub const PYTHON: &str = "python";

/// Name of the filter that calls a function of a shared library.
pub const LIBRARY: &str = "library";

/// Name of the filter that the sender applies and the receiver undoes.
pub const COMPRESS: &str = "compress";

impl FilterSpec {
    /// Returns the filter of this name.
    pub fn named(name: &str) -> Option<&'static FilterSpec> {
        FILTERS.iter().find(|spec| spec.name == name)
    }

    /// Returns the way to write the filter, for error messages.
    pub fn usage(&self) -> String {
        let written = |parameter: &Parameter| {
            if parameter.required {
                format!("{}: …", parameter.name)
            } else {
                format!("[{}: …]", parameter.name)
            }
        };
        let takes: Vec<String> = self.takes.iter().map(written).collect();
        match self.takes {
            [] => self.name.to_owned(),
            [one] if one.required => format!("{}: …", self.name),
            _ => format!("{}: {{{}}}", self.name, takes.join(", ")),
        }
    }
}

/// The end at which a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterEnd {
    Sender,
    Receiver,
}

impl FilterEnd {
    pub const NAMES: &'static [&'static str] = &["sender", "receiver"];

    pub fn from_name(name: &str) -> Option<FilterEnd> {
        match name {
            "sender" => Some(FilterEnd::Sender),
            "receiver" => Some(FilterEnd::Receiver),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            FilterEnd::Sender => "sender",
            FilterEnd::Receiver => "receiver",
        }
    }
}

/// The fate of the run if a filter cannot accept a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends.
    #[default]
    End,
    /// The run continues without the message.
    Skip,
    /// The run continues with the message as it was before the filter.
    Pass,
}

impl OnError {
    pub const NAMES: &'static [&'static str] = &["end", "skip", "pass"];

    pub fn from_name(name: &str) -> Option<OnError> {
        match name {
            "end" => Some(OnError::End),
            "skip" => Some(OnError::Skip),
            "pass" => Some(OnError::Pass),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            OnError::End => "end",
            OnError::Skip => "skip",
            OnError::Pass => "pass",
        }
    }
}

/// A filter that a model uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub name: &'static str,
    /// In the order of the filter's table entry.
    pub parameters: Vec<(&'static str, FilterValue)>,
    /// The end at which the filter runs, if the model gives it; see `at_sender`.
    pub end: Option<FilterEnd>,
    pub on_error: OnError,
    /// The place in the file.
    pub at: At,
}

impl Filter {
    /// Returns true if a user has written the filter's function.
    pub fn is_own(&self) -> bool {
        [PYTHON, LIBRARY].contains(&self.name)
    }

    fn value(&self, name: &str) -> Option<&FilterValue> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the value of a parameter that is a number, if it was given.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            FilterValue::Number(number) => Some(*number),
            FilterValue::Count(count) => Some(*count as f64),
            _ => None,
        }
    }

    /// Returns the value of a parameter that is a whole number, if it was given.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            FilterValue::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// Returns the value of a parameter that is a list of whole numbers, if it was given.
    pub fn counts(&self, name: &str) -> Option<&[u64]> {
        match self.value(name)? {
            FilterValue::Counts(counts) => Some(counts),
            FilterValue::Count(count) => Some(std::slice::from_ref(count)),
            _ => None,
        }
    }

    /// Returns the value of a parameter that is a text, if it was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            FilterValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of a conduit's filters that run at the sender: all filters up to the last one
    /// that is set to run there, or that compresses. The others run at the receiver.
    pub fn at_sender(filters: &[Filter]) -> usize {
        let sends = |filter: &Filter| filter.end == Some(FilterEnd::Sender) || filter.name == COMPRESS;
        filters.iter().rposition(sends).map_or(0, |last| last + 1)
    }

    /// Returns the same filters for processes that run elsewhere: the file of a library is given by its
    /// whole path. A name without a `/` stays as it is, and is looked up where libraries are.
    pub fn for_instances(filters: &[Filter]) -> Vec<Filter> {
        let mut filters = filters.to_vec();
        for filter in filters.iter_mut().filter(|filter| filter.name == LIBRARY) {
            let at = filter.at.clone();
            for (_, value) in filter.parameters.iter_mut().filter(|(name, _)| *name == "file") {
                let FilterValue::Text(file) = value else { continue };
                if !file.contains('/') {
                    continue;
                }
                let beside = at.beside(file);
                *file = std::path::absolute(&beside).unwrap_or(beside).display().to_string();
            }
        }
        filters
    }

    /// Returns the filter's name and first parameter, for messages: `chunk: 10`.
    pub fn written(&self) -> String {
        match self.parameters.first() {
            Some((_, FilterValue::Number(value))) => format!("{}: {value}", self.name),
            Some((_, FilterValue::Count(value))) => format!("{}: {value}", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// Returns filters on one line, as a model file has them.
    pub fn write(filters: &[Filter]) -> String {
        let all: Vec<String> = filters.iter().map(Filter::write_one).collect();
        format!("[{}]", all.join(", "))
    }

    fn write_one(&self) -> String {
        let mut out = format!("{{{}: {{", self.name);
        for (i, (name, value)) in self.parameters.iter().enumerate() {
            let value = match value {
                FilterValue::Number(number) => float(*number),
                FilterValue::Count(count) => count.to_string(),
                FilterValue::Counts(counts) => format!("{counts:?}"),
                FilterValue::Text(text) => quoted(text),
            };
            let _ = write!(out, "{}{name}: {value}", if i > 0 { ", " } else { "" });
        }
        out.push('}');
        if let Some(end) = self.end {
            let _ = write!(out, ", at: {}", end.name());
        }
        if self.on_error != OnError::End {
            let _ = write!(out, ", on_error: {}", self.on_error.name());
        }
        out.push('}');
        out
    }
}
