//! A check of a model's timelines, by the rules of yMMSL and by additional rules of Ligament.

use ligament_catalogue::Code;
use ligament_model::{check_timelines, Configuration, FlatModel, Problem};
use std::collections::HashSet;

pub(crate) fn check(config: &Configuration, flat: &FlatModel, problems: &mut Vec<Problem>) {
    // A component in a circle of waits never begins, so it belongs to no timeline.
    if problems.iter().any(|problem| problem.code == Code::WAITING_CIRCLE) {
        return;
    }
    problems.extend(check_timelines(config, &flat.name));
    nested(flat, problems);
}

/// Reports ports of programs that are on an inner timeline. Only a nested model can have such ports, because a
/// program has no inner components.
fn nested(flat: &FlatModel, problems: &mut Vec<Problem>) {
    let mut reported = HashSet::new();
    for component in &flat.components {
        for port in component.ports.values().filter(|port| port.timeline.parts().len() > 1) {
            if !reported.insert((port.at.line, port.name.clone())) {
                continue;
            }
            problems.push(Problem::error(
                Code::TIMELINE_MISMATCH,
                &port.at,
                format!(
                    "the port \"{}.{}\" is on the timeline {}, which lies in another one of the same \
                     component, and a program steps through one timeline at a time",
                    component.name, port.name, port.timeline
                ),
                "give the port a timeline of one name, or let a model implement the component",
            ));
        }
    }
}
