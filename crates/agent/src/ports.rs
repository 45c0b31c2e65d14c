//! Checks that the ports that an instance's code declares fit the ports in the model.

use crate::plan::{PlannedEnd, PlannedInstance, PlannedPort, RunPlan};
use crate::wiring::Wiring;
use ligament_catalogue::{fault, said, Fault};
use ligament_model::Operator;
use ligament_wire::control::{PortDeclaration, PortInfo};
use ligament_wire::RankId;

fn direction(sends: bool) -> &'static str {
    if sends {
        "sends"
    } else {
        "receives"
    }
}

fn shape(vector: bool) -> &'static str {
    if vector {
        "a vector port"
    } else {
        "a scalar port"
    }
}

/// Returns the ports for an instance's `Welcome`: first the ports of the model in the model's order, then
/// the ports that only the code declares.
///
/// # Errors
/// A port does not fit. The error names every such port, with the code's declaration, the model's, and
/// advice.
pub fn agree(instance: &PlannedInstance, declared: Option<&[PortDeclaration]>) -> Result<Vec<PortInfo>, Fault> {
    let mut ports: Vec<PortInfo> = instance.ports.iter().map(PortInfo::from).collect();
    let Some(declared) = declared else {
        return Ok(ports);
    };
    let mut wrong = Vec::new();
    for (i, port) in declared.iter().enumerate() {
        if declared[..i].iter().any(|earlier| earlier.name == port.name) {
            wrong.push(fault!(
                PORT_DECLARED_TWICE,
                "the code declares the port \"{}\" twice; remove one of them",
                port.name
            ));
            continue;
        }
        match instance.ports.iter().position(|known| *known.name == *port.name) {
            Some(at) => match differs(&instance.ports[at], port) {
                Some(difference) => wrong.push(difference),
                None => {
                    ports[at].vector = port.vector;
                    ports[at].operator.clone_from(&port.operator);
                }
            },
            None => ports.push(PortInfo {
                name: port.name.clone(),
                operator: port.operator.clone(),
                vector: port.vector,
                length: None,
                array: None,
                clock: None,
            }),
        }
    }
    for port in instance.ports.iter().filter(|port| port.connected && !port.implicit) {
        if !declared.iter().any(|known| *known.name == *port.name) {
            let known: Vec<&str> = declared.iter().map(|port| port.name.as_str()).collect();
            wrong.push(fault!(
                PORTS_DO_NOT_FIT,
                "the model joins a conduit to the port \"{}\" ({}), which the code does not declare (it \
                declares {}); correct the port's name in the model, or declare it in the code",
                port.name,
                match port.operator {
                    Operator::None => direction(port.sends),
                    known => known.name(),
                },
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ));
        }
    }
    let Some(first) = wrong.first() else {
        return Ok(ports);
    };
    let all = wrong.iter().map(Fault::text).collect::<Vec<_>>().join("; also, ");
    Err(fault!(PORTS_DO_NOT_FIT, "the ports of {} do not fit its model: {all}", instance.name).caused_by(first))
}

/// Returns a warning for each port that the code declares with another operator than the model, but with
/// the same direction. The run uses the operator in the code. The warning is for people who read the model.
pub fn other_operators(instance: &PlannedInstance, declared: Option<&[PortDeclaration]>) -> Vec<String> {
    let differs = |port: &PortDeclaration| {
        let known = instance.ports.iter().find(|known| *known.name == *port.name)?;
        let code = Operator::from_name(&port.operator)?;
        (known.operator != Operator::None && known.operator != code).then(|| {
            said!(
                PORTS_DO_NOT_FIT,
                "the code declares the port \"{}\" with the operator {}, and the model says {}; the code's \
                counts. Make them the same, so that \"check\", the pictures and the predictions of the model \
                are right",
                port.name,
                code.name(),
                known.operator.name()
            )
        })
    };
    declared.into_iter().flatten().filter_map(differs).collect()
}

/// Checks that each port of a rank has slots exactly if the port at the other end of its conduit has slots.
/// The check leaves out peers that have not registered. For each port of a rank, `slotted` returns true if
/// the port has slots. For a rank that has not registered, `slotted` returns `None`.
///
/// # Errors
/// Two connected ports do not fit. The error names the first such pair, with advice.
pub fn agree_with_peers<'a>(
    plan: &RunPlan,
    wiring: &Wiring,
    rank: RankId,
    slotted: impl Fn(RankId) -> Option<&'a [bool]>,
) -> Result<(), Fault> {
    let mut ends = wiring.ends(plan, rank);
    ends.try_for_each(|(own, peer)| agree_on_conduit(plan, wiring, (own, peer), &slotted))
}

/// Checks the two ends of one conduit in the same way. The error speaks of the first of these ends.
///
/// # Errors
/// The two ports do not fit.
pub fn agree_on_conduit<'a>(
    plan: &RunPlan,
    wiring: &Wiring,
    (own, peer): (PlannedEnd, PlannedEnd),
    slotted: impl Fn(RankId) -> Option<&'a [bool]>,
) -> Result<(), Fault> {
    let had_ended = [own, peer].iter().any(|end| wiring.instance(plan, end.rank).had_ended);
    if own.slot.is_some() || peer.slot.is_some() || had_ended {
        return Ok(());
    }
    let Some(others) = slotted(peer.rank) else { return Ok(()) };
    let own_slots = slotted(own.rank).unwrap_or_default();
    let has_slots = |end: PlannedEnd, slotted: &[bool]| slotted.get(end.port as usize) == Some(&true);
    let (ours, theirs) = (has_slots(own, own_slots), has_slots(peer, others));
    if ours == theirs {
        return Ok(());
    }
    Err(fault!(
        VECTOR_AND_SCALAR,
        "{} declares {}, but it is joined to {} of {}; declare both with \"[]\" (then the sender sets the \
         number of slots), or neither",
        wiring.end_name(plan, own),
        shape(ours),
        shape(theirs),
        wiring.end_name(plan, peer)
    ))
}

fn differs(model: &PlannedPort, code: &PortDeclaration) -> Option<Fault> {
    let name = &model.name;
    let Some(declared) = Operator::from_name(&code.operator) else {
        return Some(fault!(
            PORTS_DO_NOT_FIT,
            "the code declares \"{name}\" with an operator \"{}\", which there is not",
            code.operator
        ));
    };
    if model.operator == Operator::None {
        if model.connected && model.sends != declared.sends() {
            return Some(fault!(
                PORTS_DO_NOT_FIT,
                "the code declares the port \"{name}\" with the operator {}, but in the model it {}; correct \
                one of them",
                declared.name(),
                direction(model.sends)
            ));
        }
    } else if model.operator.sends() != declared.sends() {
        return Some(fault!(
            PORTS_DO_NOT_FIT,
            "the code declares the port \"{name}\" with the operator {}, but the model says {}; make them the \
            same",
            declared.name(),
            model.operator.name()
        ));
    }
    let vector = model.has_visible_slots();
    if model.connected && vector != code.vector && !(code.vector && model.resizable) {
        let advice = if code.vector {
            format!("declare it as \"{name}\", or give the component at its other end a multiplicity")
        } else {
            format!("declare it as \"{name}[]\", or correct the multiplicities in the model")
        };
        return Some(fault!(
            PORTS_DO_NOT_FIT,
            "the code declares \"{name}\" as {}, but the conduits of the model make it {}; {advice}",
            shape(code.vector),
            shape(vector)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance() -> PlannedInstance {
        let port = |name: &str, operator: &str, connected, vector| PlannedPort {
            name: name.into(),
            operator: Operator::from_name(operator).unwrap(),
            sends: operator.starts_with("o_"),
            connected,
            vector,
            length: vector.then_some(4),
            resizable: !vector,
            implicit: false,
            array: None,
            clock: None,
        };
        PlannedInstance {
            name: "micro".into(),
            ports: vec![
                port("init", "f_init", true, false),
                port("all", "o_f", true, true),
                port("side", "s", false, false),
            ]
            .into(),
            log_level: 1,
            ..PlannedInstance::default()
        }
    }

    fn declared(ports: &[(&str, &str, bool)]) -> Vec<PortDeclaration> {
        let port = |&(name, operator, vector): &(&str, &str, bool)| PortDeclaration {
            name: name.into(),
            operator: operator.into(),
            vector,
        };
        ports.iter().map(port).collect()
    }

    #[test]
    fn ports_of_the_model_keep_their_places_and_others_follow() {
        let code = declared(&[("extra", "o_i", true), ("all", "o_f", true), ("init", "f_init", false)]);
        let ports = agree(&instance(), Some(&code)).unwrap();
        let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["init", "all", "side", "extra"]);
        assert_eq!(ports[1].length, Some(4));
    }

    #[test]
    fn everything_that_does_not_fit_is_said_at_once() {
        let code = declared(&[("init", "o_i", false), ("all", "o_f", false), ("all", "o_f", true)]);
        let error = agree(&instance(), Some(&code)).unwrap_err();
        for part in
            ["operator O_I, but the model says F_INIT", "\"all\" as a scalar port", "\"all[]\"", "twice"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = agree(&instance(), Some(&declared(&[("init", "f_init", false)]))).unwrap_err();
        assert!(error.contains("\"all\" (O_F), which the code does not declare (it declares init)"), "{error}");
    }

    #[test]
    fn another_operator_in_the_same_direction_is_the_codes_and_is_told() {
        let code = declared(&[("init", "s", false), ("all", "o_f", true)]);
        assert_eq!(agree(&instance(), Some(&code)).unwrap()[0].operator, "s");
        let told = other_operators(&instance(), Some(&code));
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("\"init\" with the operator S, and the model says F_INIT"), "{told:?}");
        assert!(other_operators(&instance(), None).is_empty());
    }

    #[test]
    fn a_code_that_declares_nothing_gets_the_models_ports() {
        assert_eq!(agree(&instance(), None).unwrap().len(), 3);
    }

    #[test]
    fn a_port_whose_conduits_give_no_slots_may_be_a_vector_port_of_any_length() {
        let code = declared(&[("init", "f_init", true), ("all", "o_f", true)]);
        let ports = agree(&instance(), Some(&code)).unwrap();
        assert_eq!((ports[0].vector, ports[0].length), (true, None));
        let mut fixed = instance();
        let mut ports = fixed.ports.to_vec();
        ports[0].resizable = false;
        fixed.ports = ports.into();
        let error = agree(&fixed, Some(&code)).unwrap_err();
        assert!(error.contains("\"init\" as a vector port"), "{error}");
    }

    #[test]
    fn an_unconnected_port_may_be_a_vector_in_the_code() {
        let code = declared(&[("init", "f_init", false), ("all", "o_f", true), ("side", "s", true)]);
        assert!(agree(&instance(), Some(&code)).unwrap()[2].vector);
    }
}
