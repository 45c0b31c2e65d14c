//! Checkpoints on request inside one endpoint: nobody waits, and each request is answered.

use ligament_shm::steering::{Gate, SteeringState};
use ligament_wire::steering::{Matter, ModelTime, Steer, Steers};

const CHANGE: u64 = 9;

fn prepared(steering: &mut SteeringState, at: Option<f64>) -> Steers {
    let steer = Steer::Prepare { change: CHANGE, at: at.map(ModelTime), matter: Matter::Save };
    let mut told = steering.hear(steer, &[0]);
    assert_eq!(told.len(), 1, "{told:?}");
    told.remove(0).1
}

/// An endpoint whose instance has asked at these times whether to save.
fn at_times(times: &[f64]) -> SteeringState {
    let mut steering = SteeringState::default();
    times.iter().for_each(|&time| steering.passes(0, Gate::Save, time));
    steering
}

#[test]
fn a_question_is_answered_with_the_last_time_and_the_next_and_leaves_nothing() {
    let accepts = |last: Option<f64>, next: Option<f64>| Steers::Accepts {
        last: last.map(ModelTime),
        next: next.map(ModelTime),
    };
    for (times, answer) in [
        (&[][..], accepts(None, None)),
        (&[2.0], accepts(Some(2.0), None)),
        (&[2.0, 2.5], accepts(Some(2.5), Some(3.0))),
        (&[2.0, 2.5, 1.0], accepts(Some(2.5), Some(3.0))),
    ] {
        let mut steering = at_times(times);
        assert_eq!(prepared(&mut steering, None), answer);
        assert!(steering.saves_nothing());
        assert_eq!(steering.save_due(0, 1e9), None);
    }
}

#[test]
fn an_accepted_time_is_due_from_the_first_step_on_and_holds_nobody() {
    let mut steering = at_times(&[1.0, 2.0]);
    assert!(matches!(prepared(&mut steering, Some(4.0)), Steers::Accepts { .. }));
    steering.arrives(0, Gate::Step, 5.0);
    assert_eq!(steering.waits_for(), None, "neither agreed on nor withdrawn, and nobody waits");
    steering.leaves();
    assert_eq!((steering.save_due(0, 3.9), steering.save_due(0, 4.5)), (None, Some(4.0)));
    assert_eq!(steering.saved(0, 4.0), [], "the head has not decided yet");
    assert_eq!(steering.save_due(0, 4.5), None);
    let told = steering.hear(Steer::Commit { change: CHANGE, at: ModelTime(4.0) }, &[0]);
    assert_eq!(told, [(CHANGE, Steers::Made)]);
    assert!(steering.saves_nothing() && steering.withdrawn_saves().is_empty());
}

#[test]
fn a_checkpoint_at_a_later_time_is_that_of_an_earlier_one() {
    let mut steering = at_times(&[1.0]);
    prepared(&mut steering, Some(4.0));
    steering.hear(Steer::Commit { change: CHANGE, at: ModelTime(4.0) }, &[0]);
    assert_eq!(steering.saved(0, 3.0), []);
    assert_eq!(steering.saved(0, 6.0), [(CHANGE, Steers::Made)]);
}

#[test]
fn a_time_that_is_over_is_refused() {
    for (at, is_past) in [(2.0, true), (1.5, true), (2.0 + 1e-15, true), (2.1, false)] {
        let mut steering = at_times(&[1.0, 2.0]);
        let answer = prepared(&mut steering, Some(at));
        assert_eq!(answer == Steers::Past { last: ModelTime(2.0) }, is_past, "{at}: {answer:?}");
        assert_eq!(steering.saves_nothing(), is_past);
    }
}

#[test]
fn a_withdrawn_save_is_known_if_it_was_made() {
    let mut steering = at_times(&[1.0]);
    prepared(&mut steering, Some(4.0));
    steering.saved(0, 4.0);
    steering.hear(Steer::Withdraw { change: CHANGE }, &[0]);
    assert_eq!(steering.withdrawn_saves(), [4.0]);
    prepared(&mut steering, Some(5.0));
    steering.hear(Steer::Withdraw { change: CHANGE }, &[0]);
    assert!(steering.withdrawn_saves().is_empty() && steering.save_due(0, 6.0).is_none());
}

#[test]
fn an_instance_that_has_ended_is_over() {
    let mut steering = at_times(&[1.0]);
    steering.over(0);
    assert_eq!(prepared(&mut steering, None), Steers::Over);
    assert_eq!(prepared(&mut steering, Some(9.0)), Steers::Over);
    let mut steering = at_times(&[1.0]);
    prepared(&mut steering, Some(9.0));
    steering.hear(Steer::Commit { change: CHANGE, at: ModelTime(9.0) }, &[0]);
    assert_eq!(steering.over(0), [(CHANGE, Steers::Over)]);
}
