//! The order of the functions of a bin. It follows from `before` and `after`, and otherwise from the fields: a
//! function that makes a field comes before functions that read it. Functions without an order by these rules
//! stay in the order of their declarations.

use crate::declaration::{Bin, ModuleField};
use crate::error::ModuleError;
use crate::simulation::PlacedFunction;

/// Orders the functions of a bin. Returns their numbers.
///
/// # Errors
/// `UnknownOrder`, `Cycle` or `TwoWriters`.
pub(crate) fn ordered(
    bin: Bin,
    all: &[PlacedFunction],
    fields: &[ModuleField],
) -> Result<Vec<usize>, ModuleError> {
    let members: Vec<usize> = (0..all.len()).filter(|number| all[*number].bin == bin).collect();
    let mut graph =
        Precedence { functions: members.iter().map(|number| &all[*number]).collect(), edges: Vec::new() };
    graph.edges = vec![vec![false; members.len()]; members.len()];
    for place in 0..members.len() {
        graph.add_explicit(place, all)?;
    }
    graph.refuse_cycles(bin)?;
    graph.add_implied();
    graph.refuse_cycles(bin)?;
    graph.refuse_two_writers(bin, fields)?;
    Ok(graph.sorted().into_iter().map(|place| members[place]).collect())
}

/// The functions of a bin, and the pairs of them that have an order.
struct Precedence<'a> {
    functions: Vec<&'a PlacedFunction>,
    /// True at `[a][b]` if `a` comes before `b`.
    edges: Vec<Vec<bool>>,
}

impl Precedence<'_> {
    /// Adds the order that a function declares by `before` and `after`.
    fn add_explicit(&mut self, place: usize, all: &[PlacedFunction]) -> Result<(), ModuleError> {
        let function = self.functions[place];
        for name in &function.before {
            for other in self.named(place, ("before", name), all)? {
                self.edges[place][other] = true;
            }
        }
        for name in &function.after {
            for other in self.named(place, ("after", name), all)? {
                self.edges[other][place] = true;
            }
        }
        Ok(())
    }

    /// Returns the positions of the functions that a name means: `function`, `module`, or `module.function`.
    fn named(
        &self,
        place: usize,
        (key, name): (&'static str, &str),
        all: &[PlacedFunction],
    ) -> Result<Vec<usize>, ModuleError> {
        let means = |function: &PlacedFunction| {
            name == function.name || name == function.module_name || name == function.full_name()
        };
        let places = (0..self.functions.len()).filter(|other| *other != place && means(self.functions[*other]));
        let places: Vec<usize> = places.collect();
        if !places.is_empty() {
            return Ok(places);
        }
        let own = self.functions[place];
        let why = match all.iter().find(|other| !std::ptr::eq(*other, own) && means(other)) {
            Some(other) => format!(
                "this is in the bin {}; bins have their order, and names stand for functions of the same bin",
                other.bin.name()
            ),
            None => {
                "no other function or module has this name; give one of the same bin, such as module.function"
                    .to_owned()
            }
        };
        Err(ModuleError::UnknownOrder { function: own.description(), key, name: name.to_owned(), why })
    }

    /// Adds an order between a function that writes a field without reading it, and each function that reads
    /// the field, unless the declarations order the two.
    fn add_implied(&mut self) {
        let said = self.reachable();
        for (first, writer) in self.functions.iter().enumerate() {
            for (second, reader) in self.functions.iter().enumerate() {
                let makes = |field: usize| writer.writes(field).is_some() && writer.reads(field).is_none();
                let follows = first != second && reader.reads.iter().any(|(field, _)| makes(*field));
                if follows && !said[second][first] {
                    self.edges[first][second] = true;
                }
            }
        }
    }

    /// Returns all pairs in which one function comes before another, also over functions in between.
    fn reachable(&self) -> Vec<Vec<bool>> {
        let mut reach = self.edges.clone();
        for middle in 0..reach.len() {
            let after = reach[middle].clone();
            for row in reach.iter_mut().filter(|row| row[middle]) {
                row.iter_mut().zip(&after).for_each(|(one, other)| *one |= other);
            }
        }
        reach
    }

    fn refuse_cycles(&self, bin: Bin) -> Result<(), ModuleError> {
        let reach = self.reachable();
        let Some(start) = (0..reach.len()).find(|place| reach[*place][*place]) else { return Ok(()) };
        let mut path = vec![start];
        let mut place = start;
        while path.len() <= reach.len() {
            let next = |next: &usize| {
                self.edges[place][*next] && (*next == start || (reach[*next][start] && !path.contains(next)))
            };
            // The edge back to the start is tried first, so the cycle is short.
            let ways = || std::iter::once(start).chain(0..reach.len());
            let Some(next) = ways().find(next) else { break };
            path.push(next);
            place = next;
            if next == start {
                break;
            }
        }
        let names: Vec<String> = path.iter().map(|place| self.functions[*place].full_name()).collect();
        Err(ModuleError::Cycle { bin: bin.name(), cycle: names.join(" before ") })
    }

    fn refuse_two_writers(&self, bin: Bin, fields: &[ModuleField]) -> Result<(), ModuleError> {
        let reach = self.reachable();
        for (first, one) in self.functions.iter().enumerate() {
            for (second, other) in self.functions.iter().enumerate().skip(first + 1) {
                let both = one.writes.iter().find(|(field, extent)| {
                    other.writes(*field).is_some_and(|theirs| theirs.overlaps(*extent))
                });
                if let Some((field, _)) = both.filter(|_| !reach[first][second] && !reach[second][first]) {
                    let field = fields[*field].name.clone();
                    let (first, second) = (one.full_name(), other.full_name());
                    return Err(ModuleError::TwoWriters { bin: bin.name(), field, first, second });
                }
            }
        }
        Ok(())
    }

    /// Returns the positions in an order that obeys all pairs. Of several possible functions, the first
    /// declared one comes next.
    fn sorted(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = Vec::new();
        let waits = |place: usize, sorted: &[usize]| {
            (0..self.edges.len()).any(|other| self.edges[other][place] && !sorted.contains(&other))
        };
        while let Some(next) =
            (0..self.edges.len()).find(|place| !sorted.contains(place) && !waits(*place, &sorted))
        {
            sorted.push(next);
        }
        sorted
    }
}
