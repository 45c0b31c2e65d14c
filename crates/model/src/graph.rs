//! The graph: components with ports, conduits between them, and the models that hold both.

use crate::identity::{Identifier, Reference, ReferencePart};
use crate::problem::At;
use crate::settings::SupportedSetting;
use indexmap::IndexMap;
use std::fmt;

/// The port on which every component can receive settings, declared or not.
pub const SETTINGS_PORT: &str = "muscle_settings_in";

/// The moment of a component's execution loop in which a port is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub enum Operator {
    /// The operator is not known.
    #[serde(rename = "NONE")]
    None,
    /// The port receives when the loop begins.
    #[serde(rename = "F_INIT")]
    FInit,
    /// The port sends within the loop.
    #[serde(rename = "O_I")]
    OI,
    /// The port receives within the loop. The operator `B` (boundary) of xMML is read as this one.
    #[serde(rename = "S")]
    S,
    /// The port sends when the loop ends.
    #[serde(rename = "O_F")]
    OF,
}

impl Operator {
    /// Reads `F_INIT`, `O_I`, `S`, `O_F`, `B` or `NONE`, in any case.
    pub fn from_name(name: &str) -> Option<Operator> {
        Some(match name.to_ascii_uppercase().as_str() {
            "NONE" => Operator::None,
            "F_INIT" => Operator::FInit,
            "O_I" => Operator::OI,
            "S" | "B" => Operator::S,
            "O_F" => Operator::OF,
            _ => return None,
        })
    }

    /// The name in capitals, as MUSCLE 3 writes it.
    pub fn name(self) -> &'static str {
        match self {
            Operator::None => "NONE",
            Operator::FInit => "F_INIT",
            Operator::OI => "O_I",
            Operator::S => "S",
            Operator::OF => "O_F",
        }
    }

    /// Returns true if ports of this operator send.
    pub fn sends(self) -> bool {
        matches!(self, Operator::OI | Operator::OF)
    }

    /// Returns true if ports of this operator receive.
    pub fn receives(self) -> bool {
        matches!(self, Operator::FInit | Operator::S)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The timeline of a port, relative to the port's component: names with colons between them; empty for the
/// component's own timeline. Timelines are read and stored. A run does not use them yet, so the check
/// refuses them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timeline(Vec<Reference>);

impl Timeline {
    /// Reads `a:b.c`.
    pub fn new(text: &str) -> Result<Timeline, crate::InvalidName> {
        let text = text.trim_matches(':');
        if text.is_empty() {
            return Ok(Timeline::default());
        }
        Ok(Timeline(text.split(':').map(Reference::new).collect::<Result<_, _>>()?))
    }

    /// Returns true if this is the component's own timeline.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the parts of the timeline, outermost first.
    pub fn parts(&self) -> &[Reference] {
        &self.0
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(":")?;
            }
            write!(f, "{part}")?;
        }
        Ok(())
    }
}

/// A port of a component, program or model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: Identifier,
    /// The moment in which the port is used. For an inferred port, `FInit` if it receives and `OF` if it
    /// sends.
    pub operator: Operator,
    /// The timeline of the port, relative to its component.
    pub timeline: Timeline,
    /// True if the port was found in a conduit of a file that declares no ports (v0.1), so that its
    /// operator is a guess.
    pub inferred: bool,
    /// The place of its declaration.
    pub at: At,
}

impl Port {
    /// A declared port on its component's own timeline.
    pub fn new(name: Identifier, operator: Operator) -> Port {
        Port { name, operator, timeline: Timeline::default(), inferred: false, at: At::default() }
    }
}

/// Ports by name, in the order in which they were declared.
pub type Ports = IndexMap<Identifier, Port>;

/// A component of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Its name within its model.
    pub name: Reference,
    /// Its description, in words.
    pub description: String,
    /// The ports; `None` if the component declares none, and then has those of its implementation.
    pub ports: Option<Ports>,
    /// The program or model that does its work.
    pub implementation: Option<Reference>,
    /// True if the component and its conduits are left out when the component has no implementation.
    pub optional: bool,
    /// The shape of its set of instances; empty for a single instance.
    pub multiplicity: Vec<usize>,
    /// The place of its declaration.
    pub at: At,
    /// The place of its implementation's name.
    pub implementation_at: At,
}

impl Component {
    /// Makes a component with one instance, no ports and no implementation.
    pub fn new(name: Reference) -> Component {
        Component {
            name,
            description: String::new(),
            ports: None,
            implementation: None,
            optional: false,
            multiplicity: Vec::new(),
            at: At::default(),
            implementation_at: At::default(),
        }
    }

    /// Returns the number of instances, or `None` if the number is too large for its type.
    pub fn instance_count(&self) -> Option<usize> {
        self.multiplicity.iter().try_fold(1usize, |n, m| n.checked_mul(*m))
    }
}

/// The effect of a conduit on the messages that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConduitFilter {
    /// Only the last message passes.
    Last,
    /// One message is repeated as often as needed.
    Repeat,
    /// One message passes, followed by empty messages as needed.
    Pad,
}

impl ConduitFilter {
    /// All filters' names.
    pub const NAMES: [&'static str; 3] = ["last", "repeat", "pad"];

    /// Reads `last`, `repeat` or `pad`.
    pub fn from_name(name: &str) -> Option<ConduitFilter> {
        Some(match name {
            "last" => ConduitFilter::Last,
            "repeat" => ConduitFilter::Repeat,
            "pad" => ConduitFilter::Pad,
            _ => return None,
        })
    }

    /// The name in a file.
    pub fn name(self) -> &'static str {
        match self {
            ConduitFilter::Last => "last",
            ConduitFilter::Repeat => "repeat",
            ConduitFilter::Pad => "pad",
        }
    }

    /// Returns true if this filter may precede the other in a conduit: `last`, then `repeat`, then `pad`.
    pub fn may_precede(self, other: ConduitFilter) -> bool {
        let rank = |f| match f {
            ConduitFilter::Last => 0,
            ConduitFilter::Repeat => 1,
            ConduitFilter::Pad => 2,
        };
        rank(self) <= rank(other)
    }
}

/// A one-way connection from a sending port to a receiving port. Several conduits from one sender make a
/// multicast.
#[derive(Clone, Debug, PartialEq)]
pub struct Conduit {
    /// `component.port`, or only `port` for a port of the model itself. An index at the end is a slot.
    pub sender: Reference,
    /// Written in the same way as the sender.
    pub receiver: Reference,
    /// The filters on the way, in order.
    pub filters: Vec<ConduitFilter>,
    /// The place of the first filter, if there is one.
    pub filters_at: At,
    /// The place of the sender's name.
    pub at: At,
    /// The place of the receiver's name.
    pub receiver_at: At,
}

/// Returns the parts of one end of a conduit: the component's path, the port, and the slot if one is given.
pub(crate) fn split_end(end: &Reference) -> Option<(&[ReferencePart], &Identifier, Option<usize>)> {
    let (stem, slot) = match end.parts() {
        [stem @ .., ReferencePart::Index(slot)] => (stem, Some(*slot)),
        stem => (stem, None),
    };
    match stem {
        [component @ .., ReferencePart::Name(port)] => Some((component, port, slot)),
        _ => None,
    }
}

impl Conduit {
    /// A conduit without filters, made in code.
    pub fn new(sender: Reference, receiver: Reference) -> Conduit {
        Conduit {
            sender,
            receiver,
            filters: Vec::new(),
            filters_at: At::default(),
            at: At::default(),
            receiver_at: At::default(),
        }
    }

    /// Returns the component's path, the port and the slot of the sending end; `None` if the end has
    /// several slots.
    pub fn sending_end(&self) -> Option<(&[ReferencePart], &Identifier, Option<usize>)> {
        split_end(&self.sender)
    }

    /// Returns the component's path, the port and the slot of the receiving end; `None` if the end has
    /// several slots.
    pub fn receiving_end(&self) -> Option<(&[ReferencePart], &Identifier, Option<usize>)> {
        split_end(&self.receiver)
    }
}

impl fmt::Display for Conduit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> ", self.sender)?;
        for filter in &self.filters {
            write!(f, "{} ", filter.name())?;
        }
        write!(f, "{}", self.receiver)
    }
}

/// Timelines that are declared to have the same time points. They are read and stored. A run does not use
/// them yet, so the check refuses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchingTimelines {
    /// The timeline that the others follow.
    pub head: Timeline,
    /// The timelines that follow.
    pub matches: Vec<Timeline>,
    /// The place in the file.
    pub at: At,
}

/// A model: components and conduits, and ports of its own where it is used as an implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: Reference,
    /// Its description, in words.
    pub description: String,
    /// Ports by which the model is joined to the model that contains it.
    pub ports: Ports,
    /// The settings that the model understands, if it declares any.
    pub supported_settings: IndexMap<Identifier, SupportedSetting>,
    /// Its components by name.
    pub components: IndexMap<Reference, Component>,
    /// Its conduits in the order of the file.
    pub conduits: Vec<Conduit>,
    /// Declared matches between timelines.
    pub matching_timelines: Vec<MatchingTimelines>,
    /// True if only the model's name is known so far. v0.1 allows a file with only a name.
    pub name_only: bool,
    /// The place of its declaration.
    pub at: At,
}

impl Model {
    /// A model without components.
    pub fn new(name: Reference) -> Model {
        Model {
            name,
            description: String::new(),
            ports: Ports::new(),
            supported_settings: IndexMap::new(),
            components: IndexMap::new(),
            conduits: Vec::new(),
            matching_timelines: Vec::new(),
            name_only: false,
            at: At::default(),
        }
    }
}
