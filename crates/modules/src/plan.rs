//! The plan of a simulation: the functions in their order, and the exchanges between them with their reasons.
//! `Validity` tracks the points of each field with valid values. The driver and the printed plan both use it.

use crate::declaration::{Bin, FieldPoints};
use crate::error::ModuleError;
use crate::simulation::{PlacedFunction, Simulation};
use std::fmt::Write;

/// The points of a field with valid values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldValidity {
    pub interior: bool,
    /// The ghosts that an exchange fills.
    pub ghosts: bool,
    /// The ghosts beyond open edges.
    pub edges: bool,
    /// True if the field was exchanged in this step, and not written afterwards.
    pub exchanged: bool,
}

/// An exchange that must come before a function is called or before fields are published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedExchange {
    /// The numbers of the fields.
    pub fields: Vec<usize>,
    /// The reason why each of them takes part.
    pub reasons: Vec<String>,
}

/// The valid points of all fields, while functions are called one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Validity<'a> {
    simulation: &'a Simulation,
    has_open_edges: bool,
    pub fields: Vec<FieldValidity>,
    /// The function that wrote each field last.
    writers: Vec<Option<usize>>,
}

impl<'a> Validity<'a> {
    /// Makes the state at the beginning, in which no point is valid. `has_open_edges` is true if the grid has
    /// ghosts that no exchange fills.
    pub fn new(simulation: &'a Simulation, has_open_edges: bool) -> Validity<'a> {
        let count = simulation.fields.len();
        let (fields, writers) = (vec![FieldValidity::default(); count], vec![None; count]);
        Validity { simulation, has_open_edges, fields, writers }
    }

    /// Notes that a step begins.
    pub fn begin_step(&mut self) {
        self.fields.iter_mut().for_each(|field| field.exchanged = false);
    }

    /// Returns the exchange that must come before a function.
    ///
    /// # Errors
    /// `ReadBeforeWritten` or `EdgesUnwritten` if no exchange makes the points valid that the function reads.
    pub fn before(&self, function: &PlacedFunction) -> Result<Option<PlannedExchange>, ModuleError> {
        let mut exchange = PlannedExchange { fields: Vec::new(), reasons: Vec::new() };
        for (field, extent) in &function.reads {
            let (state, declared) = (self.fields[*field], &self.simulation.fields[*field]);
            let name = || declared.name.clone();
            if !state.interior {
                return Err(ModuleError::ReadBeforeWritten { function: function.description(), field: name() });
            }
            if *extent != FieldPoints::Everywhere || declared.ghosts == 0 {
                continue;
            }
            if self.has_open_edges && !state.edges && function.writes(*field) != Some(FieldPoints::Edges) {
                return Err(ModuleError::EdgesUnwritten { function: function.description(), field: name() });
            }
            if !state.ghosts {
                let reader = function.full_name();
                let writer = self.writer(*field);
                exchange.fields.push(*field);
                exchange.reasons.push(format!("{reader} reads {} everywhere, and {writer} wrote it", name()));
            }
        }
        Ok((!exchange.fields.is_empty()).then_some(exchange))
    }

    /// Returns the exchange that must come before the fields are published at the end of a step, so that all
    /// of them have the same time.
    pub fn before_publishing(&self) -> Option<PlannedExchange> {
        let mut exchange = PlannedExchange { fields: Vec::new(), reasons: Vec::new() };
        for field in self.published() {
            let name = &self.simulation.fields[field].name;
            if !self.fields[field].exchanged {
                let why = if self.fields[field].ghosts {
                    format!("{name} is published with the time of this step")
                } else {
                    format!("{name} is published, and {} wrote it", self.writer(field))
                };
                exchange.fields.push(field);
                exchange.reasons.push(why);
            }
        }
        (!exchange.fields.is_empty()).then_some(exchange)
    }

    /// Returns the fields that are published at the end of a step.
    pub fn published(&self) -> impl Iterator<Item = usize> + '_ {
        let fields = self.simulation.fields.iter().enumerate();
        let wanted = fields.filter(|(number, field)| field.published && self.fields[*number].interior);
        wanted.map(|(number, _)| number)
    }

    /// Notes that an exchange is over.
    pub fn after_exchange(&mut self, fields: &[usize]) {
        for field in fields {
            (self.fields[*field].ghosts, self.fields[*field].exchanged) = (true, true);
        }
    }

    /// Notes that a function has returned.
    pub fn after(&mut self, number: usize, function: &PlacedFunction) {
        for (field, extent) in &function.writes {
            let state = &mut self.fields[*field];
            match extent {
                FieldPoints::Interior => (state.interior, state.ghosts, state.exchanged) = (true, false, false),
                FieldPoints::Edges => state.edges = true,
                FieldPoints::Everywhere => {
                    *state = FieldValidity { interior: true, ghosts: true, edges: true, exchanged: false };
                }
            }
            if *extent != FieldPoints::Edges {
                self.writers[*field] = Some(number);
            }
        }
    }

    fn writer(&self, field: usize) -> String {
        let writer = self.writers[field].map(|number| self.simulation.functions[number].full_name());
        writer.unwrap_or_else(|| "nobody".to_owned())
    }
}

/// A line of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanItem {
    Call(usize),
    Exchange(PlannedExchange),
    Publish(Vec<usize>),
}

/// A part of a plan: the functions of a pass before its first step, or of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPart {
    pub title: &'static str,
    pub items: Vec<PlanItem>,
}

/// Plans the steps of a simulation. All steps but the first are the same: the valid points after a step follow
/// from its functions, and from the valid points before the first step.
///
/// # Errors
/// `ReadBeforeWritten` or `EdgesUnwritten`.
pub fn plan(simulation: &Simulation, has_open_edges: bool) -> Result<Vec<PlanPart>, ModuleError> {
    const STEP: [Bin; 4] = [Bin::Prestep, Bin::Evol, Bin::Poststep, Bin::Analysis];
    let mut validity = Validity::new(simulation, has_open_edges);
    let before = planned(&mut validity, &[Bin::Initial])?;
    let first = planned(&mut validity, &STEP)?;
    let later = planned(&mut validity, &STEP)?;
    let mut parts = vec![PlanPart { title: "before the first step", items: before }];
    if first == later {
        parts.push(PlanPart { title: "each step", items: later });
    } else {
        parts.push(PlanPart { title: "the first step", items: first });
        parts.push(PlanPart { title: "each later step", items: later });
    }
    Ok(parts)
}

fn planned(validity: &mut Validity<'_>, bins: &[Bin]) -> Result<Vec<PlanItem>, ModuleError> {
    let simulation = validity.simulation;
    let mut items = Vec::new();
    validity.begin_step();
    for (number, function) in bins.iter().flat_map(|bin| simulation.bin(*bin)) {
        if let Some(exchange) = validity.before(function)? {
            validity.after_exchange(&exchange.fields);
            items.push(PlanItem::Exchange(exchange));
        }
        items.push(PlanItem::Call(number));
        validity.after(number, function);
    }
    if let Some(exchange) = validity.before_publishing() {
        validity.after_exchange(&exchange.fields);
        items.push(PlanItem::Exchange(exchange));
    }
    let published: Vec<usize> = validity.published().collect();
    if !published.is_empty() {
        items.push(PlanItem::Publish(published));
    }
    Ok(items)
}

/// Returns a plan as a text for people.
///
/// # Errors
/// As `plan`.
pub fn plan_text(simulation: &Simulation) -> Result<String, ModuleError> {
    let mut text = String::new();
    for part in plan(simulation, false)? {
        let _ = writeln!(text, "{}:", part.title);
        for item in &part.items {
            let _ = match item {
                PlanItem::Call(number) => {
                    let function = &simulation.functions[*number];
                    writeln!(text, "  {:<9} {}", function.bin.name(), function.full_name())
                }
                PlanItem::Exchange(exchange) => {
                    let names = names(simulation, &exchange.fields).join(", ");
                    writeln!(text, "  exchange  {names}: {}", exchange.reasons.join("; "))
                }
                PlanItem::Publish(fields) => {
                    writeln!(text, "  publish   {}", names(simulation, fields).join(", "))
                }
            };
        }
    }
    if let Err(error) = plan(simulation, true) {
        let _ = writeln!(text, "a grid with open edges is refused: {error}");
    }
    Ok(text)
}

fn names<'a>(simulation: &'a Simulation, fields: &[usize]) -> Vec<&'a str> {
    fields.iter().map(|field| simulation.fields[*field].name.as_str()).collect()
}

/// Returns a plan as a text in JSON: a list of parts, each with its title and its items.
///
/// # Errors
/// As `plan`.
pub fn plan_json(simulation: &Simulation) -> Result<String, ModuleError> {
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let texts = |texts: Vec<&str>| list(texts.into_iter().map(quoted).collect());
    let item = |item: &PlanItem| match item {
        PlanItem::Call(number) => {
            let function = &simulation.functions[*number];
            let [module, name] = [&function.module_name, &function.name].map(|text| quoted(text));
            format!("{{\"call\":{name},\"module\":{module},\"bin\":{}}}", quoted(function.bin.name()))
        }
        PlanItem::Exchange(exchange) => {
            let reasons = texts(exchange.reasons.iter().map(String::as_str).collect());
            format!("{{\"exchange\":{},\"reasons\":{reasons}}}", texts(names(simulation, &exchange.fields)))
        }
        PlanItem::Publish(fields) => format!("{{\"publish\":{}}}", texts(names(simulation, fields))),
    };
    let part = |part: &PlanPart| {
        let items = list(part.items.iter().map(item).collect());
        format!("{{\"part\":{},\"items\":{items}}}", quoted(part.title))
    };
    Ok(list(plan(simulation, false)?.iter().map(part).collect()) + "\n")
}

/// Returns a text in the quotes of JSON. Names have no character that JSON would write otherwise.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
