//! Reader of xMML: the definitions of submodels, mappers, terminals and filters, and the topology of their
//! instances. The reader goes on after a mistake, so that a user gets all mistakes at once, each with its line.

use crate::limits;
use crate::scales::{quantity, XmmlScales};
use ligament_catalogue::Code;
use ligament_model::{nearest, At, Identifier, Operator, OtherFile, Problem};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of XML nodes (elements and texts) in a file.
const MAX_NODES: u32 = 1_000_000;
/// Maximum number of mistakes whose messages suggest a similar name. The search for similar names is slow.
const MAX_SUGGESTIONS: usize = 1000;
/// Maximum multiplicity of an instance in the topology.
const MAX_INSTANCES: usize = 1 << 20;

/// The content of an xMML file.
#[derive(Debug, Default)]
pub struct XmmlModel {
    pub name: String,
    pub description: String,
    pub definitions: Vec<Definition>,
    pub filters: Vec<FilterDefinition>,
    pub instances: Vec<XmmlInstance>,
    pub couplings: Vec<Coupling>,
}

/// The kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionKind {
    Submodel,
    Mapper,
    Terminal,
}

/// A submodel, mapper or terminal.
#[derive(Debug)]
pub struct Definition {
    pub kind: DefinitionKind,
    pub id: String,
    /// Description in words.
    pub title: String,
    pub description: String,
    pub scales: XmmlScales,
    pub ports: Vec<PortDefinition>,
    pub implementation: Implementation,
}

/// A port.
#[derive(Debug)]
pub struct PortDefinition {
    pub name: String,
    pub operator: Operator,
    pub datatype: Option<String>,
}

/// The code of a definition, as the xMML file describes it.
#[derive(Debug, Default)]
pub struct Implementation {
    pub language: Option<String>,
    pub code: Option<String>,
    pub cores: Option<usize>,
}

/// A filter that couplings apply.
#[derive(Debug)]
pub struct FilterDefinition {
    pub id: String,
    /// Kind of the filter: `interpolation`, `reduction` or `converter`.
    pub what: String,
    /// `t`, `time`, or the name of a direction of space.
    pub dimension: Option<String>,
    pub factor: Option<u64>,
}

/// An element of the topology that uses a definition.
#[derive(Debug)]
pub struct XmmlInstance {
    pub id: String,
    /// Index in `XmmlModel::definitions`.
    pub of: usize,
    pub multiplicity: Option<usize>,
    /// Scales that replace those of the definition.
    pub scales: XmmlScales,
    pub at: At,
}

/// A coupling of two ports.
#[derive(Debug)]
pub struct Coupling {
    /// Sending end: index in `XmmlModel::instances`, and index in the ports of its definition.
    pub from: (usize, usize),
    pub to: (usize, usize),
    pub filters: Vec<Apply>,
    pub at: At,
}

/// The use of a filter by a coupling.
#[derive(Debug)]
pub struct Apply {
    /// Index in `XmmlModel::filters`.
    pub filter: usize,
    pub factor: Option<u64>,
}

/// # Errors
/// Fails if the file is not XML, or if it has no model.
pub(crate) fn read(text: &str, file: &str) -> Result<(XmmlModel, Vec<Problem>), Vec<Problem>> {
    let file: Arc<str> = file.into();
    if let Some((place, what)) = limits::beyond(text) {
        let at = limits::at(text, place, &file);
        return Err(vec![Problem::error(
            Code::BAD_XMML,
            &at,
            what,
            "no model in xMML needs that; write it out",
        )]);
    }
    // Most xMML files name their DTD in the first lines. The parser accepts the DTD's name and does not load
    // the DTD.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        let at = At { file: Some(file.clone()), line: place.row, column: place.col };
        vec![Problem::error(
            Code::BAD_XMML,
            &at,
            format!("this is no XML: {error}"),
            if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
                "correct the mistake there".to_owned()
            } else if text.contains("ymmsl_version") {
                "a model file in yMMSL needs no conversion".to_owned()
            } else {
                OtherFile::of(Path::new(file.as_ref()), text.as_bytes())
                    .filter(|other| other.what.contains("cxa"))
                    .map_or("name a model in xMML".to_owned(), |other| other.advice)
            },
        )]
    })?;
    let mut reading = XmmlReader {
        document: &document,
        file,
        problems: Vec::new(),
        model: XmmlModel::default(),
        datatypes: HashSet::new(),
        found: NameTable::default(),
        place: TextPosition { byte: 0, column: 1, row: 1 },
    };
    reading.read();
    if reading.model.instances.is_empty() && reading.problems.is_empty() {
        let root = document.root_element();
        reading.error(root, "the model has no instances".into(), "give it a <topology> with an <instance>");
    }
    Ok((reading.model, reading.problems))
}

struct XmmlReader<'a, 'input> {
    document: &'a Document<'input>,
    file: Arc<str>,
    problems: Vec<Problem>,
    model: XmmlModel,
    datatypes: HashSet<String>,
    /// Indices in `model` by name.
    found: NameTable,
    /// Place of the last problem, from which the next search for a line number starts.
    place: TextPosition,
}

/// The indices of named things in a model.
#[derive(Default)]
struct NameTable {
    definitions: HashMap<String, usize>,
    filters: HashMap<String, usize>,
    /// Index in the ports of a definition, by the definition's index and the port's name.
    ports: HashMap<(usize, String), usize>,
    /// Receiving ends (instance, port) that already have a coupling.
    reached: HashSet<(usize, usize)>,
}

/// A byte offset in the text, with its line and column.
#[derive(Clone, Copy)]
struct TextPosition {
    byte: usize,
    column: u32,
    row: u32,
}

impl<'a, 'input> XmmlReader<'a, 'input> {
    /// Returns the place of an element. Lines are counted from the previous place, because elements are mostly
    /// read in the order of the file. Counting from the beginning each time would take a time quadratic in the
    /// length.
    fn at(&mut self, node: Node<'a, 'input>) -> At {
        let (byte, text) = (node.range().start, self.document.input_text());
        let mut place = self.place;
        if byte >= place.byte {
            for c in text[place.byte..byte].chars() {
                (place.row, place.column) =
                    if c == '\n' { (place.row + 1, 1) } else { (place.row, place.column + 1) };
            }
        } else {
            let between = &text[byte..place.byte];
            let lines = between.bytes().filter(|&one| one == b'\n').count() as u32;
            place.row -= lines;
            place.column = match lines {
                0 => place.column - between.chars().count() as u32,
                _ => 1 + text[text[..byte].rfind('\n').map_or(0, |end| end + 1)..byte].chars().count() as u32,
            };
        }
        place.byte = byte;
        self.place = place;
        At { file: Some(self.file.clone()), line: place.row, column: place.column }
    }

    /// Returns the known name that is most similar to `wrong`. Returns `None` after `MAX_SUGGESTIONS` mistakes.
    fn meant<'n>(&self, wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        if self.problems.len() < MAX_SUGGESTIONS {
            nearest(wrong, known)
        } else {
            None
        }
    }

    fn error(&mut self, node: Node<'a, 'input>, what: String, advice: impl Into<String>) {
        let at = self.at(node);
        self.problems.push(Problem::error(Code::BAD_XMML, &at, what, advice));
    }

    fn warning(&mut self, node: Node<'a, 'input>, what: String, advice: &str) {
        let at = self.at(node);
        self.problems.push(Problem::warning(Code::BAD_XMML, &at, what, advice));
    }

    /// Returns the child elements whose names are in `known`, and reports the others.
    fn children(&mut self, node: Node<'a, 'input>, known: &[&str]) -> Vec<Node<'a, 'input>> {
        let mut found = Vec::new();
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if name == "include" {
                self.warning(
                    child,
                    "<include> is not followed".into(),
                    "put what it brings into this file if the model needs it",
                );
            } else if known.contains(&name) {
                found.push(child);
            } else {
                let meant = nearest(name, known.iter().copied());
                let advice = meant
                    .map_or(format!("take it out; there may be: {}", known.join(", ")), |meant| {
                        format!("did you mean <{meant}>?")
                    });
                self.error(
                    child,
                    format!("<{name}> does not belong into <{}>", node.tag_name().name()),
                    advice,
                );
            }
        }
        found
    }

    fn required(&mut self, node: Node<'a, 'input>, name: &str) -> Option<&'a str> {
        let value = node.attribute(name).map(str::trim).filter(|value| !value.is_empty());
        if value.is_none() {
            self.error(
                node,
                format!("<{}> has no {name}", node.tag_name().name()),
                format!("write {name}=\"…\""),
            );
        }
        value
    }

    /// Reads a name and makes it valid in a model file: `-` becomes `_`.
    fn name(&mut self, node: Node<'a, 'input>, attribute: &str) -> Option<String> {
        let id = self.required(node, attribute)?.replace('-', "_");
        match Identifier::new(&id) {
            Ok(_) => Some(id),
            Err(why) => {
                self.error(node, format!("{attribute}: {why}"), "give it another name");
                None
            }
        }
    }

    fn count(&mut self, node: Node<'a, 'input>, name: &str) -> Option<u64> {
        let text = node.attribute(name)?.trim();
        let value = text.parse::<u64>().ok().filter(|value| *value > 0);
        if value.is_none() {
            self.error(node, format!("{name}=\"{text}\" is no whole number above 0"), "write such a number");
        }
        value
    }

    fn description(&self, node: Node<'a, 'input>) -> String {
        let text: String =
            node.descendants().filter_map(|one| one.is_text().then(|| one.text()).flatten()).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn read(&mut self) {
        let root = self.document.root_element();
        if root.tag_name().name() != "model" {
            let name = root.tag_name().name().to_owned();
            return self.error(
                root,
                format!("this is <{name}>, and no <model>"),
                "give the file that has the model",
            );
        }
        match root.attribute("xmml_version") {
            Some("0.4") => {}
            Some(other) => {
                let what = format!("this is xMML {other}, and 0.4 is what is known");
                self.warning(root, what, "look through what is made of it");
            }
            None => self.warning(root, "the version of xMML is not said".into(), "write xmml_version=\"0.4\""),
        }
        self.model.name = self.name(root, "id").unwrap_or_default();
        let parts = self.children(root, &["description", "definitions", "topology", "extra", "param"]);
        for part in &parts {
            match part.tag_name().name() {
                "description" => self.model.description = self.description(*part),
                "definitions" => self.definitions(*part),
                _ => {}
            }
        }
        for part in parts {
            if part.tag_name().name() == "topology" {
                self.topology(part);
            }
        }
    }

    fn definitions(&mut self, node: Node<'a, 'input>) {
        let known = ["description", "datatype", "filter", "mapper", "terminal", "submodel", "extra", "param"];
        let parts = self.children(node, &known);
        for part in &parts {
            if part.tag_name().name() == "datatype" {
                if let Some(id) = self.required(*part, "id") {
                    if !self.datatypes.insert(id.to_owned()) {
                        self.error(
                            *part,
                            format!("the datatype \"{id}\" is defined twice"),
                            "take one of them out",
                        );
                    }
                }
            }
        }
        for part in parts {
            match part.tag_name().name() {
                "filter" => self.filter(part),
                "mapper" => self.definition(part, DefinitionKind::Mapper),
                "terminal" => self.definition(part, DefinitionKind::Terminal),
                "submodel" => self.definition(part, DefinitionKind::Submodel),
                _ => {}
            }
        }
    }

    fn filter(&mut self, node: Node<'a, 'input>) {
        const TYPES: [&str; 3] = ["interpolation", "reduction", "converter"];
        let id = self.required(node, "id").map(str::to_owned);
        let what = self.required(node, "type").map(str::to_owned);
        let factor = self.count(node, "factor");
        let (Some(id), Some(what)) = (id, what) else { return };
        if !TYPES.contains(&what.as_str()) {
            self.error(
                node,
                format!("there is no filter of the type \"{what}\""),
                format!("use one of: {}", TYPES.join(", ")),
            );
        }
        if self.found.filters.contains_key(&id) {
            return self.error(node, format!("the filter \"{id}\" is defined twice"), "take one of them out");
        }
        let dimension = node.attribute("dimension").map(str::to_owned);
        self.found.filters.insert(id.clone(), self.model.filters.len());
        self.model.filters.push(FilterDefinition { id, what, dimension, factor });
    }

    fn definition(&mut self, node: Node<'a, 'input>, kind: DefinitionKind) {
        let known = [
            "description",
            "timescale",
            "spacescale",
            "otherscale",
            "ports",
            "implementation",
            "param",
            "extra",
        ];
        let parts = self.children(node, &known);
        let scales = self.scales(&parts);
        if kind == DefinitionKind::Terminal {
            let what = self.required(node, "type").unwrap_or("source");
            if !["source", "sink"].contains(&what) {
                self.error(node, format!("there is no terminal of the type \"{what}\""), "use source or sink");
            }
        }
        if kind == DefinitionKind::Mapper {
            let what = self.required(node, "type").unwrap_or("fan-in");
            if !["fan-in", "fan-out", "fan-in-out"].contains(&what) {
                self.error(
                    node,
                    format!("there is no mapper of the type \"{what}\""),
                    "use fan-in, fan-out or fan-in-out",
                );
            }
        }
        let id = self.name(node, "id");
        let mut ports: Vec<PortDefinition> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        let mut description = String::new();
        let mut implementation = Implementation::default();
        for part in parts {
            match part.tag_name().name() {
                "description" => description = self.description(part),
                "ports" => {
                    for port in
                        self.children(part, &["in", "out", "state_start", "state_end", "param", "extra"])
                    {
                        let receives = match port.tag_name().name() {
                            "in" => true,
                            "out" => false,
                            _ => continue,
                        };
                        let Some(read) = self.port(port, kind, receives) else { continue };
                        if !names.insert(read.name.clone()) {
                            self.error(
                                port,
                                format!("the port \"{}\" is defined twice", read.name),
                                "give each its own name",
                            );
                            continue;
                        }
                        ports.push(read);
                    }
                }
                "implementation" => {
                    let text = |name: &str| part.attribute(name).map(str::trim).filter(|text| !text.is_empty());
                    implementation = Implementation {
                        language: text("language").map(str::to_owned),
                        code: text("code").map(str::to_owned),
                        cores: self.count(part, "cores").and_then(|cores| usize::try_from(cores).ok()),
                    };
                }
                _ => {}
            }
        }
        let Some(id) = id else { return };
        if self.found.definitions.contains_key(&id) {
            return self.error(node, format!("\"{id}\" is defined twice"), "give each its own id");
        }
        let at = self.model.definitions.len();
        self.found.definitions.insert(id.clone(), at);
        self.found.ports.extend(ports.iter().enumerate().map(|(port, one)| ((at, one.name.clone()), port)));
        let title = node.attribute("name").unwrap_or_default().trim().to_owned();
        self.model.definitions.push(Definition { kind, id, title, description, scales, ports, implementation });
    }

    fn port(&mut self, node: Node<'a, 'input>, kind: DefinitionKind, receives: bool) -> Option<PortDefinition> {
        let datatype = node.attribute("datatype").map(str::to_owned);
        if let Some(name) =
            datatype.as_ref().filter(|name| !self.datatypes.is_empty() && !self.datatypes.contains(*name))
        {
            let meant = self.meant(name, self.datatypes.iter().map(String::as_str)).map(str::to_owned);
            let advice = meant
                .map_or("define it".to_owned(), |meant| format!("define it, or did you mean \"{meant}\"?"));
            self.error(node, format!("the datatype \"{name}\" is not defined"), advice);
        }
        let operator = match (node.attribute("operator").map(str::trim), kind, receives) {
            (Some(name), ..) => match name.to_ascii_lowercase().as_str() {
                "finit" | "f_init" => Operator::FInit,
                "oi" | "o_i" => Operator::OI,
                "s" | "b" => Operator::S,
                "of" | "o_f" => Operator::OF,
                _ => {
                    self.error(node, format!("there is no operator \"{name}\""), "use finit, Oi, S, B or Of");
                    return None;
                }
            },
            // xMML gives operators for submodels only. A terminal sends or receives in steps until its data
            // end. A mapper receives and sends once in each pass.
            (None, DefinitionKind::Terminal, true) => Operator::S,
            (None, DefinitionKind::Terminal, false) => Operator::OI,
            (None, DefinitionKind::Mapper, true) => Operator::FInit,
            (None, DefinitionKind::Mapper, false) => Operator::OF,
            (None, DefinitionKind::Submodel, _) => {
                self.error(
                    node,
                    "the port has no operator".into(),
                    "write operator=\"finit\", \"Oi\", \"S\", \"B\" or \"Of\"",
                );
                return None;
            }
        };
        if operator.receives() != receives {
            let what = if receives { "<in> receives, and" } else { "<out> sends, and" };
            let does = if receives { "sends" } else { "receives" };
            self.error(node, format!("{what} {operator} {does}"), "correct the operator, or the direction");
            return None;
        }
        Some(PortDefinition { name: self.name(node, "id")?, operator, datatype })
    }

    fn scales(&mut self, parts: &[Node<'a, 'input>]) -> XmmlScales {
        let mut scales = XmmlScales::default();
        for &part in parts {
            let is_time = match part.tag_name().name() {
                "timescale" => true,
                "spacescale" => false,
                _ => continue,
            };
            let mut value = |name: &str| {
                // xMML allows an attribute or a child element here.
                let within =
                    part.children().find(|one| one.tag_name().name() == name).and_then(|one| one.text());
                let text = part.attribute(name).or(within)?;
                match quantity(text, is_time) {
                    Ok(text) => Some(text),
                    Err(why) => {
                        // A bad scale is a warning, because a run does not need scales.
                        let advice = if is_time {
                            "write a number and a unit, such as \"10 min\""
                        } else {
                            "write a number and a unit, such as \"3 km\""
                        };
                        self.warning(part, format!("{name} is left out: {}", why.text()), advice);
                        None
                    }
                }
            };
            let (step, total) = (value("delta"), value("total"));
            if is_time {
                (scales.time_step, scales.total_time) = (step, total)
            } else {
                let id = part.attribute("id").map_or_else(|| scales.space.len().to_string(), str::to_owned);
                scales.space.push((id, step, total));
            }
        }
        scales
    }

    fn topology(&mut self, node: Node<'a, 'input>) {
        let parts = self.children(node, &["description", "instance", "coupling", "extra", "param"]);
        let mut names: HashMap<String, usize> = HashMap::new();
        for &part in parts.iter().filter(|part| part.tag_name().name() == "instance") {
            if let Some(instance) = self.instance(part) {
                if names.insert(instance.id.clone(), self.model.instances.len()).is_some() {
                    self.error(
                        part,
                        format!("there is an instance \"{}\" already", instance.id),
                        "give each its own id",
                    );
                }
                self.model.instances.push(instance);
            }
        }
        for &part in parts.iter().filter(|part| part.tag_name().name() == "coupling") {
            if let Some(coupling) = self.coupling(part, &names) {
                if !self.found.reached.insert(coupling.to) {
                    let port = part.attribute("to").unwrap_or_default();
                    self.error(part, format!("two couplings lead to {port}"), "put a mapper between them");
                    continue;
                }
                self.model.couplings.push(coupling);
            }
        }
    }

    fn instance(&mut self, node: Node<'a, 'input>) -> Option<XmmlInstance> {
        let id = self.name(node, "id");
        let parts =
            self.children(node, &["timescale", "spacescale", "otherscale", "param", "description", "extra"]);
        let scales = self.scales(&parts);
        let multiplicity = match node.attribute("multiplicity").map(str::trim) {
            None | Some("1") => None,
            Some("dynamic") => {
                self.error(
                    node,
                    "a multiplicity that changes during a run is not known".into(),
                    "write the number of instances; a pool of them can do any number of evaluations",
                );
                None
            }
            Some(_) => self.count(node, "multiplicity").and_then(|count| usize::try_from(count).ok()),
        };
        if multiplicity.is_some_and(|count| count > MAX_INSTANCES) {
            self.error(node, "so many instances cannot be".into(), format!("write at most {MAX_INSTANCES}"));
        }
        let kinds = [
            ("submodel", DefinitionKind::Submodel),
            ("mapper", DefinitionKind::Mapper),
            ("terminal", DefinitionKind::Terminal),
        ];
        let Some((wanted, kind)) =
            kinds.into_iter().find_map(|(name, kind)| Some((node.attribute(name)?, kind)))
        else {
            self.error(
                node,
                "the instance is one of nothing".into(),
                "write submodel=\"…\", mapper=\"…\" or terminal=\"…\"",
            );
            return None;
        };
        let wanted = wanted.trim().replace('-', "_");
        let of = self.found.definitions.get(&wanted).copied();
        let Some(of) = of.filter(|&of| self.model.definitions[of].kind == kind) else {
            let known = self.model.definitions.iter().filter(|one| one.kind == kind).map(|one| one.id.as_str());
            let advice = self
                .meant(&wanted, known)
                .map_or("define it".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
            let what = format!("\"{wanted}\" is not defined as a {}", kind.name());
            self.error(node, what, advice);
            return None;
        };
        Some(XmmlInstance { id: id?, of, multiplicity, scales, at: self.at(node) })
    }

    fn coupling(&mut self, node: Node<'a, 'input>, names: &HashMap<String, usize>) -> Option<Coupling> {
        let from = self.end(node, "from", names, false);
        let to = self.end(node, "to", names, true);
        let mut filters = Vec::new();
        for part in self.children(node, &["apply", "description", "param", "extra"]) {
            if part.tag_name().name() != "apply" {
                continue;
            }
            let factor = self.count(part, "factor");
            let Some(wanted) = self.required(part, "filter") else { continue };
            match self.found.filters.get(wanted).copied() {
                Some(filter) => filters.push(Apply { filter, factor }),
                None => {
                    let known = self.model.filters.iter().map(|one| one.id.as_str());
                    let advice = self
                        .meant(wanted, known)
                        .map_or("define it".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
                    self.error(part, format!("the filter \"{wanted}\" is not defined"), advice);
                }
            }
        }
        let (from, to) = (from?, to?);
        let datatype = |(instance, port): (usize, usize)| {
            self.model.definitions[self.model.instances[instance].of].ports[port].datatype.clone()
        };
        let converts = filters.iter().any(|one| self.model.filters[one.filter].what == "converter");
        if let (Some(sent), Some(received)) = (datatype(from), datatype(to)) {
            if sent != received && !converts {
                self.error(
                    node,
                    format!("what is sent is \"{sent}\", and what is received \"{received}\""),
                    "apply a filter of the type converter, or correct the ports",
                );
            }
        }
        Some(Coupling { from, to, filters, at: self.at(node) })
    }

    /// Reads an end of a coupling, such as `c1.flow`.
    fn end(
        &mut self,
        node: Node<'a, 'input>,
        attribute: &str,
        names: &HashMap<String, usize>,
        receives: bool,
    ) -> Option<(usize, usize)> {
        let text = self.required(node, attribute)?.replace('-', "_");
        let Some((instance, port)) = text.split_once('.') else {
            self.error(node, format!("{attribute}=\"{text}\" names no port"), "write \"instance.port\"");
            return None;
        };
        let Some(&instance) = names.get(instance) else {
            let advice = self.meant(instance, names.keys().map(String::as_str));
            let advice = advice
                .map_or("add it to the topology".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
            self.error(node, format!("there is no instance \"{instance}\""), advice);
            return None;
        };
        let of = self.model.instances[instance].of;
        let definition = &self.model.definitions[of];
        let Some(at) = self.found.ports.get(&(of, port.to_owned())).copied() else {
            let meant = self.meant(port, definition.ports.iter().map(|one| one.name.as_str()));
            let advice =
                meant.map_or("add it to its ports".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
            let what = format!("\"{}\" has no port \"{port}\"", definition.id);
            self.error(node, what, advice);
            return None;
        };
        if definition.ports[at].operator.receives() != receives {
            let does = if receives { "sends" } else { "receives" };
            self.error(node, format!("{text} {does}, and stands under {attribute}"), "exchange from and to");
            return None;
        }
        Some((instance, at))
    }
}

impl DefinitionKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            DefinitionKind::Submodel => "submodel",
            DefinitionKind::Mapper => "mapper",
            DefinitionKind::Terminal => "terminal",
        }
    }
}
