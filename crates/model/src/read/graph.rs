//! Reading models, components, ports and conduits.

use super::fields::{FieldReader, TextOrList};
use crate::configuration::Configuration;
use crate::graph::*;
use crate::identity::{Reference, ReferencePart};
use crate::problem::At;
use crate::yaml::{YamlKind, YamlNode};
use ligament_catalogue::{fault, Code};

const MODEL_V01: &[&str] = &["name", "components", "conduits"];
const MODEL_V02: &[&str] =
    &["name", "ports", "description", "supported_settings", "components", "conduits", "matching_timelines"];
const COMPONENT_V01: &[&str] = &["name", "implementation", "multiplicity", "ports"];
const COMPONENT_V02: &[&str] = &["name", "ports", "description", "implementation", "optional", "multiplicity"];
const PORTS: &[&str] = &["f_init", "o_i", "s", "o_f"];

impl FieldReader {
    pub(super) fn model_v01(&mut self, node: &YamlNode, out: &mut Configuration) {
        let map = self.mapping(node, "the model", MODEL_V01);
        let Some(name) = map.get("name") else {
            self.error(Code::MISSING_KEY, &node.at, "the model has no name", "add \"name: my_model\"");
            return;
        };
        let Some(name) = self
            .text(name, "the model's name")
            .and_then(|text| self.identifier_from(&text, &name.at, "the model's name"))
        else {
            return;
        };
        let mut model = Model::new(name.into());
        model.at = node.at.clone();
        model.name_only = !map.has("components");
        if let Some(components) = map.get("components") {
            self.components(components, true, &mut model);
        }
        if let Some(conduits) = map.get("conduits") {
            self.conduits(conduits, &mut model);
        }
        out.models.insert(model.name.clone(), model);
    }

    pub(super) fn models_v02(&mut self, node: &YamlNode, out: &mut Configuration) {
        for (name, at, body) in self.named_items(node, "the models", "model") {
            let Some(name) = self.reference_from(&name, &at, "the model's name") else { continue };
            let map = self.mapping(body, &format!("the model \"{name}\""), MODEL_V02);
            let mut model = Model::new(name);
            model.at = at;
            if let Some(description) = map.get("description") {
                model.description = self.text(description, "the description").unwrap_or_default();
            }
            if let Some(ports) = map.get("ports") {
                model.ports = self.ports(ports, false);
            }
            if let Some(supported) = map.get("supported_settings") {
                model.supported_settings = self.supported_settings(supported);
            }
            if let Some(components) = map.get("components") {
                self.components(components, false, &mut model);
            }
            if let Some(conduits) = map.get("conduits") {
                self.conduits(conduits, &mut model);
            }
            if let Some(matching) = map.get("matching_timelines") {
                self.matching_timelines(matching, &mut model);
            }
            if out.models.contains_key(&model.name) {
                self.duplicate("model", &model.name, &model.at);
            }
            out.models.insert(model.name.clone(), model);
        }
    }

    /// Returns the items of a section that is a mapping from names, or a list of mappings with a `name`.
    pub(super) fn named_items<'a>(
        &mut self,
        node: &'a YamlNode,
        what: &str,
        singular: &str,
    ) -> Vec<(String, At, &'a YamlNode)> {
        match &node.kind {
            YamlKind::Seq(items) => {
                let mut named = Vec::with_capacity(items.len());
                for item in items {
                    let pairs = self.pairs(item, &format!("each {singular} in a list"));
                    match pairs.iter().find(|(k, _)| matches!(&k.kind, YamlKind::Str(s) if s == "name")) {
                        Some((_, name)) => {
                            if let Some(text) = self.text(name, &format!("the name of the {singular}")) {
                                named.push((text, item.at.clone(), item));
                            }
                        }
                        None if pairs.is_empty() => {}
                        None => self.error(
                            Code::MISSING_KEY,
                            &item.at,
                            format!("this {singular} has no name"),
                            "add \"name: …\" to it",
                        ),
                    }
                }
                named
            }
            _ => {
                let mut named = Vec::new();
                for (key, value) in self.pairs(node, what) {
                    if let Some(name) = self.key(key) {
                        named.push((name, key.at.clone(), value));
                    }
                }
                named
            }
        }
    }

    pub(super) fn duplicate(&mut self, what: &str, name: &Reference, at: &At) {
        self.error(
            Code::DUPLICATE_NAME,
            at,
            format!("a second {what} is named \"{name}\""),
            "give each its own name",
        );
    }

    fn components(&mut self, node: &YamlNode, v01: bool, model: &mut Model) {
        for (name, at, body) in self.named_items(node, "the components", "component") {
            let Some(name) = self.reference_from(&name, &at, "the component's name") else { continue };
            if name.parts().iter().any(|p| matches!(p, ReferencePart::Index(_))) {
                self.error(
                    Code::BAD_NAME,
                    &at,
                    format!("the component's name \"{name}\" has an index in square brackets"),
                    "remove it, and write \"multiplicity: n\" to have n instances",
                );
                continue;
            }
            let mut component = Component::new(name);
            component.at = at;
            self.component(body, v01, &mut component);
            if model.components.contains_key(&component.name) {
                self.duplicate("component", &component.name, &component.at);
            }
            model.components.insert(component.name.clone(), component);
        }
    }

    fn component(&mut self, body: &YamlNode, v01: bool, component: &mut Component) {
        if let YamlKind::Str(text) = &body.kind {
            if !v01 {
                self.error(
                    Code::WRONG_TYPE,
                    &body.at,
                    format!("the component \"{}\" must be a mapping", component.name),
                    format!("write {{implementation: {text}, ports: {{…}}}}; only v0.1 allows the bare name"),
                );
            }
            component.implementation = self.plain_reference(body, "the implementation's name");
            component.implementation_at = body.at.clone();
            return;
        }
        let keys = if v01 { COMPONENT_V01 } else { COMPONENT_V02 };
        let map = self.mapping(body, &format!("the component \"{}\"", component.name), keys);
        if let Some(node) = map.get("implementation") {
            component.implementation = self.plain_reference(node, "the implementation's name");
            component.implementation_at = node.at.clone();
        }
        if let Some(node) = map.get("description") {
            component.description = self.text(node, "the description").unwrap_or_default();
        }
        if let Some(node) = map.get("optional") {
            component.optional = self.truth(node, "optional").unwrap_or(false);
        }
        if let Some(node) = map.get("multiplicity") {
            component.multiplicity = match &node.kind {
                YamlKind::Seq(items) => {
                    items.iter().filter_map(|i| self.count(i, "a multiplicity", 1)).collect()
                }
                _ => self.count(node, "the multiplicity", 1).into_iter().collect(),
            };
        }
        if let Some(node) = map.get("ports") {
            // v0.1 does not distinguish between no ports and no declaration of ports.
            component.ports = Some(self.ports(node, v01)).filter(|p| !(v01 && p.is_empty()));
        }
    }

    pub(super) fn ports(&mut self, node: &YamlNode, v01: bool) -> Ports {
        let mut ports = Ports::new();
        for (key, value) in self.pairs(node, "ports") {
            let Some(name) = self.key(key) else { continue };
            let operator = match name.as_str() {
                "f_init" => Operator::FInit,
                "o_i" => Operator::OI,
                "s" | "b" => Operator::S,
                "o_f" => Operator::OF,
                _ => {
                    if let Some(timeline) = name.strip_prefix('+').filter(|_| !v01) {
                        let timeline = timeline.trim_start_matches("timeline ");
                        self.error(
                            Code::UNKNOWN_OPERATOR,
                            &key.at,
                            format!("\"{name}\" is how an older version wrote a timeline"),
                            format!("write \"timeline {timeline}:\""),
                        );
                        // The ports are read, so that conduits to them are not reported as well.
                        self.timeline_ports(timeline, key, value, &mut ports);
                        continue;
                    }
                    match name.strip_prefix("timeline ") {
                        Some(timeline) if !v01 => self.timeline_ports(timeline, key, value, &mut ports),
                        _ => match self.unknown_operator(&name, &key.at) {
                            Some(meant) => self.add_ports(meant, value, &Timeline::default(), &mut ports),
                            None => continue,
                        },
                    }
                    continue;
                }
            };
            self.add_ports(operator, value, &Timeline::default(), &mut ports);
        }
        ports
    }

    /// Reports a key that is not an operator. Returns the operator that was probably meant.
    fn unknown_operator(&mut self, name: &str, at: &At) -> Option<Operator> {
        let meant = crate::nearest(name, PORTS.iter().copied());
        let advice = match meant {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => "ports are listed under f_init (receives at the start), o_i (sends in the loop), s \
                     (receives in the loop) and o_f (sends at the end)"
                .to_owned(),
        };
        self.error(Code::UNKNOWN_OPERATOR, at, fault!(BAD_ARGUMENT, "there is no operator \"{name}\""), advice);
        meant.and_then(Operator::from_name)
    }

    fn timeline_ports(&mut self, name: &str, key: &YamlNode, value: &YamlNode, ports: &mut Ports) {
        let timeline = match Timeline::new(name.trim()) {
            Ok(t) if t.parts().iter().all(|p| p.len() == 1) => t,
            Ok(_) => {
                self.error(
                    Code::BAD_NAME,
                    &key.at,
                    format!("the timeline \"{name}\" has a period in its name"),
                    "use names without periods, with colons between them",
                );
                return;
            }
            Err(error) => {
                self.error(
                    Code::BAD_NAME,
                    &key.at,
                    format!("the timeline {error}"),
                    "write a name such as coarse",
                );
                return;
            }
        };
        for (operator, list) in self.pairs(value, "the ports of a timeline") {
            match self.key(operator).as_deref() {
                Some("o_i") => self.add_ports(Operator::OI, list, &timeline, ports),
                Some("s") => self.add_ports(Operator::S, list, &timeline, ports),
                Some(other) => self.error(
                    Code::UNKNOWN_OPERATOR,
                    &operator.at,
                    format!("a timeline cannot have ports of \"{other}\""),
                    "only o_i and s ports can be on a timeline of their own",
                ),
                None => {}
            }
        }
    }

    fn add_ports(&mut self, operator: Operator, node: &YamlNode, timeline: &Timeline, ports: &mut Ports) {
        let names: Vec<(String, At)> = match &node.kind {
            YamlKind::Null => return,
            _ => match self.texts(node, "a list of ports") {
                Some(TextOrList::Text(text, at)) => {
                    text.split_whitespace().map(|n| (n.to_owned(), at.clone())).collect()
                }
                Some(TextOrList::List(list)) => list,
                None => return,
            },
        };
        for (text, at) in names {
            if let Some(stem) = text.strip_suffix("[]") {
                self.error(
                    Code::BAD_NAME,
                    &at,
                    format!("the port \"{text}\" is written with brackets"),
                    format!("write {stem}; that it has slots follows from the multiplicity of its peer"),
                );
                continue;
            }
            let Some(name) = self.identifier_from(&text, &at, "the port") else { continue };
            if ports.contains_key(&name) {
                self.error(
                    Code::DUPLICATE_PORT,
                    &at,
                    format!("the port \"{name}\" is declared twice"),
                    "give each port its own name",
                );
                continue;
            }
            let port = Port { name: name.clone(), operator, timeline: timeline.clone(), inferred: false, at };
            ports.insert(name, port);
        }
    }

    fn conduits(&mut self, node: &YamlNode, model: &mut Model) {
        match &node.kind {
            YamlKind::Seq(items) => {
                for item in items {
                    let map = self.mapping(item, "a conduit", &["sender", "receiver", "filters"]);
                    let filters = map.get("filters").and_then(|f| self.texts(f, "the filters"));
                    match (map.get("sender"), map.get("receiver")) {
                        (Some(sender), Some(receiver)) => {
                            self.conduit(sender, receiver, filters, model);
                        }
                        _ => self.error(
                            Code::MISSING_KEY,
                            &item.at,
                            "this conduit lacks its sender or its receiver",
                            "write it as \"sender.port: receiver.port\"",
                        ),
                    }
                }
            }
            _ => {
                for (sender, receiver) in self.pairs(node, "the conduits") {
                    self.conduit(sender, receiver, None, model);
                }
            }
        }
    }

    fn conduit(
        &mut self,
        sender: &YamlNode,
        receiver: &YamlNode,
        filters: Option<TextOrList>,
        model: &mut Model,
    ) {
        let Some(from) = self.conduit_end(sender, "the sender") else { return };
        let filters: Vec<(String, At)> = match filters {
            None => Vec::new(),
            Some(TextOrList::List(list)) => list,
            Some(TextOrList::Text(text, at)) => {
                text.split_whitespace().map(|w| (w.to_owned(), at.clone())).collect()
            }
        };
        let receivers = match &receiver.kind {
            YamlKind::Seq(items) => items.as_slice(),
            YamlKind::Null => {
                self.error(
                    Code::MISSING_VALUE,
                    &receiver.at,
                    format!("the conduit from {from} leads nowhere"),
                    "write the receiver after the colon, as \"receiver.port\"",
                );
                return;
            }
            _ => std::slice::from_ref(receiver),
        };
        for receiver in receivers {
            let Some(text) = self.text(receiver, "the receiver") else { continue };
            let words: Vec<&str> = text.split_whitespace().collect();
            let Some((last, before)) = words.split_last() else {
                self.error(Code::BAD_NAME, &receiver.at, "the receiver is empty", "write \"component.port\"");
                continue;
            };
            let Some(to) = self.end_from(last, &receiver.at, "the receiver") else { continue };
            let named = filters.iter().cloned();
            let inline = before.iter().map(|w| ((*w).to_owned(), receiver.at.clone()));
            let words: Vec<(String, At)> = named.chain(inline).collect();
            let filters_at = words.first().map(|(_, at)| at.clone()).unwrap_or_default();
            let filters = self.filters(words.into_iter());
            model.conduits.push(Conduit {
                sender: from.clone(),
                receiver: to,
                filters,
                filters_at,
                at: sender.at.clone(),
                receiver_at: receiver.at.clone(),
            });
        }
    }

    fn filters(&mut self, words: impl Iterator<Item = (String, At)>) -> Vec<ConduitFilter> {
        let mut filters: Vec<ConduitFilter> = Vec::new();
        for (word, at) in words {
            let Some(filter) = ConduitFilter::from_name(&word) else {
                let advice = match crate::nearest(&word, ConduitFilter::NAMES) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => "the filters are last, repeat and pad".to_owned(),
                };
                self.error(Code::UNKNOWN_FILTER, &at, format!("there is no conduit filter \"{word}\""), advice);
                continue;
            };
            if let Some(before) = filters.last().filter(|f| !f.may_precede(filter)) {
                self.error(
                    Code::FILTER_ORDER,
                    &at,
                    format!("the filter \"{}\" stands before \"{word}\"", before.name()),
                    "put them in the order last, repeat, pad",
                );
            }
            filters.push(filter);
        }
        filters
    }

    fn conduit_end(&mut self, node: &YamlNode, what: &str) -> Option<Reference> {
        let text = self.text(node, what)?;
        self.end_from(&text, &node.at, what)
    }

    fn end_from(&mut self, text: &str, at: &At, what: &str) -> Option<Reference> {
        let reference = match self.names.reference(text) {
            Ok(reference) => reference,
            Err(error) => {
                let advice = if text.contains([',', '/', ':', '-']) {
                    format!(
                        "write a period between component and port: {}",
                        text.replace([',', '/', ':', '-'], ".")
                    )
                } else {
                    "write it as component.port".to_owned()
                };
                self.error(Code::BAD_CONDUIT, at, format!("{what} of a conduit {error}"), advice);
                return None;
            }
        };
        let within = reference.parts().iter().rev().skip(1).any(|p| matches!(p, ReferencePart::Index(_)));
        if within {
            self.error(
                Code::BAD_CONDUIT,
                at,
                format!("{what} \"{reference}\" has an index that is not at its end, or more than one"),
                "write component.port, or component.port[slot] for one slot of a vector port",
            );
            return None;
        }
        Some(reference)
    }

    fn matching_timelines(&mut self, node: &YamlNode, model: &mut Model) {
        for (key, value) in self.pairs(node, "matching_timelines") {
            let Some(head) = self.key(key) else { continue };
            let matches: Vec<(String, At)> = match self.texts(value, "matching timelines") {
                Some(TextOrList::Text(text, at)) => {
                    text.split_whitespace().map(|t| (t.to_owned(), at.clone())).collect()
                }
                Some(TextOrList::List(list)) => list,
                None => continue,
            };
            let mut timelines = Vec::new();
            for (text, at) in std::iter::once((head, key.at.clone())).chain(matches) {
                match Timeline::new(&text) {
                    Ok(timeline) => timelines.push(timeline),
                    Err(error) => self.error(
                        Code::BAD_NAME,
                        &at,
                        format!("the timeline {error}"),
                        "write component names with colons between them",
                    ),
                }
            }
            let mut timelines = timelines.into_iter();
            if let Some(head) = timelines.next() {
                let at = key.at.clone();
                model.matching_timelines.push(MatchingTimelines { head, matches: timelines.collect(), at });
            }
        }
    }
}
