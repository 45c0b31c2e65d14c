//! Costs from the record and the timeline of an earlier run: the computing time of each instance, and the
//! number and size of messages on each conduit.

use ligament_analysis::predict::{agree, ComponentCosts, ConduitCosts, Cost, Costs, Question};
use ligament_catalogue::{fault, Fault};
use ligament_manager::timeline::{Activity, RunTimeline, TimelineLane, TimelineSpan, TimelineSums};
use ligament_manager::{
    component_of, find_run, ConduitRecord, InstanceRecord, RunDirectory, RunRecord, RunState,
};
use ligament_model::{Operator, ResolvedModel, SUMS_IN, SUMS_OUT};
use ligament_runtime::client::record_of;
use ligament_wire::rank_parts;
use std::collections::{BTreeMap, HashMap};

/// Relative difference below which the costs of two instances of a component count as equal.
const ALIKE: f64 = 0.1;
/// Number of rounds in which the sizes of messages are fitted to the bytes that components sent and
/// received.
const ROUND_COUNT: usize = 50;

/// A run that is over, with the model that it ran.
pub(super) struct MeasuredRun {
    pub run: RunDirectory,
    pub record: RunRecord,
    pub model: ResolvedModel,
    timeline: RunTimeline,
}

impl MeasuredRun {
    /// Reads a run with its model.
    ///
    /// # Errors
    /// Fails if there is no such run, if it has not ended, or if its files cannot be read.
    pub fn read(run: &str) -> Result<MeasuredRun, Fault> {
        let run = find_run(run)?;
        let record = record_of(&run)?;
        if record.state != RunState::Done {
            return Err(fault!(
                NO_COSTS,
                "the run {} is {}: only one that is done tells what it has cost",
                record.run,
                record.state.name()
            ));
        }
        let timeline = RunTimeline::of(&run)?;
        let (path, declared) = (run.path().join("model.ymmsl"), &record.declared_ports);
        let model = super::model_of(&[path], &[], Some(&record.model), declared)?;
        if record.conduits.is_empty() && !model.channels.is_empty() {
            return Err(fault!(
                NO_COSTS,
                "the record of the run {} does not say what passed the conduits: it is of an older version, or \
                 all of them lie within a light program; run it again, or write a file of costs",
                record.run
            ));
        }
        Ok(MeasuredRun { run, record, model, timeline })
    }

    /// Returns the machines of the run, and the machine of each instance.
    pub fn question(&self) -> Question {
        let domains = &self.record.domains;
        if domains.is_empty() {
            let cores = if self.record.cores > 0 { self.record.cores } else { ligament_runtime::own_cores() };
            return Question::on(cores);
        }
        let of: HashMap<&str, u32> = (self.record.instances.iter().rev())
            .map(|one| (rank_parts(&one.name).0, one.domain.unwrap_or(0)))
            .collect();
        let place = |name: &str| of.get(name).copied().unwrap_or(0).min(domains.len() as u32 - 1);
        let placement = self.model.instances.iter().map(|one| place(&one.name.to_string())).collect();
        Question {
            machines: domains.iter().map(|domain| domain.cores.max(1)).collect(),
            placement: Some(placement),
            speed_up: false,
        }
    }

    /// Returns the duration of the run, in s.
    pub fn duration(&self) -> f64 {
        self.record.duration.unwrap_or(self.timeline.end() as f64 / 1e9)
    }

    /// Returns the costs of the run. They are adjusted so that a prediction of this run gives its measured
    /// duration.
    ///
    /// # Errors
    /// Fails if the record and the model do not fit together.
    pub fn costs(&self) -> Result<Costs, Fault> {
        let operators = self.operators();
        let mut costs = Costs::default();
        costs.common.insert("end", (self.duration() - self.timeline.end() as f64 / 1e9).max(0.0));
        let mut steps: HashMap<&str, f64> = HashMap::new();
        let passes = self.passes();
        for conduit in &self.record.conduits {
            for (port, within) in [(&conduit.from, Operator::OI), (&conduit.to, Operator::S)] {
                if operators.get(port.as_str()) == Some(&within) {
                    let component = of_port(port);
                    let each = per_channel(conduit) / passes.get(component).copied().unwrap_or(1.0);
                    let most = steps.entry(component).or_insert(0.0);
                    *most = most.max((each - 1e-9).ceil());
                }
            }
        }
        let lanes: HashMap<&str, &TimelineLane> =
            self.timeline.lanes.iter().map(|lane| (lane.name.as_str(), lane)).collect();
        let mut of_component: BTreeMap<&str, Vec<(&str, ComponentCosts)>> = BTreeMap::new();
        for record in leading(&self.record.instances) {
            let component = component_of(&record.name);
            let own = of_instance(
                record,
                lanes.get(record.name.as_str()).copied(),
                steps.get(component).copied(),
                &self.timeline,
            );
            of_component.entry(component).or_default().push((rank_parts(&record.name).0, own));
        }
        for (component, own) in of_component {
            let mean = mean_of(&own);
            if own.len() > 1 {
                for (name, one) in own {
                    if differ(&one, &mean) {
                        costs.components.insert(name.to_owned(), one);
                    }
                }
            }
            costs.components.insert(component.to_owned(), mean);
        }
        let bytes = self.bytes();
        for (conduit, bytes) in self.record.conduits.iter().zip(bytes) {
            let rate = |port: &str, within: Operator| {
                let component = of_port(port);
                let passes = passes.get(component).copied().unwrap_or(1.0);
                let is_within = operators.get(port) == Some(&within);
                let steps = if is_within { steps.get(component).copied().unwrap_or(1.0) } else { 1.0 };
                Some(Cost::Number(per_channel(conduit) / (passes * steps).max(1.0)))
            };
            let own = ConduitCosts {
                bytes: Some(Cost::Number(bytes)),
                sent: rate(&conduit.from, Operator::OI),
                received: rate(&conduit.to, Operator::S),
                ..ConduitCosts::default()
            };
            costs.conduits.insert((conduit.from.clone(), conduit.to.clone()), own);
        }
        agree(&self.model, &mut costs, &self.question(), self.duration())?;
        Ok(costs)
    }

    /// Returns the operators of all ports, by the ports' names.
    fn operators(&self) -> HashMap<String, Operator> {
        let mut operators = HashMap::new();
        for instance in &self.model.instances {
            let component = &self.model.components[instance.component as usize].name;
            for port in instance.ports.iter() {
                operators.insert(format!("{component}.{}", port.name), port.operator);
            }
            if instance.grid.is_some() {
                operators.insert(format!("{component}.{SUMS_OUT}"), Operator::OI);
                operators.insert(format!("{component}.{SUMS_IN}"), Operator::S);
            }
        }
        operators
    }

    /// Returns the number of passes of each component's reuse loop, as the mean over its instances.
    fn passes(&self) -> HashMap<&str, f64> {
        let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
        for record in &self.record.instances {
            let sum = sums.entry(component_of(&record.name)).or_default();
            *sum = (sum.0 + record.iterations.max(1) as f64, sum.1 + 1.0);
        }
        sums.into_iter().map(|(component, (sum, count))| (component, sum / count)).collect()
    }

    /// Estimates the size of a message on each conduit, in bytes. Only the total bytes of each component, sent
    /// and received, are known. The sizes are scaled in turn to agree with the totals of senders and of
    /// receivers; a port sends messages of the same size to all receivers (iterative proportional fitting;
    /// Deming and Stephan, 1940).
    fn bytes(&self) -> Vec<f64> {
        let conduits = &self.record.conduits;
        let mut totals: HashMap<&str, (f64, f64)> = HashMap::new();
        for record in &self.record.instances {
            let total = totals.entry(component_of(&record.name)).or_default();
            *total = (total.0 + record.sent_bytes as f64, total.1 + record.received_bytes as f64);
        }
        let mut sizes = vec![1.0; conduits.len()];
        for _ in 0..ROUND_COUNT {
            for sends in [false, true] {
                let mut found: HashMap<&str, f64> = HashMap::new();
                let end = |one: &'_ ConduitRecord| {
                    if sends {
                        of_port(&one.from).to_owned()
                    } else {
                        of_port(&one.to).to_owned()
                    }
                };
                let names: Vec<String> = conduits.iter().map(end).collect();
                for ((one, size), name) in conduits.iter().zip(&sizes).zip(&names) {
                    *found.entry(name).or_default() += one.messages as f64 * size;
                }
                for (size, name) in sizes.iter_mut().zip(&names) {
                    let total =
                        totals.get(name.as_str()).map_or(0.0, |total| if sends { total.0 } else { total.1 });
                    match found[name.as_str()] {
                        sum if sum > 0.0 => *size *= total / sum,
                        _ => {}
                    }
                }
                let mut of_port: HashMap<&str, (f64, f64)> = HashMap::new();
                for (one, size) in conduits.iter().zip(&sizes) {
                    let sum = of_port.entry(&one.from).or_default();
                    *sum = (sum.0 + one.messages as f64 * size, sum.1 + one.messages as f64);
                }
                for (one, size) in conduits.iter().zip(&mut sizes) {
                    let (sum, count) = of_port[one.from.as_str()];
                    if count > 0.0 {
                        *size = sum / count;
                    }
                }
            }
        }
        sizes
    }
}

/// Returns the rank with the longest computing time of each instance, because the other ranks wait for it.
pub(super) fn leading(records: &[InstanceRecord]) -> Vec<&InstanceRecord> {
    let mut all: Vec<&InstanceRecord> = Vec::new();
    for record in records {
        match all.last_mut() {
            Some(last) if rank_parts(&last.name).0 == rank_parts(&record.name).0 => {
                if record.computing > last.computing {
                    *last = record;
                }
            }
            _ => all.push(record),
        }
    }
    all
}

/// Returns the component of a port: `macro.state_out` → `macro`
fn of_port(port: &str) -> &str {
    port.rsplit_once('.').map_or(port, |(component, _)| component)
}

fn per_channel(conduit: &ConduitRecord) -> f64 {
    conduit.messages as f64 / conduit.channels.max(1) as f64
}

fn of_instance(
    record: &InstanceRecord,
    lane: Option<&TimelineLane>,
    steps: Option<f64>,
    timeline: &RunTimeline,
) -> ComponentCosts {
    let passes = record.iterations.max(1) as f64;
    let all = record.computing + record.transferring;
    let operations = passes * steps.unwrap_or(0.0).max(1.0);
    let (setup, teardown) = lane.map_or((0.0, 0.0), |lane| edges_of(lane, timeline, all, operations));
    let each = (all - setup - teardown).max(0.0) / operations;
    let (pass, step) = if steps.is_some() { (0.0, each) } else { (each, 0.0) };
    ComponentCosts {
        start: lane.and_then(|lane| lane.began).map(|began| Cost::Number(began as f64 / 1e9)),
        setup: Some(Cost::Number(setup)),
        passes: Some(Cost::Number(passes)),
        pass: Some(Cost::Number(pass)),
        steps: steps.map(Cost::Number),
        step: Some(Cost::Number(step)),
        teardown: Some(Cost::Number(teardown)),
        ..ComponentCosts::default()
    }
}

/// Estimates the setup and the teardown of an instance, in s. Before its first wait for a message, an instance
/// is set up and may compute steps. After its last wait, it may compute steps and then do final work, such as
/// writing a file. The number of messages before the first wait, and after the last one, tells the number of
/// steps in each part.
fn edges_of(lane: &TimelineLane, timeline: &RunTimeline, all: f64, operations: f64) -> (f64, f64) {
    let waits = |span: &&TimelineSpan| {
        let cause = span.cause.and_then(|cause| timeline.causes.get(cause as usize));
        cause.is_some_and(|cause| matches!(cause.activity, Activity::Message | Activity::AnyMessage))
    };
    let passed = |sums: &TimelineSums| sums.sent_messages + sums.received_messages;
    let part = |messages: u64| messages as f64 / passed(&lane.sums).max(1) as f64;
    let Some(first) = lane.spans.iter().position(|span| !span.is_period && waits(&span)) else {
        return (0.0, 0.0);
    };
    // Small sends are counted with the wait that follows them, so they are in this span. The message that ended
    // the wait was received after it, so it is subtracted.
    let own = &lane.spans[first].sums;
    let own = passed(own).saturating_sub(u64::from(own.received_messages > 0));
    let before = own + lane.spans[..first].iter().map(|span| passed(&span.sums)).sum::<u64>();
    let gap = (lane.spans[first].begin - lane.began.unwrap_or(0)) as f64 / 1e9;
    // If there is only one step, this wait is its beginning.
    let setup = if operations > 1.0 { beyond_steps(gap, part(before).max(1.0 / operations), all) } else { gap };
    let last = lane.spans.iter().rposition(|span| waits(&span)).unwrap_or(first);
    let after = &lane.spans[last + 1..];
    // Other instances wait for a message that is sent here, so the computing before it belongs to a pass.
    let sends = after.iter().any(|span| span.sums.sent_messages > 0);
    let gap = lane.end().saturating_sub(lane.spans[last].end) as f64 / 1e9;
    let after = after.iter().map(|span| passed(&span.sums)).sum();
    let teardown = if sends { 0.0 } else { beyond_steps(gap, part(after).max(1.0 / operations), all) };
    let setup = setup.min(all);
    (setup, teardown.min(all - setup))
}

/// Returns the excess of a computing time `gap` (s) over the time of its steps. `part` is the share of all
/// steps in the gap, and the remaining computing time `all` − `gap` consists of the other steps. Returns 0 if
/// `part` is above one half, because the estimate is then too uncertain.
fn beyond_steps(gap: f64, part: f64, all: f64) -> f64 {
    if part > 0.5 {
        return 0.0;
    }
    (gap - (all - gap).max(0.0) * part / (1.0 - part)).max(0.0)
}

/// Returns a measured cost as a number.
fn number(own: &ComponentCosts, key: &str) -> Option<f64> {
    match own.get(key) {
        Some(Cost::Number(number)) => Some(*number),
        _ => None,
    }
}

fn mean_of(all: &[(&str, ComponentCosts)]) -> ComponentCosts {
    let mean = |key: &str| {
        let known: Vec<f64> = all.iter().filter_map(|(_, one)| number(one, key)).collect();
        (!known.is_empty()).then(|| Cost::Number(known.iter().sum::<f64>() / known.len() as f64))
    };
    ComponentCosts {
        start: mean("start"),
        setup: mean("setup"),
        passes: mean("passes"),
        pass: mean("pass"),
        steps: mean("steps"),
        step: mean("step"),
        teardown: mean("teardown"),
        ..ComponentCosts::default()
    }
}

fn differ(one: &ComponentCosts, mean: &ComponentCosts) -> bool {
    ["setup", "pass", "step", "teardown"].iter().any(|key| match (number(one, key), number(mean, key)) {
        (Some(one), Some(mean)) => (one - mean).abs() > ALIKE * mean,
        _ => false,
    })
}
