//! The check that conduits join ports that exist and fit, and the ports of a component that declares none.

use crate::configuration::{is_implicit_port, Configuration};
use crate::graph::{Component, Conduit, Model, Operator, Port, Ports, Timeline, SETTINGS_PORT};
use crate::identity::{parts_to_string, Identifier, Reference, ReferencePart};
use crate::problem::{nearest, At, Problem};
use crate::shipped::ShippedComponent;
use ligament_catalogue::Code;
use std::borrow::Cow;
use std::collections::hash_map::{Entry, HashMap};

/// Returns the ports of each component of a model, in the order of its components: the ports that the
/// component declares, else those of its implementation, else those that the model's conduits name, marked
/// as inferred.
pub fn component_ports<'a>(config: &'a Configuration, model: &'a Model) -> Vec<Cow<'a, Ports>> {
    let mut open = Vec::new();
    let mut all: Vec<Cow<'a, Ports>> = model
        .components
        .values()
        .enumerate()
        .map(|(i, component)| match declared_ports(config, component) {
            Some(ports) => Cow::Borrowed(ports),
            None => {
                open.push(i);
                Cow::Owned(Ports::new())
            }
        })
        .collect();
    if open.is_empty() {
        return all;
    }
    let is_open: std::collections::HashSet<usize> = open.into_iter().collect();
    for conduit in &model.conduits {
        let ends = [
            (conduit.sending_end(), Operator::OF, &conduit.at),
            (conduit.receiving_end(), Operator::FInit, &conduit.receiver_at),
        ];
        for (end, operator, at) in ends {
            let Some((path, port, _)) = end else { continue };
            let Some(i) = model.components.get_index_of(path).filter(|i| is_open.contains(i)) else {
                continue;
            };
            // A shipped component has the ports that conduits name.
            let program =
                model.components[i].implementation.as_ref().and_then(|name| config.programs.get(name));
            let shipped = program.and_then(|program| program.shipped());
            let inferred = shipped.is_none();
            if operator == Operator::FInit && is_implicit_port(port) {
                continue;
            }
            let operator = match (shipped.map(ShippedComponent::free_operators), operator.receives()) {
                (Some((receiving, _)), true) => receiving,
                (Some((_, sending)), false) => sending,
                (None, _) => operator,
            };
            all[i].to_mut().entry(port.clone()).or_insert_with(|| Port {
                name: port.clone(),
                operator,
                timeline: Timeline::default(),
                inferred,
                at: at.clone(),
            });
        }
    }
    all
}

/// Returns the ports that a component or its implementation declares.
fn declared_ports<'a>(config: &'a Configuration, component: &'a Component) -> Option<&'a Ports> {
    if let Some(ports) = &component.ports {
        return Some(ports);
    }
    let implementation = component.implementation.as_ref()?;
    config
        .models
        .get(implementation)
        .map(|m| &m.ports)
        .or_else(|| config.programs.get(implementation).map(|p| &p.ports).filter(|p| !p.is_empty()))
}

/// Checks the conduits of every model: components and ports must exist, the ports must send and receive as
/// the conduit needs, and no port may receive from two senders. The time is linear in the number of
/// conduits.
pub fn check_structure(config: &Configuration) -> Vec<Problem> {
    let mut problems = Vec::new();
    for model in config.models.values() {
        let ports = component_ports(config, model);
        let mut check = StructureCheck {
            config,
            model,
            ports,
            problems: &mut problems,
            receivers: HashMap::new(),
            directions: HashMap::new(),
        };
        for conduit in &model.conduits {
            check.conduit(conduit);
            // Suggestions take long for thousands of wrong names, and no user reads so many.
            if check.problems.len() >= MAX_PROBLEMS {
                return problems;
            }
        }
    }
    problems
}

/// Number of problems after which no more conduits are checked.
const MAX_PROBLEMS: usize = 500;

/// A side of a conduit.
#[derive(Clone, Copy, PartialEq)]
enum ConduitSide {
    Sender,
    Receiver,
}

struct StructureCheck<'a, 'p> {
    config: &'a Configuration,
    model: &'a Model,
    ports: Vec<Cow<'a, Ports>>,
    problems: &'p mut Vec<Problem>,
    /// Receiving ports that are connected already.
    receivers: HashMap<&'a [ReferencePart], PortUse<'a>>,
    /// The direction of ports without a known operator, and the conduit that shows the direction.
    directions: HashMap<(&'a [ReferencePart], &'a Identifier), (ConduitSide, &'a Conduit)>,
}

/// The conduits by which a receiving port is connected.
enum PortUse<'a> {
    /// One conduit without a slot.
    Whole(&'a Conduit),
    /// One conduit for each of these slots.
    Slots(HashMap<usize, &'a Conduit>),
}

/// One end of a conduit, resolved.
#[derive(Clone, Copy)]
struct ResolvedEnd<'a> {
    /// Empty for a port of the model itself.
    path: &'a [ReferencePart],
    port: &'a Identifier,
    slot: Option<usize>,
    /// The component of this path, with its position, if there is one.
    component: Option<(usize, &'a Reference, &'a Component)>,
}

impl<'a> StructureCheck<'a, '_> {
    fn error(&mut self, code: Code, at: &At, message: String, advice: String) {
        self.problems.push(Problem::error(code, at, message, advice));
    }

    fn conduit(&mut self, conduit: &'a Conduit) {
        let (from, to) = (self.look_up(conduit.sending_end()), self.look_up(conduit.receiving_end()));
        if self.is_reversed(from, to) {
            self.error(
                Code::WRONG_DIRECTION,
                &conduit.at,
                format!(
                    "this conduit leads from \"{}\", which receives, to \"{}\", which sends",
                    conduit.sender, conduit.receiver
                ),
                format!("exchange its ends: {}: {}", conduit.receiver, conduit.sender),
            );
            return;
        }
        self.end(conduit, from, ConduitSide::Sender);
        self.end(conduit, to, ConduitSide::Receiver);
        self.one_sender(conduit);
    }

    fn look_up(
        &self,
        end: Option<(&'a [ReferencePart], &'a Identifier, Option<usize>)>,
    ) -> Option<ResolvedEnd<'a>> {
        let (path, port, slot) = end?;
        Some(ResolvedEnd { path, port, slot, component: self.model.components.get_full(path) })
    }

    /// Returns true if a conduit between these ends would be correct with its ends exchanged.
    fn is_reversed(&self, from: Option<ResolvedEnd<'_>>, to: Option<ResolvedEnd<'_>>) -> bool {
        let operator = |end: Option<ResolvedEnd<'_>>| {
            let (end, (index, ..)) = end.and_then(|end| Some((end, end.component?)))?;
            let port = self.ports[index].get(end.port)?;
            (!port.inferred).then_some(port.operator)
        };
        operator(from).is_some_and(Operator::receives) && operator(to).is_some_and(Operator::sends)
    }

    /// Checks one end. Returns true if the end is a port of the model itself, and `None` if the end is
    /// wrong.
    fn end(&mut self, conduit: &'a Conduit, end: Option<ResolvedEnd<'a>>, side: ConduitSide) -> Option<bool> {
        let (reference, at) = match side {
            ConduitSide::Sender => (&conduit.sender, &conduit.at),
            ConduitSide::Receiver => (&conduit.receiver, &conduit.receiver_at),
        };
        let Some(ResolvedEnd { path, port, slot, component }) = end else {
            self.error(
                Code::BAD_CONDUIT,
                at,
                format!("\"{reference}\" names no port"),
                "write it as component.port, or component.port[slot]".into(),
            );
            return None;
        };
        if path.is_empty() {
            if self.model.ports.is_empty() && self.model.components.contains_key(reference) {
                self.error(
                    Code::MISSING_PORT_NAME,
                    at,
                    format!("\"{port}\" is a component; its port is missing"),
                    self.port_advice(reference.parts(), side).unwrap_or_else(|| format!("write {port}.port")),
                );
                return None;
            }
            return self.model_port(port, slot, side, at).then_some(true);
        }
        let Some((index, name, component)) = component else {
            let path = parts_to_string(path);
            let names: Vec<String> = self.model.components.keys().map(Reference::to_string).collect();
            let advice = match nearest(&path, names.iter().map(String::as_str)) {
                Some(meant) => self.component_meant(meant, port, side),
                None if names.is_empty() => "add the component under \"components:\"".into(),
                None => format!("add it under \"components:\", or use one of: {}", listed(&names)),
            };
            self.error(
                Code::UNKNOWN_COMPONENT,
                at,
                format!("there is no component \"{path}\" in the model \"{}\"", self.model.name),
                advice,
            );
            return None;
        };
        let is_model = component.implementation.as_ref().is_some_and(|i| self.config.models.contains_key(i));
        if is_model && slot.is_some() {
            self.slot_on_model(reference, at);
            return None;
        }
        let ports = &self.ports[index];
        match ports.get(port) {
            Some(found) if found.operator == Operator::None || found.inferred => {
                if let Some(other) = self.used_the_other_way(path, port, side, conduit) {
                    let [sends, receives] = match side {
                        ConduitSide::Sender => [conduit.at.line, other.at.line],
                        ConduitSide::Receiver => [other.at.line, conduit.at.line],
                    };
                    self.error(
                        Code::DUPLICATE_PORT,
                        at,
                        format!(
                            "\"{name}.{port}\" sends in the conduit of line {sends} and receives in that of \
                             line {receives}"
                        ),
                        "a port does one of the two; give the other one a name of its own, here and in the \
                         code"
                            .into(),
                    );
                    return None;
                }
            }
            Some(found) if side == ConduitSide::Sender && found.operator.sends() => {}
            Some(found) if side == ConduitSide::Receiver && found.operator.receives() => {}
            Some(found) => {
                let operator = found.operator;
                let advice = self.port_advice(name.parts(), side).unwrap_or_else(|| {
                    "exchange the two ends of the conduit, or declare the port under another operator".into()
                });
                let (does, cannot) = match side {
                    ConduitSide::Sender => ("receives", "begin"),
                    ConduitSide::Receiver => ("sends", "end"),
                };
                self.error(
                    Code::WRONG_DIRECTION,
                    at,
                    format!(
                        "\"{name}.{port}\" is a port of {operator}, which {does}, so no conduit can \
                             {cannot} there"
                    ),
                    advice,
                );
                return None;
            }
            None if side == ConduitSide::Receiver && is_implicit_port(port) => {}
            None => {
                self.unknown_port(name, port, index, side, at);
                return None;
            }
        }
        Some(false)
    }

    /// Returns the conduit that uses a port without an operator in the other direction, if there is one.
    fn used_the_other_way(
        &mut self,
        path: &'a [ReferencePart],
        port: &'a Identifier,
        side: ConduitSide,
        conduit: &'a Conduit,
    ) -> Option<&'a Conduit> {
        let (known, by) = *self.directions.entry((path, port)).or_insert((side, conduit));
        (known != side).then_some(by)
    }

    fn slot_on_model(&mut self, reference: &Reference, at: &At) {
        self.error(
            Code::SLOT_ON_MODEL,
            at,
            format!("\"{reference}\" gives a slot on a port of a model"),
            "slots can only be given on components that a program implements".into(),
        );
    }

    fn model_port(&mut self, port: &Identifier, slot: Option<usize>, side: ConduitSide, at: &At) -> bool {
        if slot.is_some() {
            self.slot_on_model(&Reference::from(port.clone()), at);
            return false;
        }
        // Inside the model, its receiving port sends on the messages from outside, and its sending port
        // receives.
        let fits = |p: &Port| match side {
            ConduitSide::Sender => p.operator.receives(),
            ConduitSide::Receiver => p.operator.sends(),
        };
        match self.model.ports.get(port) {
            Some(found) if fits(found) => true,
            Some(found) => {
                let (operators, word) = match side {
                    ConduitSide::Sender => ("f_init or s", "from"),
                    ConduitSide::Receiver => ("o_i or o_f", "to"),
                };
                let message = format!(
                    "the model's own port \"{port}\" is one of {}, so nothing can go {word} it here",
                    found.operator
                );
                self.error(
                    Code::WRONG_DIRECTION,
                    at,
                    message,
                    format!("use a port that the model declares under {operators}"),
                );
                false
            }
            None => {
                let names: Vec<String> =
                    self.model.ports.values().filter(|p| fits(p)).map(|p| p.name.to_string()).collect();
                let advice = match nearest(port.as_str(), names.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None if !names.is_empty() => {
                        format!("write component.port, or one of the model's: {}", listed(&names))
                    }
                    None => "write it as component.port, with a period between them".into(),
                };
                self.error(
                    Code::UNKNOWN_PORT,
                    at,
                    format!("the model \"{}\" has no port \"{port}\" of its own", self.model.name),
                    advice,
                );
                false
            }
        }
    }

    fn unknown_port(&mut self, name: &Reference, port: &Identifier, index: usize, side: ConduitSide, at: &At) {
        let names: Vec<&str> = self.ports[index].keys().map(Identifier::as_str).collect();
        let section = match side {
            ConduitSide::Sender => "o_i or o_f",
            ConduitSide::Receiver => "f_init or s",
        };
        let advice = match nearest(port.as_str(), names.iter().copied()) {
            Some(meant) => format!("did you mean \"{name}.{meant}\"?"),
            None => self
                .port_advice(name.parts(), side)
                .map(|a| format!("{a}, or declare \"{port}\" among its ports under {section}"))
                .unwrap_or_else(|| format!("declare \"{port}\" among its ports under {section}")),
        };
        self.error(Code::UNKNOWN_PORT, at, format!("the component \"{name}\" has no port \"{port}\""), advice);
    }

    /// Returns the component that was most likely intended, and its port, if a port is likely.
    fn component_meant(&self, meant: &str, port: &Identifier, side: ConduitSide) -> String {
        let has_others = |index: usize| {
            let ports = &self.ports[index];
            !ports.contains_key(port) && ports.values().any(|declared| !declared.inferred)
        };
        let mut components = self.model.components.keys().enumerate();
        let component = components.find(|(_, name)| name.to_string() == meant);
        let other = component.filter(|&(index, _)| has_others(index));
        match other.and_then(|(_, name)| self.port_advice(name.parts(), side)) {
            Some(advice) => format!("did you mean \"{meant}\"? {advice}"),
            None => format!("did you mean \"{meant}.{port}\"?"),
        }
    }

    /// Returns "it sends on: a, b", if the component has such ports.
    fn port_advice(&self, component: &[ReferencePart], side: ConduitSide) -> Option<String> {
        let index = self.model.components.get_index_of(component)?;
        let names: Vec<String> = self.ports[index]
            .values()
            .filter(|p| match side {
                ConduitSide::Sender => p.operator.sends(),
                ConduitSide::Receiver => p.operator.receives(),
            })
            .map(|p| p.name.to_string())
            .collect();
        let verb = match side {
            ConduitSide::Sender => "sends",
            ConduitSide::Receiver => "receives",
        };
        (!names.is_empty()).then(|| format!("\"{}\" {verb} on: {}", parts_to_string(component), listed(&names)))
    }

    fn one_sender(&mut self, conduit: &'a Conduit) {
        let (stem, slot) = match conduit.receiver.parts() {
            [stem @ .., ReferencePart::Index(slot)] => (stem, Some(*slot)),
            stem => (stem, None),
        };
        let clash = match (self.receivers.entry(stem), slot) {
            (Entry::Vacant(place), slot) => {
                place.insert(match slot {
                    None => PortUse::Whole(conduit),
                    Some(slot) => PortUse::Slots(HashMap::from([(slot, conduit)])),
                });
                None
            }
            (Entry::Occupied(taken), slot) => match (taken.into_mut(), slot) {
                (PortUse::Whole(first), _) => Some(*first),
                (PortUse::Slots(slots), None) => slots.values().next().copied(),
                (PortUse::Slots(slots), Some(slot)) => match slots.entry(slot) {
                    Entry::Occupied(first) => Some(*first.get()),
                    Entry::Vacant(place) => {
                        place.insert(conduit);
                        None
                    }
                },
            },
        };
        if let Some(first) = clash {
            let port = match stem {
                [.., ReferencePart::Name(port)] => port.as_str(),
                _ => "",
            };
            let message = format!(
                "\"{}\" receives from \"{}\" here, and from \"{}\" in line {} already",
                conduit.receiver, conduit.sender, first.sender, first.at.line
            );
            let advice = if port == SETTINGS_PORT {
                "remove one of the two conduits; settings come from one sender".to_owned()
            } else {
                "remove one of the two conduits, or give the component a port for each sender".to_owned()
            };
            self.error(Code::TWO_SENDERS, &conduit.receiver_at, message, advice);
        }
    }
}

/// Returns at most six names, with commas.
pub(crate) fn listed(names: &[String]) -> String {
    match names.len() {
        0..=6 => names.join(", "),
        n => format!("{}, … ({n} in all)", names[..6].join(", ")),
    }
}
