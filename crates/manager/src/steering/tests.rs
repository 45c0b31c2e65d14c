use super::*;

const A: RankId = RankId::new(0);
const B: RankId = RankId::new(1);

fn name(rank: RankId) -> String {
    format!("i{rank}")
}

fn proposal(at: Option<f64>) -> Proposal {
    let matter = Matter::Set { settings: vec![1], restart: false };
    Proposal { matter, ranks: vec![A, B], at, patience: 100, stops: false }
}

fn halt() -> Proposal {
    Proposal { matter: Matter::Halt, ..proposal(Some(10.0)) }
}

fn accepts(last: f64, next: Option<f64>) -> Steers {
    Steers::Accepts { last: Some(ModelTime(last)), next: next.map(ModelTime) }
}

fn answer(rank: RankId, change: u64, answer: Steers) -> RankAnswer {
    RankAnswer { rank, change, answer }
}

fn proposed(steering: &mut Steering, proposal: Proposal) -> u64 {
    let (change, turns) = steering.propose(proposal, 0, &name).unwrap();
    assert!(matches!(
        &turns[..],
        [SteeringAction::Order(AgentOrder::Steer { steer: Steer::Prepare { .. }, .. })]
    ));
    change
}

/// Returns the model time of a change that was agreed on, or the reason of a refusal.
fn ended(turns: &[SteeringAction]) -> Result<f64, String> {
    turns
        .iter()
        .find_map(|turn| match turn {
            SteeringAction::Agreed { at, .. } => Some(Ok(*at)),
            SteeringAction::Refused { why, .. } => Some(Err(why.text().to_owned())),
            _ => None,
        })
        .unwrap_or_else(|| panic!("{turns:?}"))
}

#[test]
fn without_a_time_it_is_the_earliest_at_which_somebody_stands_and_that_nobody_has_passed() {
    for (one, other, at) in [
        (accepts(1.0, Some(1.5)), accepts(1.2, None), 1.5),
        (accepts(1.0, Some(1.5)), accepts(1.2, Some(1.3)), 1.3),
        (accepts(1.0, Some(1.1)), accepts(1.2, None), ligament_wire::times::after(1.2)),
    ] {
        let mut steering = Steering::default();
        let change = proposed(&mut steering, proposal(None));
        assert_eq!(steering.answered(answer(A, change, one), 1, &name), []);
        let turns = steering.answered(answer(B, change, other), 1, &name);
        assert_eq!(ended(&turns), Ok(at));
        assert_eq!(steering.answered(answer(A, change, Steers::Made), 2, &name), []);
        assert_eq!(
            steering.answered(answer(B, change, Steers::Over), 2, &name),
            [SteeringAction::InForce { change }]
        );
    }
}

#[test]
fn a_change_that_nobody_made_before_all_ended_is_not_in_force() {
    let mut steering = Steering::default();
    let change = proposed(&mut steering, proposal(None));
    assert_eq!(steering.answered(answer(A, change, accepts(1.0, Some(1.5))), 1, &name), []);
    assert_eq!(ended(&steering.answered(answer(B, change, accepts(1.2, None)), 1, &name)), Ok(1.5));
    assert_eq!(steering.answered(answer(A, change, Steers::Over), 2, &name), []);
    assert_eq!(steering.answered(answer(B, change, Steers::Over), 2, &name), []);
}

#[test]
fn one_that_has_passed_the_time_keeps_all_from_it() {
    let mut steering = Steering::default();
    let change = proposed(&mut steering, proposal(Some(2.0)));
    steering.answered(answer(A, change, accepts(1.0, None)), 1, &name);
    let turns = steering.answered(answer(B, change, Steers::Past { last: ModelTime(2.5) }), 1, &name);
    let SteeringAction::Order(AgentOrder::Steer { steer: Steer::Withdraw { .. }, ranks }) = &turns[0] else {
        panic!("{turns:?}")
    };
    assert_eq!(ranks, &[A, B]);
    assert!(ended(&turns).unwrap_err().contains("i1 has passed 2 already: it is at 2.5"));
    // A late answer changes nothing.
    assert_eq!(steering.answered(answer(A, change, accepts(1.5, None)), 1, &name), []);
}

#[test]
fn whoever_does_not_answer_is_named_when_the_time_for_it_is_over() {
    let mut steering = Steering::default();
    let change = proposed(&mut steering, proposal(None));
    steering.answered(answer(A, change, accepts(1.0, None)), 1, &name);
    assert_eq!(steering.tick(99, &name), []);
    let turns = steering.tick(100, &name);
    assert!(ended(&turns).unwrap_err().starts_with("i1 has not answered"));
    let change = proposed(&mut steering, proposal(None));
    steering.answered(answer(B, change, Steers::Unsteered), 1, &name);
    steering.answered(answer(A, change, accepts(1.0, None)), 1, &name);
    assert!(ended(&steering.tick(100, &name)).unwrap_err().starts_with("i1 has not called steer(t) yet"));
}

#[test]
fn nobody_that_has_ended_counts_unless_all_have() {
    let mut steering = Steering::default();
    let change = proposed(&mut steering, proposal(Some(9.0)));
    steering.answered(answer(A, change, Steers::Over), 1, &name);
    assert_eq!(ended(&steering.answered(answer(B, change, accepts(1.0, None)), 1, &name)), Ok(9.0));
    let change = proposed(&mut steering, proposal(Some(9.0)));
    steering.answered(answer(A, change, Steers::Over), 1, &name);
    let turns = steering.answered(answer(B, change, Steers::Over), 1, &name);
    assert!(ended(&turns).unwrap_err().contains("no instance is left"));
}

#[test]
fn changes_wait_for_their_turn_and_can_be_withdrawn() {
    let mut steering = Steering::default();
    let first = proposed(&mut steering, proposal(None));
    let (second, turns) = steering.propose(proposal(None), 0, &name).unwrap();
    assert_eq!(turns, []);
    assert!(steering.withdraw(Some(7), "me", 0, &name).is_err());
    let (withdrawn, turns) = steering.withdraw(None, "me", 0, &name).unwrap();
    assert_eq!((withdrawn, steering.open()), (first, Some(second)));
    assert!(ended(&turns).unwrap_err().contains("withdrawn by me"));
    for rank in [A, B] {
        steering.answered(answer(rank, second, accepts(1.0, None)), 1, &name);
    }
    assert!(steering.withdraw(Some(second), "me", 0, &name).is_err());
    assert!(steering.withdraw(None, "me", 0, &name).is_err());
}

#[test]
fn a_halt_moves_step_by_step_and_ends() {
    let mut steering = Steering::default();
    assert!(steering.move_halt(None).is_err() && steering.step().is_err());
    let change = proposed(&mut steering, halt());
    for rank in [A, B] {
        steering.answered(answer(rank, change, accepts(1.0, None)), 1, &name);
    }
    assert!(steering.step().is_err());
    steering.answered(answer(A, change, Steers::Halts { at: ModelTime(10.5) }), 2, &name);
    steering.answered(answer(B, change, Steers::Halts { at: ModelTime(12.0) }), 2, &name);
    let (at, _) = steering.step().unwrap();
    assert!(at > 10.5 && at < 10.6 && ligament_wire::times::is_before(10.5, at));
    assert_eq!(steering.halt().unwrap().held.keys().copied().collect::<Vec<_>>(), [B]);
    assert!(steering.move_halt(Some(10.0)).is_err());
    steering.move_halt(Some(20.0)).unwrap();
    assert!(steering.halt().unwrap().held.is_empty());
    steering.move_halt(None).unwrap();
    assert_eq!(steering.halt(), None);
}

#[test]
fn a_run_that_ends_tells_all_who_wait() {
    let mut steering = Steering::default();
    proposed(&mut steering, proposal(None));
    steering.propose(proposal(None), 0, &name).unwrap();
    let turns = steering.run_ends();
    assert_eq!(turns.iter().filter(|turn| matches!(turn, SteeringAction::Refused { .. })).count(), 2);
    assert!(steering.propose(proposal(None), 0, &name).is_err());
}

#[test]
fn a_halt_names_those_who_have_never_come_to_a_step() {
    let mut steering = Steering::default();
    let change = proposed(&mut steering, halt());
    let never = Steers::Accepts { last: None, next: None };
    steering.answered(answer(A, change, accepts(1.0, None)), 1, &name);
    let turns = steering.answered(answer(B, change, never.clone()), 1, &name);
    assert!(turns.iter().any(|turn| matches!(turn, SteeringAction::Agreed { .. })), "{turns:?}");
    assert_eq!(steering.halt().unwrap().unsteered, [B].into());
    // The rank reaches its first step, and halts there.
    let first = Steers::Accepts { last: None, next: Some(ModelTime(0.0)) };
    steering.answered(answer(B, change, first), 2, &name);
    assert!(steering.halt().unwrap().unsteered.is_empty());
    // If no rank has reached a step, the time is unknown.
    let mut steering = Steering::default();
    let change = proposed(&mut steering, Proposal { at: None, ..halt() });
    steering.answered(answer(A, change, never.clone()), 1, &name);
    let turns = steering.answered(answer(B, change, never), 1, &name);
    assert!(ended(&turns).unwrap_err().contains("let a code call it once in each step"));
}
