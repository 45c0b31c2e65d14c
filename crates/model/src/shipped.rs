//! The sources, sinks and mappers that come with Ligament: their names, ports and settings. One table lists
//! them; the check, the run and the page of shipped components use it. The code of these components is in
//! `ligament-coupling`.
//!
//! A component names a shipped component as its implementation. `resolve_imports` then adds a program of
//! that name to the configuration. The program has nothing to start: the command `ligament` itself is
//! started, or Python. All instances of shipped components share one process, as those of a light program
//! do, and those written in Python share another. A program of the same name in the model takes precedence.

use crate::configuration::Configuration;
use crate::graph::{Operator, Port, Ports};
use crate::identity::{Identifier, Reference};
use crate::program::Program;
use crate::settings::{SettingType, SupportedSetting};
use crate::At;
use std::sync::LazyLock;

/// A component that comes with Ligament.
#[derive(Debug)]
pub struct ShippedComponent {
    /// Its name in a model, such as `ligament.mappers.gather`.
    pub name: &'static str,
    /// The ports; empty if the component accepts any ports that conduits name. `free_operators` then gives
    /// their operators.
    pub ports: &'static [(&'static str, Operator)],
    pub settings: &'static [ShippedSetting],
    /// True if Python runs the component, in one process with all others of this kind, and not the command
    /// `ligament`.
    pub in_python: bool,
}

/// A setting that a shipped component knows.
#[derive(Debug)]
pub struct ShippedSetting {
    pub name: &'static str,
    pub kind: SettingType,
    pub required: bool,
    /// The allowed texts; empty if any text is allowed.
    pub words: &'static [&'static str],
}

const fn needs(name: &'static str, kind: SettingType) -> ShippedSetting {
    ShippedSetting { name, kind, required: true, words: &[] }
}

const fn may(name: &'static str, kind: SettingType) -> ShippedSetting {
    ShippedSetting { name, kind, required: false, words: &[] }
}

const fn word(name: &'static str, words: &'static [&'static str]) -> ShippedSetting {
    ShippedSetting { name, kind: SettingType::Str, required: false, words }
}

const PYTHON_MAPPER: &str = "ligament.mappers.python";
const IMPLICIT: &str = "ligament.mappers.implicit";
/// The beginning of all names of shipped components.
const PREFIX: &str = "ligament.";
/// Name of the setting that names the shipped component that an instance is.
pub const IMPLEMENTATION_SETTING: &str = "ligament_implementation";

const SOURCE: &[(&str, Operator)] = &[("out", Operator::OI)];
const SINK: &[(&str, Operator)] = &[("in", Operator::FInit)];
/// The functions of `ligament.mappers.mesh` with `method: radial`.
const RADIAL_FUNCTIONS: &[&str] = &[
    "compact-polynomial-c0",
    "compact-polynomial-c2",
    "compact-polynomial-c4",
    "compact-polynomial-c6",
    "compact-polynomial-c8",
    "compact-tps-c2",
    "gaussian",
    "multiquadrics",
    "inverse-multiquadrics",
    "thin-plate-splines",
    "volume-splines",
];
const ONE_TO_ONE: &[(&str, Operator)] = &[("in", Operator::FInit), ("out", Operator::OF)];
const TWO_TO_ONE: &[(&str, Operator)] =
    &[("a", Operator::FInit), ("b", Operator::FInit), ("out", Operator::OF)];

use SettingType::{Bool, Float, FloatList, FloatListList, Int, IntList, Str};

/// All shipped components.
pub const SHIPPED: &[ShippedComponent] = &[
    ShippedComponent {
        name: "ligament.sources.constant",
        ports: SOURCE,
        settings: &[
            may("value", Float),
            may("values", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sources.time_series",
        ports: SOURCE,
        settings: &[
            needs("times", FloatList),
            may("values", FloatList),
            may("rows", FloatListList),
            may("step", Float),
            word("between", &["linear", "previous"]),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sources.csv",
        ports: SOURCE,
        settings: &[
            needs("file", Str),
            may("columns", Str),
            may("time", Str),
            may("separator", Str),
            may("header", Bool),
            word("decimal", &["point", "comma"]),
            word("dtype", &["float64", "int64", "uint64"]),
            word("as", &["array", "map"]),
            word("holes", &["error", "skip", "nan", "previous"]),
            may("until", Float),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sources.npy",
        ports: SOURCE,
        settings: &[
            needs("file", Str),
            may("whole", Bool),
            may("times", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sources.jsonl",
        ports: SOURCE,
        settings: &[needs("file", Str), may("until", Float)],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sources.vti",
        ports: SOURCE,
        settings: &[
            needs("file", Str),
            may("array", Str),
            may("times", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sinks.csv",
        ports: SINK,
        settings: &[may("file", Str), may("columns", Str), may("separator", Str)],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sinks.npy",
        ports: SINK,
        settings: &[may("file", Str)],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sinks.jsonl",
        ports: SINK,
        settings: &[may("file", Str)],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sinks.vti",
        ports: SINK,
        settings: &[may("file", Str), may("array", Str), may("origin", FloatList), may("spacing", FloatList)],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.sinks.console",
        ports: SINK,
        settings: &[may("label", Str)],
        in_python: false,
    },
    ShippedComponent { name: "ligament.sinks.discard", ports: SINK, settings: &[], in_python: false },
    ShippedComponent {
        name: "ligament.sources.python",
        ports: SOURCE,
        settings: &[
            needs("function", Str),
            may("with", Str),
            may("times", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: true,
    },
    ShippedComponent {
        name: "ligament.sources.hdf5",
        ports: SOURCE,
        settings: &[
            needs("file", Str),
            may("dataset", Str),
            may("time", Str),
            may("whole", Bool),
            may("times", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: true,
    },
    ShippedComponent {
        name: "ligament.sources.netcdf",
        ports: SOURCE,
        settings: &[
            needs("file", Str),
            may("variable", Str),
            may("time", Str),
            may("whole", Bool),
            word("holes", &["error", "nan"]),
            may("times", FloatList),
            may("begin", Float),
            may("step", Float),
            may("until", Float),
        ],
        in_python: true,
    },
    ShippedComponent {
        name: "ligament.sinks.python",
        ports: SINK,
        settings: &[needs("function", Str), may("with", Str)],
        in_python: true,
    },
    ShippedComponent {
        name: "ligament.sinks.hdf5",
        ports: SINK,
        settings: &[may("file", Str), may("dataset", Str)],
        in_python: true,
    },
    ShippedComponent {
        name: "ligament.sinks.netcdf",
        ports: SINK,
        settings: &[may("file", Str), may("variable", Str)],
        in_python: true,
    },
    ShippedComponent { name: "ligament.mappers.duplicate", ports: ONE_TO_ONE, settings: &[], in_python: false },
    ShippedComponent {
        name: "ligament.mappers.gather",
        ports: ONE_TO_ONE,
        settings: &[word("as", &["list", "stack", "join"])],
        in_python: false,
    },
    ShippedComponent { name: "ligament.mappers.scatter", ports: ONE_TO_ONE, settings: &[], in_python: false },
    ShippedComponent {
        name: "ligament.mappers.combine",
        ports: &[],
        settings: &[word("as", &["map", "sum", "mean", "min", "max", "product"])],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.mappers.difference",
        ports: TWO_TO_ONE,
        settings: &[],
        in_python: false,
    },
    ShippedComponent { name: PYTHON_MAPPER, ports: &[], settings: &[needs("function", Str)], in_python: true },
    ShippedComponent {
        name: "ligament.mappers.regrid",
        ports: ONE_TO_ONE,
        settings: &[
            needs("shape", IntList),
            word("method", &["linear", "nearest", "conservative"]),
            word("points", &["cells", "nodes"]),
            word("masked", &["keep", "skip", "nearest"]),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: "ligament.mappers.mesh",
        ports: ONE_TO_ONE,
        settings: &[
            needs("from", Str),
            needs("to", Str),
            may("cells", Str),
            word("method", &["nearest", "linear", "radial"]),
            word("function", RADIAL_FUNCTIONS),
            may("support_radius", Float),
            may("shape_parameter", Float),
            word("polynomial", &["separate", "on", "off"]),
            word("constraint", &["consistent", "conservative"]),
            word("masked", &["keep", "skip", "nearest"]),
        ],
        in_python: false,
    },
    ShippedComponent {
        name: IMPLICIT,
        ports: &[],
        settings: &[
            needs("window", Float),
            needs("until", Float),
            may("begin", Float),
            word("scheme", &["parallel-implicit", "serial-implicit", "parallel-explicit", "serial-explicit"]),
            may("first", Str),
            may("sampled", Str),
            may("absolute_limit", Float),
            may("relative_limit", Float),
            may("residual_relative_limit", Float),
            may("limits", Str),
            may("min_iterations", Int),
            may("max_iterations", Int),
            word("no_convergence", &["end", "warn"]),
            word("acceleration", &["iqn-ils", "iqn-imvj", "aitken", "constant", "none"]),
            may("accelerated_by", Str),
            may("relaxation", Float),
            word("filter", &["qr2", "qr1", "none"]),
            may("filter_limit", Float),
            word("scaling", &["residual-sum", "residual", "value", "none"]),
            may("max_columns", Int),
            may("reused_windows", Int),
            may("restart_windows", Int),
            may("table", Str),
            may("plot", Str),
        ],
        in_python: false,
    },
];

/// Returns the shipped component of this name.
pub fn shipped(name: &Reference) -> Option<&'static ShippedComponent> {
    let text = name.to_string();
    if !text.starts_with(PREFIX) {
        return None;
    }
    SHIPPED.iter().find(|one| one.name == text)
}

impl ShippedComponent {
    /// Returns the name under which all components of this kind share a process, as the instances of a
    /// light program do.
    pub(crate) fn shared_process(&self) -> &'static Reference {
        static OURS: LazyLock<Reference> =
            LazyLock::new(|| Reference::new("ligament.shipped").unwrap_or_default());
        static PYTHONS: LazyLock<Reference> =
            LazyLock::new(|| Reference::new("ligament.python").unwrap_or_default());
        if self.in_python {
            &PYTHONS
        } else {
            &OURS
        }
    }

    /// Returns the operators of the ports that conduits name, if the table lists no ports: that of the ports
    /// that receive, and that of those that send.
    pub fn free_operators(&self) -> (Operator, Operator) {
        if self.name == IMPLICIT {
            (Operator::S, Operator::OI)
        } else {
            (Operator::FInit, Operator::OF)
        }
    }

    /// Returns true if the component also reads settings that are not in the table, as a user's mapper
    /// does.
    fn reads_more(&self) -> bool {
        self.name == PYTHON_MAPPER
    }

    /// Returns the component as a program of a configuration. `at` is the place of its first use.
    fn program(&self, name: &Reference, at: &At) -> Program {
        let mut program = Program::new(name.clone());
        program.at = at.clone();
        let named = |text: &str| Identifier::new(text).ok();
        let ports = self.ports.iter().filter_map(|&(port, operator)| {
            let name = named(port)?;
            Some((name.clone(), Port { at: at.clone(), ..Port::new(name, operator) }))
        });
        program.ports = ports.collect::<Ports>();
        let known = self.settings.iter().filter(|_| !self.reads_more());
        let settings = known.filter_map(|setting| {
            let name = named(setting.name)?;
            let description = String::new();
            let known = SupportedSetting {
                name: name.clone(),
                setting_type: setting.kind,
                description,
                at: at.clone(),
            };
            Some((name, known))
        });
        program.supported_settings = settings.collect();
        program
    }
}

impl Program {
    /// Returns the shipped component that the program's name means. There is then nothing to start but
    /// Ligament itself.
    pub fn shipped(&self) -> Option<&'static ShippedComponent> {
        let nothing = self.executable.is_none() && self.script.is_none();
        shipped(&self.name).filter(|_| nothing && self.execution_model == crate::ExecutionModel::Direct)
    }
}

impl Configuration {
    /// Adds a program for each shipped component that is used, unless there is a program of that name.
    pub(crate) fn add_shipped(&mut self) {
        let components = self.models.values().flat_map(|model| model.components.values());
        let used = components.filter_map(|component| {
            let name = component.implementation.as_ref()?;
            Some((name, &component.implementation_at, shipped(name)?))
        });
        let new: Vec<Program> = used
            .filter(|(name, ..)| !self.programs.contains_key(*name) && !self.models.contains_key(*name))
            .map(|(name, at, shipped)| shipped.program(name, at))
            .collect();
        for program in new {
            self.programs.entry(program.name.clone()).or_insert(program);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_references_and_settings_are_identifiers() {
        for one in SHIPPED {
            let name = Reference::new(one.name).unwrap();
            assert_eq!(shipped(&name).unwrap().name, one.name);
            let program = one.program(&name, &At::default());
            assert_eq!(program.ports.len(), one.ports.len());
            assert_eq!(program.supported_settings.len(), if one.reads_more() { 0 } else { one.settings.len() });
            assert!(program.shipped().is_some());
        }
        assert!(shipped(&Reference::new("ligament.mappers.nothing").unwrap()).is_none());
    }
}
