//! The prediction of a run of a model from the costs of the model's parts: the duration of the run, the
//! waits of instances, the traffic of conduits, the parts of the duration, and the gain from more cores or
//! from another placement. `costs` has the costs of the parts, and `matching` checks that the costs fit the
//! model. `simulate` plays the run, and `placement` searches for a better placement.
//! `docs/guides/predicting-a-run.md` explains predictions.

mod costs;
mod matching;
mod path;
mod placement;
mod processors;
mod read;
mod simulate;

pub use costs::{ComponentCosts, ConduitCosts, ConduitName, Cost, Costs};

use costs::{conduit_of, FittedCosts};
use ligament_catalogue::{fault, Fault};
use ligament_model::ResolvedModel;
use path::PlayerActivity;
use serde::Serialize;
use simulate::{simulate, PlayOutcome, PlayedMachines};
use std::collections::BTreeMap;

/// The request for a prediction.
#[derive(Debug, Clone)]
pub struct Question {
    /// Number of cores of each machine.
    pub machines: Vec<u32>,
    /// Index of the machine of each instance. `None` if no placement is decided.
    pub placement: Option<Vec<u32>>,
    /// True if the run should also be predicted for other numbers of cores, from one core on.
    pub speed_up: bool,
}

impl Question {
    /// Makes the request for one machine with this number of cores.
    pub fn on(cores: u32) -> Question {
        Question { machines: vec![cores], placement: None, speed_up: false }
    }
}

/// The predicted run. All times are in s.
#[derive(Debug, Clone, Serialize)]
pub struct Prediction {
    pub model: String,
    /// Duration of the whole run.
    pub duration: f64,
    /// Number of cores of each machine.
    pub machines: Vec<u32>,
    pub messages: u64,
    pub bytes: f64,
    pub instances: Vec<PredictedInstance>,
    pub conduits: Vec<PredictedConduit>,
    /// Parts of the duration on the critical path, the longest first.
    pub critical_path: Vec<PathPart>,
    /// Predictions for other numbers of cores on one machine. The last one has as many cores as the
    /// instances can use. Empty for large runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub speed_up: Vec<SpeedUp>,
}

/// The predicted work of an instance.
#[derive(Debug, Clone, Serialize)]
pub struct PredictedInstance {
    pub name: String,
    /// Index in `Prediction::machines`.
    pub machine: u32,
    pub begins: f64,
    pub ends: f64,
    /// Time in which the instance computes. This time is longer than the instance's work if other instances
    /// use its cores.
    pub computing: f64,
    pub work: f64,
    pub waiting: f64,
    pub passes: u64,
    pub sent_messages: u64,
    pub sent_bytes: f64,
    pub received_messages: u64,
    pub received_bytes: f64,
    /// Maximum memory of the instance itself, in bytes, if known. The next field has the maximum memory of
    /// the messages that the instance has sent and that have not been received.
    pub memory: Option<f64>,
    pub messages_memory: f64,
}

/// The predicted traffic of a conduit.
#[derive(Debug, Clone, Serialize)]
pub struct PredictedConduit {
    pub from: String,
    pub to: String,
    pub channels: usize,
    pub messages: u64,
    pub bytes: f64,
    /// Maximum number of messages of one channel that were sent and not received yet.
    pub most_under_way: u64,
}

/// A part of the critical path.
#[derive(Debug, Clone, Serialize)]
pub struct PathPart {
    /// Name of the component of an instance, or of a conduit.
    pub who: String,
    pub what: PathKind,
    pub seconds: f64,
    /// Fraction of the duration, from 0 to 1.
    pub part: f64,
}

/// The kind of a part of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    Starts,
    Computes,
    WaitsForCores,
    Messages,
    RunEnds,
}

impl PathKind {
    /// Returns the kind in words.
    pub fn name(self) -> &'static str {
        match self {
            PathKind::Starts => "starts",
            PathKind::Computes => "computes",
            PathKind::WaitsForCores => "waits for cores",
            PathKind::Messages => "messages",
            PathKind::RunEnds => "the run ends",
        }
    }
}

/// The prediction for another number of cores.
#[derive(Debug, Clone, Serialize)]
pub struct SpeedUp {
    /// Number of cores. `None` means as many cores as the instances can use.
    pub cores: Option<u32>,
    pub duration: f64,
    /// Speed-up compared with one core.
    pub speed_up: f64,
}

/// Maximum number of steps and messages of a run for which other numbers of cores are compared. The
/// comparison of a larger run would take seconds.
const MAX_COMPARED_EVENTS: u64 = 500_000;

/// Predicts a run of a model.
///
/// # Errors
/// The costs do not fit the model, or some costs are missing. The run is too large to be played, or would
/// come to a stop.
pub fn predict(model: &ResolvedModel, costs: &Costs, question: &Question) -> Result<Prediction, Fault> {
    let fitted = FittedCosts::of(model, costs)?;
    let place = placed(model, question)?;
    let outcome = simulate(model, &fitted, &place)?;
    let mut prediction = told(model, &fitted, question, &place, &outcome);
    if question.speed_up && outcome.operations <= MAX_COMPARED_EVENTS {
        prediction.speed_up = speed_up(model, &fitted)?;
    }
    Ok(prediction)
}

/// Predicts a run like `predict`, with the best placement on these machines that a search finds. There may
/// be a better placement.
///
/// # Errors
/// As `predict`.
pub fn best_placement(model: &ResolvedModel, costs: &Costs, question: &Question) -> Result<Prediction, Fault> {
    let fitted = FittedCosts::of(model, costs)?;
    let place = placement::best(model, &fitted, placed(model, question)?)?;
    let outcome = simulate(model, &fitted, &place)?;
    Ok(told(model, &fitted, question, &place, &outcome))
}

/// Corrects costs that were taken from a run, so that the predicted duration of this run equals its real
/// duration. If the prediction with a message latency of zero is too short, a latency is chosen that adds
/// the missing time. If this prediction is too long, instances were kept from their cores while they seemed
/// to compute, so their work is reduced.
///
/// # Errors
/// As `predict`.
pub fn agree(
    model: &ResolvedModel,
    costs: &mut Costs,
    question: &Question,
    duration: f64,
) -> Result<(), Fault> {
    /// Maximum latency of a message, in s.
    const MAX_LATENCY_S: f64 = 10e-3;
    let place = placed(model, question)?;
    let mut takes = |latency: f64, factor: f64| -> Result<f64, Fault> {
        costs.common.insert("latency", latency);
        let fitted = FittedCosts::of(model, costs)?.slowed(factor);
        Ok(simulate(model, &fitted, &place)?.duration)
    };
    if takes(0.0, 1.0)? < duration {
        let right = where_it_is(duration, MAX_LATENCY_S, |latency| takes(latency, 1.0))?;
        costs.common.insert("latency", right);
        return Ok(());
    }
    let right = where_it_is(duration, 1.0, |factor| takes(0.0, factor))?;
    for component in costs.components.values_mut() {
        for key in ["setup", "pass", "step", "teardown"] {
            if let Some(Cost::Number(seconds)) = component.slot(key) {
                *seconds *= right;
            }
        }
    }
    Ok(())
}

/// Returns the argument from 0 to `most` at which the growing function `of` has the value `wanted`. The
/// method is false position with a limited number of steps, so the result is approximate.
fn where_it_is(wanted: f64, most: f64, mut of: impl FnMut(f64) -> Result<f64, Fault>) -> Result<f64, Fault> {
    const STEPS: usize = 12;
    let (mut low, mut high) = ((0.0, of(0.0)?), (most, of(most)?));
    if low.1 >= wanted || high.1 <= wanted {
        return Ok(if low.1 >= wanted { low.0 } else { high.0 });
    }
    for _ in 0..STEPS {
        let part = (wanted - low.1) / (high.1 - low.1);
        // The new point is not too near to either end, so that both ends come nearer to the result.
        let middle = low.0 + (high.0 - low.0) * part.clamp(0.02, 0.98);
        let found = of(middle)?;
        if (found - wanted).abs() < 1e-6 * wanted {
            return Ok(middle);
        }
        if found < wanted {
            low = (middle, found)
        } else {
            high = (middle, found)
        }
    }
    Ok((low.0 + high.0) / 2.0)
}

fn placed(model: &ResolvedModel, question: &Question) -> Result<PlayedMachines, Fault> {
    let machines: Vec<f64> = question.machines.iter().map(|&cores| f64::from(cores.max(1))).collect();
    let of = match &question.placement {
        Some(of)
            if of.len() == model.instances.len() && of.iter().all(|&at| (at as usize) < machines.len()) =>
        {
            of.clone()
        }
        Some(_) => {
            return Err(fault!(CANNOT_PREDICT, "the placement is one of another model, or of other machines"))
        }
        None => placement::in_order(model, &machines),
    };
    Ok(PlayedMachines { machines, of })
}

fn speed_up(model: &ResolvedModel, fitted: &FittedCosts) -> Result<Vec<SpeedUp>, Fault> {
    let useful: f64 = model.instances.iter().map(|one| f64::from(one.resources.cores_on_node().max(1))).sum();
    let takes = |cores: f64| {
        let place = PlayedMachines { machines: vec![cores], of: vec![0; model.instances.len()] };
        Ok::<f64, Fault>(simulate(model, fitted, &place)?.duration)
    };
    let one = takes(1.0)?;
    let mut all = vec![SpeedUp { cores: Some(1), duration: one, speed_up: 1.0 }];
    let unlimited = takes(useful)?;
    let mut cores = 2.0;
    while cores < useful {
        let duration = takes(cores)?;
        all.push(SpeedUp { cores: Some(cores as u32), duration, speed_up: one / duration });
        // More cores would not help.
        if duration < unlimited * 1.01 {
            break;
        }
        cores *= 2.0;
    }
    all.push(SpeedUp { cores: None, duration: unlimited, speed_up: one / unlimited });
    Ok(all)
}

fn told(
    model: &ResolvedModel,
    fitted: &FittedCosts,
    question: &Question,
    place: &PlayedMachines,
    outcome: &PlayOutcome,
) -> Prediction {
    let mut instances: Vec<PredictedInstance> = Vec::new();
    for (at, (instance, did)) in model.instances.iter().zip(&outcome.did).enumerate() {
        instances.push(PredictedInstance {
            name: instance.name.to_string(),
            machine: place.of[at],
            begins: did.begins,
            ends: did.ends,
            computing: (did.ends - did.begins - did.waiting).max(0.0),
            work: did.work,
            waiting: did.waiting,
            passes: did.passes,
            sent_messages: did.sent,
            sent_bytes: 0.0,
            received_messages: did.received,
            received_bytes: 0.0,
            memory: fitted.efforts[at].memory,
            messages_memory: 0.0,
        });
    }
    let mut conduits: BTreeMap<(String, String), PredictedConduit> = BTreeMap::new();
    for (channel, (load, passed)) in model.channels.iter().zip(fitted.loads.iter().zip(&outcome.passed)) {
        let bytes = load.bytes * passed.messages as f64;
        instances[channel.from.instance as usize].sent_bytes += bytes;
        instances[channel.from.instance as usize].messages_memory += load.bytes * passed.most as f64;
        instances[channel.to.instance as usize].received_bytes += bytes;
        let (from, to) = conduit_of(model, channel);
        let one = conduits.entry((from.clone(), to.clone())).or_insert(PredictedConduit {
            from,
            to,
            channels: 0,
            messages: 0,
            bytes: 0.0,
            most_under_way: 0,
        });
        one.channels += 1;
        one.messages += passed.messages;
        one.bytes += bytes;
        one.most_under_way = one.most_under_way.max(passed.most);
    }
    let conduits: Vec<PredictedConduit> = conduits.into_values().collect();
    Prediction {
        model: model.name.clone(),
        duration: outcome.duration,
        machines: question.machines.clone(),
        messages: conduits.iter().map(|one| one.messages).sum(),
        bytes: conduits.iter().map(|one| one.bytes).sum(),
        instances,
        conduits,
        critical_path: critical_path(model, fitted, outcome),
        speed_up: Vec::new(),
    }
}

fn critical_path(model: &ResolvedModel, fitted: &FittedCosts, outcome: &PlayOutcome) -> Vec<PathPart> {
    let component = |instance: u32| {
        let component = model.instances[instance as usize].component as usize;
        model.components[component].name.to_string()
    };
    let mut sums: BTreeMap<(PathKind, String), f64> = BTreeMap::new();
    for (deed, seconds) in outcome.path.sums() {
        let key = match deed {
            PlayerActivity::Starts(who) => (PathKind::Starts, component(who)),
            PlayerActivity::Computes(who) => (PathKind::Computes, component(who)),
            PlayerActivity::WaitsForCores(who) => (PathKind::WaitsForCores, component(who)),
            PlayerActivity::Carries(channel) => {
                let (from, to) = conduit_of(model, &model.channels[channel as usize]);
                (PathKind::Messages, format!("{from} -> {to}"))
            }
        };
        *sums.entry(key).or_default() += seconds;
    }
    if fitted.common.end > 0.0 {
        sums.insert((PathKind::RunEnds, String::new()), fitted.common.end);
    }
    let part = |seconds: f64| seconds / outcome.duration.max(f64::MIN_POSITIVE);
    let mut parts: Vec<PathPart> = (sums.into_iter())
        .map(|((what, who), seconds)| PathPart { who, what, seconds, part: part(seconds) })
        // Parts that are only a remainder of rounding are left out.
        .filter(|one| one.part > 1e-5)
        .collect();
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    parts
}
