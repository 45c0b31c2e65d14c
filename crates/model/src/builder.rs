//! A model that is built in code instead of being read from a file.

use crate::configuration::Configuration;
use crate::expand::{ExpandOptions, ResolvedModel};
use crate::filters::Filter;
use crate::graph::{split_end, Component, Conduit, ConduitFilter, Model, Operator, Port, Ports};
use crate::identity::{Identifier, InvalidName, Reference};
use crate::options::ForConduit;
use crate::problem::{At, Problems};
use crate::program::{Program, ResourceRequirements, Resources};
use crate::settings::SettingValue;
use ligament_catalogue::{said, Code, Coded};
use std::fmt;

/// The reason why something cannot be added to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// A name is not valid.
    Name(InvalidName),
    /// Two components, programs or ports of the same name.
    Duplicate {
        /// The kind of thing: "component", "program" or "port".
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// There is no such operator or filter.
    Unknown {
        /// The requested thing: "operator" or "filter".
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: &'static str,
    },
    /// An end of a conduit is not `component.port`.
    BadEnd(String),
    /// There is no component of this name.
    NoComponent(String),
    /// A multiplicity is zero.
    NoInstances(String),
    /// The filters cannot be used.
    Filters(Problems),
}

impl Coded for BuildError {
    fn code(&self) -> Code {
        match self {
            BuildError::Name(error) => error.code(),
            BuildError::Duplicate { .. } => Code::DUPLICATE_NAME,
            BuildError::Unknown { .. } | BuildError::NoInstances(_) => Code::BAD_ARGUMENT,
            BuildError::BadEnd(_) => Code::BAD_CONDUIT,
            BuildError::Filters(problems) => {
                problems.0.first().map_or(Code::BAD_FILTER, |problem| problem.code)
            }
            BuildError::NoComponent(_) => Code::UNKNOWN_COMPONENT,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Name(error) => error.fmt(f),
            BuildError::Filters(problems) => {
                let texts = problems.0.iter().map(|problem| format!("{}; {}", problem.message, problem.advice));
                f.write_str(&texts.collect::<Vec<_>>().join("; "))
            }
            BuildError::Duplicate { what, name } => {
                write!(f, "there is a {what} \"{name}\" already; give each its own name")
            }
            BuildError::Unknown { what, name, known } => {
                f.write_str(&said!(BAD_ARGUMENT, "there is no {what} \"{name}\"; use one of: {known}"))
            }
            BuildError::BadEnd(end) => {
                write!(f, "\"{end}\" names no port; write component.port or component.port[slot]")
            }
            BuildError::NoComponent(name) => {
                write!(f, "there is no component \"{name}\"; add it first")
            }
            BuildError::NoInstances(name) => {
                let text = said!(
                    BAD_ARGUMENT,
                    "the multiplicity of \"{name}\" has a zero in it; every dimension needs at least one \
                     instance"
                );
                f.write_str(&text)
            }
        }
    }
}

impl std::error::Error for BuildError {}

impl From<InvalidName> for BuildError {
    fn from(error: InvalidName) -> BuildError {
        BuildError::Name(error)
    }
}

/// Builds a configuration with one model. A name that is not valid is refused at once. The ports of
/// conduits are checked at the end, so that components may be added in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBuilder {
    config: Configuration,
    /// The name of the model that is being built. The configuration always has this model.
    root: Reference,
}

impl ModelBuilder {
    /// Makes an empty model of this name.
    pub fn new(name: &str) -> Result<ModelBuilder, BuildError> {
        let name = Reference::from(Identifier::new(name)?);
        let mut config = Configuration::default();
        config.models.insert(name.clone(), Model::new(name.clone()));
        Ok(ModelBuilder { config, root: name })
    }

    /// Continues a configuration, by adding to its only model that is not used as an implementation.
    pub fn from_configuration(config: Configuration) -> Result<ModelBuilder, Problems> {
        let root = config.root_model(None).map_err(|p| Problems(vec![p]))?.name.clone();
        Ok(ModelBuilder { config, root })
    }

    /// Continues a model read from text; `file` is the name shown with problems.
    pub fn from_yaml(text: &str, file: &str) -> Result<ModelBuilder, Problems> {
        ModelBuilder::from_configuration(Configuration::from_yaml(text, file)?)
    }

    fn model(&mut self) -> &mut Model {
        &mut self.config.models[&self.root]
    }

    /// Adds a component. `ports` are pairs of operator (such as `"O_I"`) and port name; without pairs, the
    /// component has the ports of its program, or else those that conduits name. `multiplicity` is the
    /// shape of its set of instances, empty for one instance.
    pub fn add_component(
        &mut self,
        name: &str,
        implementation: Option<&str>,
        ports: &[(&str, &str)],
        multiplicity: &[usize],
    ) -> Result<&mut Self, BuildError> {
        let mut component = Component::new(Reference::new(name)?);
        if self.model().components.contains_key(&component.name) {
            return Err(BuildError::Duplicate { what: "component", name: name.to_owned() });
        }
        if multiplicity.contains(&0) {
            return Err(BuildError::NoInstances(name.to_owned()));
        }
        component.implementation = implementation.map(Reference::new).transpose()?;
        component.multiplicity = multiplicity.to_vec();
        if !ports.is_empty() {
            component.ports = Some(make_ports(ports)?);
        }
        self.model().components.insert(component.name.clone(), component);
        Ok(self)
    }

    /// Adds a port to an existing component.
    pub fn add_port(&mut self, component: &str, operator: &str, port: &str) -> Result<&mut Self, BuildError> {
        let (name, new) = one_port(operator, port)?;
        let reference = Reference::new(component)?;
        let found = self.model().components.get_mut(&reference);
        let ports = &mut found.ok_or_else(|| BuildError::NoComponent(component.to_owned()))?.ports;
        if ports.get_or_insert_default().insert(name, new).is_some() {
            return Err(BuildError::Duplicate { what: "port", name: format!("{component}.{port}") });
        }
        Ok(self)
    }

    /// Joins `component.port` to `component.port`. Several conduits from one sender make a multicast. A
    /// slot of a vector port is given as `component.port[slot]`.
    pub fn connect(&mut self, sender: &str, receiver: &str) -> Result<&mut Self, BuildError> {
        self.connect_filtered(sender, receiver, &[])
    }

    /// Does the same as `connect`, with filters by name.
    pub fn connect_filtered(
        &mut self,
        sender: &str,
        receiver: &str,
        filters: &[&str],
    ) -> Result<&mut Self, BuildError> {
        let end = |text: &str| -> Result<Reference, BuildError> {
            let reference = Reference::new(text)?;
            match split_end(&reference) {
                Some((path, _, _)) if !path.is_empty() => Ok(reference),
                _ => Err(BuildError::BadEnd(text.to_owned())),
            }
        };
        let mut conduit = Conduit::new(end(sender)?, end(receiver)?);
        for name in filters {
            let filter = ConduitFilter::from_name(name).ok_or_else(|| BuildError::Unknown {
                what: "filter",
                name: (*name).to_owned(),
                known: "last, repeat, pad",
            })?;
            conduit.filters.push(filter);
        }
        self.model().conduits.push(conduit);
        Ok(self)
    }

    /// Sets the filters under `ligament:` of one conduit, or of all conduits of a port. `name` is `a.out`,
    /// `b.in` or `a.out -> b.in`; `filters` are written as in a model file.
    pub fn set_filters(&mut self, name: &str, filters: &str) -> Result<&mut Self, BuildError> {
        let whole = |text: &str| -> Result<Reference, BuildError> {
            let reference = Reference::new(text.trim())?;
            match split_end(&reference) {
                Some((path, _, None)) if !path.is_empty() => Ok(reference),
                _ => Err(BuildError::BadEnd(text.to_owned())),
            }
        };
        let (port, receiver) = match name.split_once("->") {
            Some((from, to)) => (whole(from)?, Some(whole(to)?)),
            None => (whole(name)?, None),
        };
        let value = Filter::read(filters).map_err(BuildError::Filters)?.into();
        let said = ForConduit { port, receiver, value, at: At::default() };
        self.config.ligament.filters.insert(name.to_owned(), said);
        Ok(self)
    }

    /// Sets the unit of the values that a port, `component.port`, sends or receives.
    pub fn set_unit(&mut self, port: &str, unit: &str) -> Result<&mut Self, BuildError> {
        let port = Reference::new(port)?;
        self.config.ligament.units.insert(port, (unit.to_owned(), At::default()));
        Ok(self)
    }

    /// Adds a program.
    pub fn add_program(&mut self, program: Program) -> Result<&mut Self, BuildError> {
        if self.config.programs.contains_key(&program.name) {
            return Err(BuildError::Duplicate { what: "program", name: program.name.to_string() });
        }
        self.config.programs.insert(program.name.clone(), program);
        Ok(self)
    }

    /// Adds a program that is an executable with arguments.
    pub fn add_executable(
        &mut self,
        name: &str,
        executable: &str,
        args: &[&str],
    ) -> Result<&mut Self, BuildError> {
        let mut program = Program::new(Reference::new(name)?);
        program.executable = Some(executable.to_owned());
        if !args.is_empty() {
            program.args = Some(args.iter().map(|a| (*a).to_owned()).collect());
        }
        self.add_program(program)
    }

    /// Sets a setting, such as `x` for all components or `micro.x` for one.
    pub fn set(&mut self, name: &str, value: SettingValue) -> Result<&mut Self, BuildError> {
        self.config.settings.set(Reference::new(name)?, value);
        Ok(self)
    }

    /// Sets the resources that each instance of a component needs.
    pub fn set_resources(&mut self, component: &str, resources: Resources) -> Result<&mut Self, BuildError> {
        let name = self.root.join(&Reference::new(component)?);
        let requirements = ResourceRequirements { name: name.clone(), resources, at: Default::default() };
        self.config.resources.insert(name, requirements);
        Ok(self)
    }

    /// Returns the configuration as it is now.
    pub fn configuration(&self) -> &Configuration {
        &self.config
    }

    /// Returns the configuration, so that it can be changed further.
    pub fn configuration_mut(&mut self) -> &mut Configuration {
        &mut self.config
    }

    /// Returns the configuration, and ends building.
    pub fn into_configuration(self) -> Configuration {
        self.config
    }

    /// Returns the model as yMMSL v0.2.
    pub fn to_yaml(&self) -> String {
        self.config.to_yaml()
    }

    /// Makes the instances and channels of a run of this model.
    pub fn expand(&self) -> Result<ResolvedModel, Problems> {
        self.config.expand_with(&ExpandOptions::default())
    }
}

fn one_port(operator: &str, name: &str) -> Result<(Identifier, Port), BuildError> {
    let operator = Operator::from_name(operator).ok_or_else(|| BuildError::Unknown {
        what: "operator",
        name: operator.to_owned(),
        known: "F_INIT, O_I, S, O_F",
    })?;
    let name = Identifier::new(name)?;
    Ok((name.clone(), Port::new(name, operator)))
}

fn make_ports(ports: &[(&str, &str)]) -> Result<Ports, BuildError> {
    let mut made = Ports::with_capacity(ports.len());
    for (operator, name) in ports {
        let (name, port) = one_port(operator, name)?;
        if made.insert(name.clone(), port).is_some() {
            return Err(BuildError::Duplicate { what: "port", name: name.to_string() });
        }
    }
    Ok(made)
}
