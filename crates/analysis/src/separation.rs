//! The scale separation map of a model. The map shows which times and lengths each component resolves and
//! covers. For components that exchange messages, the map also shows the distance between their scales
//! (Hoekstra, Lorenz, Falcone, Chopard, "Towards a Complex Automata Framework for Multi-scale Modeling",
//! 2007).

use crate::scales::ComponentScales;
use ligament_model::{Endpoint, Operator, ResolvedModel};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// The scale separation map of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaleMap {
    /// Name of the model.
    pub model: String,
    /// Components that have scales. Components with the same scales share a box.
    pub boxes: Vec<ScaleBox>,
    /// Pairs of boxes that conduits join: sending box and receiving box. No pair occurs twice.
    pub links: Vec<ScaleLink>,
    /// Names of the components without scales.
    pub without: Vec<String>,
}

/// The components that have the same scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaleBox {
    /// Names of the components.
    pub components: Vec<String>,
    /// Scales from the model file, in s and m.
    #[serde(flatten)]
    pub scales: ComponentScales,
    /// Number of steps in a pass, if this is a whole number.
    pub steps: Option<u64>,
    /// Shortest and longest time, in s.
    pub time: Option<[f64; 2]>,
    /// Smallest and largest length, in m.
    pub space: Option<[f64; 2]>,
}

/// The messages from one box to another box.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaleLink {
    /// Index of the sending box in `ScaleMap::boxes`. The next field has the receiving box.
    pub from: usize,
    pub to: usize,
    /// Operator at which the messages are sent.
    pub sent_at: Operator,
    /// Operator at which the messages are received.
    pub received_at: Operator,
    /// Relation of the two boxes' times.
    pub time: Option<Separation>,
    /// Relation of the two boxes' lengths.
    pub space: Option<Separation>,
}

/// The relation between the scales of two components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Separation {
    /// The smallest value of one component is `factor` times the largest value of the other component.
    Separated {
        /// Ratio of the two values, above 1.
        factor: f64,
    },
    /// The largest value of one component equals the smallest value of the other component.
    Contiguous,
    /// The two ranges overlap.
    Overlapping,
}

/// Relative difference below which two values count as equal.
const CLOSE: f64 = 1e-6;

impl Separation {
    fn of(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> Option<Separation> {
        let (one, other) = (one?, other?);
        let factor = (one[0] / other[1]).max(other[0] / one[1]);
        Some(match factor {
            factor if factor > 1.0 + CLOSE => Separation::Separated { factor },
            factor if factor > 1.0 - CLOSE => Separation::Contiguous,
            _ => Separation::Overlapping,
        })
    }
}

/// Returns the smallest and the largest of all values.
fn range<'a>(values: impl IntoIterator<Item = &'a f64>) -> Option<[f64; 2]> {
    values.into_iter().fold(None, |range, &value| match range {
        None => Some([value, value]),
        Some([least, most]) => Some([f64::min(least, value), f64::max(most, value)]),
    })
}

impl ScaleMap {
    /// Makes the map of a model.
    pub fn of(model: &ResolvedModel) -> ScaleMap {
        let scales = ComponentScales::all(&model.ligament);
        let (mut boxes, mut without): (Vec<ScaleBox>, Vec<String>) = (Vec::new(), Vec::new());
        let mut box_of = Vec::with_capacity(model.components.len());
        let mut known: HashMap<String, usize> = HashMap::new();
        for component in &model.components {
            let name = component.name.to_string();
            let Some(scales) =
                scales.get(&component.name).filter(|scales| **scales != ComponentScales::default())
            else {
                without.push(name);
                box_of.push(None);
                continue;
            };
            let at = *known.entry(format!("{scales:?}")).or_insert_with(|| {
                boxes.push(ScaleBox {
                    components: Vec::new(),
                    scales: scales.clone(),
                    steps: scales.steps(),
                    time: range(scales.time_step.iter().chain(&scales.total_time)),
                    space: range(scales.space_step.iter().chain(&scales.extent)),
                });
                boxes.len() - 1
            });
            boxes[at].components.push(name);
            box_of.push(Some(at));
        }
        let box_at = |end: Endpoint| box_of[model.instances[end.instance as usize].component as usize];
        let ends: BTreeSet<(usize, usize, Operator, Operator)> = (model.channels.iter())
            .filter_map(|channel| {
                let (from, to) = (box_at(channel.from)?, box_at(channel.to)?);
                let operators = (model.port(channel.from).operator, model.port(channel.to).operator);
                (from != to).then_some((from, to, operators.0, operators.1))
            })
            .collect();
        let links = ends.into_iter().map(|(from, to, sent_at, received_at)| ScaleLink {
            from,
            to,
            sent_at,
            received_at,
            time: Separation::of(boxes[from].time, boxes[to].time),
            space: Separation::of(boxes[from].space, boxes[to].space),
        });
        ScaleMap { model: model.name.clone(), links: links.collect(), boxes, without }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_apart_touch_or_overlap() {
        let of = |one, other| Separation::of(Some(one), Some(other)).unwrap();
        assert_eq!(of([1.0, 2.0], [10.0, 20.0]), Separation::Separated { factor: 5.0 });
        assert_eq!(of([10.0, 20.0], [1.0, 2.0]), Separation::Separated { factor: 5.0 });
        assert_eq!(of([0.1, 0.3], [0.1 * 3.0, 20.0]), Separation::Contiguous);
        assert_eq!(of([1.0, 10.0], [10.0, 20.0]), Separation::Contiguous);
        assert_eq!(of([1.0, 11.0], [10.0, 20.0]), Separation::Overlapping);
        assert_eq!(of([1.0, 100.0], [10.0, 20.0]), Separation::Overlapping);
        assert_eq!(Separation::of(None, Some([1.0, 2.0])), None);
    }
}
