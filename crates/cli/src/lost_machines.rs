//! The machines of a restart: those of the run before, without the machines whose agents were lost.

use ligament_launch::agents::ExpectedDomain;
use ligament_launch::{needs, place, reserved, DomainCapacity, PlacementOptions, RunMachines};
use ligament_manager::{list_some, DomainRecord};
use ligament_model::ResolvedModel;
use ligament_wire::DomainId;

/// Maximum number of machines in a text.
const NAMED: usize = 8;

/// The machines of the next run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NextMachines {
    pub machines: RunMachines,
    /// A line for the user.
    pub text: String,
}

/// Returns the machines of the run that follows a run over `machines` with the domains of `domains`, if it
/// lost any. If the model cannot be placed on those that are left, the lost ones are tried again.
pub(crate) fn next_machines(
    machines: &RunMachines,
    domains: &[DomainRecord],
    model: &ResolvedModel,
    agent_cores: Option<u32>,
) -> Option<NextMachines> {
    let is_lost = |one: &ExpectedDomain| domains.get(one.domain.index()).is_some_and(|domain| domain.lost);
    let (lost, left): (Vec<&ExpectedDomain>, Vec<&ExpectedDomain>) =
        machines.others.iter().partition(|one| is_lost(one));
    if lost.is_empty() {
        return None;
    }
    let names: Vec<String> = lost.iter().map(|one| one.name.clone()).collect();
    let names = list_some(&names, NAMED);
    let room = |domain: &DomainRecord| DomainCapacity {
        name: domain.name.clone(),
        cores: domain.cores,
        reserved: reserved(agent_cores, domain.cores),
        site: None,
    };
    let rooms: Vec<DomainCapacity> = domains.iter().filter(|domain| !domain.lost).map(room).collect();
    // The numbers of the domains change, so places by number would mean other machines.
    let by_number = model.ligament.place.values().any(|place| place.domain.parse::<u32>().is_ok());
    let placed = needs(model, &rooms, &|_| None)
        .and_then(|needs| place(&needs, &rooms, PlacementOptions::of(&model.ligament)));
    match placed {
        Ok(_) if !by_number => {
            let others = left.into_iter().zip((1..).map(DomainId::new));
            let others = others.map(|(one, domain)| ExpectedDomain { domain, ..one.clone() }).collect();
            let text = format!("the run goes on without {names}, whose agent was lost");
            Some(NextMachines { machines: RunMachines { others, ..machines.clone() }, text })
        }
        _ => {
            let text = format!(
                "the agent on {names} was lost, and the model has no place without it; it is tried again"
            );
            Some(NextMachines { machines: machines.clone(), text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_launch::site::LauncherKind;

    fn model(place: &str) -> ResolvedModel {
        let text = format!(
            "ymmsl_version: v0.2
models: {{m: {{components: {{a: {{implementation: p}}, b: {{implementation: p}}}}}}}}
programs: {{p: {{executable: /bin/true}}}}
ligament: {{{place}}}
"
        );
        let read = ligament_model::read(&text, "m.ymmsl");
        read.into_result().unwrap().expand().unwrap()
    }

    fn domain(name: &str, cores: u32, lost: bool) -> DomainRecord {
        DomainRecord { name: name.into(), cores, lost, ..DomainRecord::default() }
    }

    fn machines() -> RunMachines {
        let other = |(number, name): (u32, &str)| ExpectedDomain {
            domain: DomainId::new(number),
            name: name.into(),
            ..ExpectedDomain::default()
        };
        let others = [(1, "n1"), (2, "n2")].map(other).to_vec();
        RunMachines { here: None, others, launcher: LauncherKind::Ssh }
    }

    fn next(place: &str, cores: u32) -> NextMachines {
        let domains = [domain("here", 0, false), domain("n1", 2, true), domain("n2", cores, false)];
        next_machines(&machines(), &domains, &model(place), None).expect("a machine was lost")
    }

    #[test]
    fn a_lost_machine_is_left_out_and_the_others_get_its_number() {
        let next = next("", 2);
        let others: Vec<_> = next.machines.others.iter().map(|one| (one.domain.number(), &*one.name)).collect();
        assert_eq!(others, [(1, "n2")]);
        assert!(next.text.contains("without n1"), "{}", next.text);
    }

    #[test]
    fn a_machine_without_which_the_model_has_no_place_is_tried_again() {
        for (place, cores) in [("", 1), ("place: {n1: a}", 2), ("place: {1: a}", 2)] {
            let next = next(place, cores);
            assert_eq!(next.machines, machines(), "{place}");
            assert!(next.text.contains("tried again"), "{}", next.text);
        }
        assert_eq!(next("place: {n2: a}", 2).machines.others.len(), 1);
    }

    #[test]
    fn nothing_changes_if_no_machine_was_lost() {
        let domains = [domain("here", 0, false), domain("n1", 2, false), domain("n2", 2, false)];
        assert_eq!(next_machines(&machines(), &domains, &model(""), None), None);
    }
}
