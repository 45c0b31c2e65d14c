//! The timeline of each component of a model, and the check that conduits join timelines that fit. A
//! component has a timeline of its own, within the timeline that its `F_INIT` messages come from. An `O_I`
//! or `S` port is on the component's timeline, or on another that the component names. The rules are those
//! of yMMSL 0.2.

use crate::configuration::{is_implicit_port, Configuration};
use crate::graph::{Conduit, ConduitFilter, Model, Operator, Port, Ports};
use crate::identity::{Identifier, Reference, ReferencePart};
use crate::problem::Problem;
use crate::steps::ConduitSteps;
use crate::structure::component_ports;
use ligament_catalogue::Code;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A timeline within a model, outermost part first; empty for the timeline of the model as a whole.
type TimelinePath = Vec<Reference>;

/// The timelines of a model's components.
pub struct ModelTimelines<'a> {
    model: &'a Model,
    ports: Vec<Cow<'a, Ports>>,
    /// For each component the timeline around its own, once it is known.
    parents: Vec<Option<TimelinePath>>,
    problems: Vec<Problem>,
}

/// One end of a conduit.
struct TimelineEnd<'a> {
    /// None for a port of the model itself.
    component: Option<usize>,
    port: Option<&'a Port>,
}

impl<'a> ModelTimelines<'a> {
    /// Finds the timelines of all components, and notes contradictions.
    pub fn of(config: &'a Configuration, model: &'a Model) -> ModelTimelines<'a> {
        let ports = component_ports(config, model);
        let parents = vec![None; model.components.len()];
        let mut found = ModelTimelines { model, ports, parents, problems: Vec::new() };
        found.place_components();
        found
    }

    /// Returns the number of timelines around each component's own, in the order of the components.
    pub fn depths(&self) -> Vec<usize> {
        self.parents.iter().map(|parent| parent.as_ref().map_or(0, Vec::len)).collect()
    }

    /// Returns true if the operators of all ports are known. In files that declare no ports, the operators
    /// are guesses.
    fn is_certain(&self) -> bool {
        let all = self.ports.iter().flat_map(|ports| ports.values());
        all.chain(self.model.ports.values()).all(|port| !port.inferred && port.operator != Operator::None)
    }

    /// Returns the contradictions, those of conduits included.
    fn into_problems(mut self) -> Vec<Problem> {
        if !self.is_certain() {
            return Vec::new();
        }
        if self.problems.is_empty() {
            for conduit in &self.model.conduits {
                self.check_conduit(conduit);
            }
        }
        self.problems
    }

    fn end(&self, end: Option<(&[ReferencePart], &Identifier, Option<usize>)>) -> Option<TimelineEnd<'_>> {
        let (path, port, _) = end?;
        if path.is_empty() {
            return Some(TimelineEnd { component: None, port: self.model.ports.get(port) });
        }
        let component = self.model.components.get_index_of(path)?;
        let found = self.ports[component].get(port);
        (found.is_some() || is_implicit_port(port))
            .then_some(TimelineEnd { component: Some(component), port: found })
    }

    /// Returns the timeline of the messages of a port; `None` if it is not known.
    fn of_messages(&self, end: &TimelineEnd<'_>) -> Option<TimelinePath> {
        let name = match end.component {
            Some(component) => self.model.components.get_index(component)?.0,
            None => &self.model.name,
        };
        let mut timeline = match end.component {
            Some(component) => self.parents[component].clone()?,
            None => TimelinePath::new(),
        };
        match end.port.filter(|port| !port.timeline.is_empty()) {
            Some(port) => timeline.extend(port.timeline.parts().iter().map(|part| name.join(part))),
            None => timeline.push(name.clone()),
        }
        // The settings port has the operator F_INIT.
        if !matches!(end.port.map(|port| port.operator), Some(Operator::OI | Operator::S)) {
            timeline.pop();
        }
        Some(timeline)
    }

    /// Returns the conduits that lead to `F_INIT` ports, by component.
    fn starts(&self) -> Vec<Vec<&'a Conduit>> {
        let mut starts = vec![Vec::new(); self.parents.len()];
        for conduit in &self.model.conduits {
            let Some(TimelineEnd { component: Some(component), port }) = self.end(conduit.receiving_end())
            else {
                continue;
            };
            if port.is_none_or(|port| port.operator == Operator::FInit) {
                starts[component].push(conduit);
            }
        }
        starts
    }

    /// Finds the timeline of each component, after those of the components that its start messages come
    /// from.
    fn place_components(&mut self) {
        let starts = self.starts();
        for first in 0..self.parents.len() {
            let mut open = if self.parents[first].is_some() { Vec::new() } else { vec![(first, 0)] };
            let mut on_path = HashSet::from([first]);
            while let Some((component, next)) = open.last_mut() {
                let component = *component;
                let Some(conduit) = starts[component].get(*next) else {
                    open.pop();
                    on_path.remove(&component);
                    let parent = self.parent(component, &starts[component]);
                    self.parents[component] = Some(parent);
                    continue;
                };
                *next += 1;
                let sender = self.end(conduit.sending_end()).and_then(|end| end.component);
                let Some(sender) = sender.filter(|&sender| self.parents[sender].is_none()) else { continue };
                if on_path.insert(sender) {
                    open.push((sender, 0));
                } else {
                    self.circle(component, conduit);
                }
            }
        }
    }

    /// Returns the timeline that the start messages of a component come from.
    fn parent(&mut self, component: usize, starts: &[&Conduit]) -> TimelinePath {
        let mut first: Option<(&Conduit, TimelinePath)> = None;
        for &conduit in
            starts.iter().filter(|conduit| conduit.filters.iter().all(|f| *f == ConduitFilter::Last))
        {
            let sent = self.end(conduit.sending_end()).and_then(|end| self.of_messages(&end));
            let Some(mut timeline) = sent else { continue };
            let Some(left) = timeline.len().checked_sub(conduit.filters.len()) else {
                self.too_many_last(conduit, &timeline);
                continue;
            };
            timeline.truncate(left);
            match &first {
                None => first = Some((conduit, timeline)),
                Some((_, known)) if *known == timeline => {}
                Some((other, known)) => {
                    let name = self.model.components.get_index(component).map(|(name, _)| name.to_string());
                    let problem = Problem::error(
                        Code::TIMELINE_MISMATCH,
                        &conduit.at,
                        format!(
                            "the F_INIT ports of \"{}\" receive on different timelines: \"{}\" on {}, \"{}\" \
                             on {}",
                            name.unwrap_or_default(),
                            other.receiver,
                            written(known),
                            conduit.receiver,
                            written(&timeline)
                        ),
                        "let all of them receive on the innermost one: \"repeat\" or \"pad\" before a receiver \
                         gives it what comes less often, \"last\" passes on what comes more often",
                    );
                    self.problems.push(problem);
                }
            }
        }
        first.map_or_else(TimelinePath::new, |(_, timeline)| timeline)
    }

    fn circle(&mut self, component: usize, conduit: &Conduit) {
        let name = self.model.components.get_index(component).map(|(name, _)| name.to_string());
        self.problems.push(Problem::error(
            Code::TIMELINE_MISMATCH,
            &conduit.at,
            format!("what starts \"{}\" follows from its own output", name.unwrap_or_default()),
            "let one of the components receive on an S port, within its loop, or begin the circle elsewhere",
        ));
    }

    fn too_many_last(&mut self, conduit: &Conduit, timeline: &TimelinePath) {
        let many = conduit.filters.iter().filter(|filter| **filter == ConduitFilter::Last).count();
        self.problems.push(Problem::error(
            Code::TIMELINE_MISMATCH,
            &conduit.filters_at,
            format!(
                "\"last\" stands {many} times in the conduit from \"{}\" to \"{}\", and the messages of \"{}\" \
                 are on {}, which lies in {} only",
                conduit.sender,
                conduit.receiver,
                conduit.sender,
                written(timeline),
                match timeline.len() {
                    1 => "one timeline".to_owned(),
                    n => format!("{n} timelines"),
                }
            ),
            "remove those that are too many",
        ));
    }

    fn check_conduit(&mut self, conduit: &Conduit) {
        let (sender, receiver) = (self.end(conduit.sending_end()), self.end(conduit.receiving_end()));
        let (Some(sender), Some(receiver)) = (sender, receiver) else { return };
        let (Some(sent), Some(received)) = (self.of_messages(&sender), self.of_messages(&receiver)) else {
            return;
        };
        let of_model = sender.component.is_none() || receiver.component.is_none();
        let last = conduit.filters.iter().filter(|filter| **filter == ConduitFilter::Last).count();
        let repeats = conduit.filters.len() - last;
        let Some(common) = sent.len().checked_sub(last) else {
            self.too_many_last(conduit, &sent);
            return;
        };
        if last.max(repeats).max(sent.len()).max(received.len()) > ConduitSteps::MAX_FILTERS_OF_A_KIND {
            let message = format!(
                "timelines are nested more than {} deep on this conduit",
                ConduitSteps::MAX_FILTERS_OF_A_KIND
            );
            let advice = "put fewer models or filters around each other";
            self.problems.push(Problem::error(Code::TIMELINE_MISMATCH, &conduit.at, message, advice));
            return;
        }
        if common + repeats != received.len() {
            let advice = match (common + repeats < received.len(), last, repeats) {
                (true, 0, _) => {
                    "repeat it with \"repeat\" or \"pad\" before the receiver, once for each timeline"
                }
                (true, ..) => "remove a \"last\" before the receiver, or add a \"repeat\" or \"pad\"",
                (false, _, 0) => {
                    "let only the last one pass, with \"last\" before the receiver, once for each timeline"
                }
                (false, ..) => "remove a \"repeat\" or \"pad\" before the receiver, or add a \"last\"",
            };
            self.mismatch(conduit, &sent, &received, advice);
            return;
        }
        // The timelines of a model's own ports have different names inside and outside the model.
        if of_model {
            return;
        }
        let (from, to) = (sent[..common].to_vec(), received[..received.len() - repeats].to_vec());
        let declared = self.model.matching_timelines.iter().any(|matching| {
            let mut all = matching.matches.iter().chain([&matching.head]).map(|timeline| timeline.parts());
            let (mut first, mut second) = (false, false);
            all.by_ref().for_each(|parts| {
                first |= parts == from;
                second |= parts == to;
            });
            first && second
        });
        if declared {
            return;
        }
        if from != to {
            let advice =
                "if both have the same points in time, say so under \"matching_timelines:\"; else let \
                          one component call the other, from O_I to F_INIT and from O_F to S";
            self.mismatch(conduit, &sent, &received, advice);
        } else if sent.iter().zip(&received).skip(common).any(|(one, other)| one == other) {
            self.mismatch(conduit, &sent, &received, "remove a \"last\" and a \"repeat\" or \"pad\"");
        }
    }

    fn mismatch(&mut self, conduit: &Conduit, sent: &TimelinePath, received: &TimelinePath, advice: &str) {
        let filters: Vec<&str> = conduit.filters.iter().map(|filter| filter.name()).collect();
        let through =
            if filters.is_empty() { String::new() } else { format!(" through \"{}\"", filters.join(" ")) };
        self.problems.push(Problem::error(
            Code::TIMELINE_MISMATCH,
            &conduit.at,
            format!(
                "\"{}\" sends on {} and \"{}\" receives on {}, which do not match{through}",
                conduit.sender,
                written(sent),
                conduit.receiver,
                written(received)
            ),
            advice,
        ));
    }
}

/// Returns a timeline as text for messages.
fn written(timeline: &TimelinePath) -> String {
    if timeline.is_empty() {
        "the model's own timeline".to_owned()
    } else {
        let parts: Vec<String> = timeline.iter().map(Reference::to_string).collect();
        format!("the timeline {}", parts.join(":"))
    }
}

/// Returns the contradictions in the timelines of `root` and of the models in it; none if no model has
/// timelines or filters.
pub fn check_timelines(config: &Configuration, root: &Reference) -> Vec<Problem> {
    let mut used: HashMap<&Reference, &Model> = HashMap::new();
    let mut order = Vec::new();
    let mut open = vec![root];
    while let Some(name) = open.pop() {
        let Some((name, model)) = config.models.get_key_value(name) else { continue };
        if used.insert(name, model).is_some() {
            continue;
        }
        order.push(model);
        open.extend(model.components.values().rev().filter_map(|component| component.implementation.as_ref()));
        let custom = config.custom_implementations.values().filter_map(|(name, _)| name.as_ref());
        open.extend(custom);
    }
    let speaks = order.iter().any(|model| {
        let ports = component_ports(config, model);
        let mut all = ports.iter().flat_map(|ports| ports.values()).chain(model.ports.values());
        !model.matching_timelines.is_empty()
            || model.conduits.iter().any(|conduit| !conduit.filters.is_empty())
            || all.any(|port| !port.timeline.is_empty())
    });
    // Without timelines and filters, no message depends on timelines, and two loops that exchange messages
    // need not declare that they match.
    if speaks {
        order.into_iter().flat_map(|model| ModelTimelines::of(config, model).into_problems()).collect()
    } else {
        Vec::new()
    }
}
