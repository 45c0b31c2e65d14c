use super::*;

const A: RankId = RankId::new(0);
const B: RankId = RankId::new(1);

fn name(rank: RankId) -> String {
    format!("i{rank}")
}

/// The requests of a run with two ranks, and the actions that have not been looked at yet.
struct AskedRun {
    requests: SaveRequests,
    actions: Vec<SaveAction>,
}

impl AskedRun {
    fn asked(change: u64, at: Option<f64>) -> AskedRun {
        let mut requests = SaveRequests::default();
        let actions = requests.ask(Some(change), at, &[A, B]).unwrap();
        AskedRun { requests, actions }
    }

    /// Returns the number and the time of the question that was sent last.
    fn question(&self) -> (u64, Option<f64>) {
        let sent = self.actions.iter().rev().find_map(|action| match action {
            SaveAction::Steering(SteeringAction::Order(AgentOrder::Steer {
                steer: Steer::Prepare { change, at, matter: Matter::Save },
                ..
            })) => Some((*change, at.map(|at| at.0))),
            _ => None,
        });
        sent.unwrap_or_else(|| panic!("{:?}", self.actions))
    }

    fn answers(&mut self, rank: RankId, answer: Steers) {
        let answer = RankAnswer { rank, change: self.question().0, answer };
        let actions = self.requests.answered(answer, 0, &name);
        self.actions.extend(actions);
    }

    fn agreements(&self) -> Vec<(u64, f64)> {
        let agreed = self.actions.iter().filter_map(|action| match action {
            SaveAction::Steering(SteeringAction::Agreed { change, at }) => Some((*change, *at)),
            _ => None,
        });
        agreed.collect()
    }
}

fn accepts(last: f64, next: Option<f64>) -> Steers {
    Steers::Accepts { last: Some(ModelTime(last)), next: next.map(ModelTime) }
}

fn nothing() -> Steers {
    Steers::Accepts { last: None, next: None }
}

fn refusals(actions: &[SaveAction]) -> Vec<(u64, String)> {
    let refused = actions.iter().filter_map(|action| match action {
        SaveAction::Steering(SteeringAction::Refused { change, why }) => Some((*change, why.text().to_owned())),
        _ => None,
    });
    refused.collect()
}

#[test]
fn the_time_lies_beyond_the_furthest() {
    for (one, other, at) in [
        (accepts(3.0, Some(4.0)), accepts(3.0, Some(4.0)), 4.0),
        (accepts(3.7, Some(3.8)), accepts(3.0, Some(4.0)), 4.0),
        (accepts(4.1, Some(4.2)), accepts(3.0, Some(4.0)), 5.0),
        (accepts(4.1, None), nothing(), after(4.1)),
    ] {
        let mut run = AskedRun::asked(1, None);
        assert_eq!(run.question().1, None);
        run.answers(A, one);
        run.answers(B, other);
        assert_eq!(run.question().1, Some(at));
        run.answers(A, nothing());
        assert_eq!(run.agreements(), []);
        run.answers(B, nothing());
        assert_eq!(run.agreements(), [(1, at)]);
        assert_eq!(run.requests.whole(7, at - 1.0), []);
        assert_eq!(run.requests.whole(8, at), [SaveAction::Saved { change: 1, number: 8, moment: at }]);
        assert_eq!(run.requests.whole(9, at), []);
    }
}

#[test]
fn a_proposal_that_comes_too_late_is_given_up_and_the_next_one_lies_further_ahead() {
    let mut run = AskedRun::asked(1, None);
    run.answers(A, accepts(3.0, Some(4.0)));
    run.answers(B, accepts(3.0, Some(4.0)));
    run.answers(A, nothing());
    run.answers(B, Steers::Past { last: ModelTime(6.0) });
    assert!(run.actions.contains(&SaveAction::GivenUp { moment: 4.0 }));
    assert_eq!((run.question().1, run.agreements()), (None, vec![]));
    run.answers(A, accepts(5.0, Some(6.0)));
    run.answers(B, accepts(6.0, Some(7.0)));
    assert_eq!(run.question().1, Some(8.0), "two steps beyond the furthest");
    run.answers(A, nothing());
    run.answers(B, Steers::Over);
    assert_eq!(run.agreements(), [(1, 8.0)]);
}

#[test]
fn a_time_that_somebody_has_passed_is_refused_with_the_name() {
    let mut run = AskedRun::asked(5, Some(2.0));
    assert_eq!(run.question().1, Some(2.0));
    run.answers(A, nothing());
    run.answers(B, Steers::Past { last: ModelTime(6.0) });
    let [(5, why)] = &refusals(&run.actions)[..] else { panic!("{:?}", run.actions) };
    assert!(why.starts_with("i1 has passed 2 already: it is at 6"), "{why}");
    assert!(!run.requests.wants(2.0));
    assert!(run.requests.ask(Some(6), Some(f64::NAN), &[A]).is_err());
}

#[test]
fn requests_without_a_time_are_one_checkpoint() {
    let mut run = AskedRun::asked(1, None);
    run.actions.extend(run.requests.ask(Some(2), None, &[A, B]).unwrap());
    run.actions.extend(run.requests.ask(None, None, &[A, B]).unwrap());
    run.answers(A, accepts(3.0, Some(4.0)));
    run.answers(B, accepts(3.0, Some(4.0)));
    run.answers(A, nothing());
    run.answers(B, nothing());
    assert_eq!(run.requests.ask(Some(3), None, &[A, B]), Ok(vec![agreement(3, 4.0)]));
    assert_eq!(run.agreements(), [(1, 4.0), (2, 4.0)]);
    let saved = |change| SaveAction::Saved { change, number: 1, moment: 4.5 };
    assert_eq!(run.requests.whole(1, 4.5), [saved(1), saved(2), saved(3)]);
}

#[test]
fn ranks_that_have_no_time_yet_are_asked_again() {
    let mut run = AskedRun::asked(1, None);
    run.answers(A, nothing());
    run.answers(B, nothing());
    let before = run.question().0;
    assert_eq!(run.requests.tick(PAUSE_NS - 1), []);
    run.actions.extend(run.requests.tick(PAUSE_NS));
    assert_ne!(run.question().0, before);
    assert_eq!(run.requests.ranks_without_answer(1), [A, B]);
    run.answers(A, Steers::Over);
    run.answers(B, Steers::Over);
    let [(1, why)] = &refusals(&run.actions)[..] else { panic!("{:?}", run.actions) };
    assert!(why.contains("i0, i1 has ended"), "{why}");
}

#[test]
fn what_is_not_whole_at_the_end_is_refused() {
    let mut run = AskedRun::asked(1, Some(9.0));
    run.answers(A, nothing());
    run.actions.extend(run.requests.ask(Some(2), None, &[A, B]).unwrap());
    let why = |moment: Option<f64>| fault!(STEERING_REFUSED, "{moment:?}");
    let ended = refusals(&run.requests.run_ends(&why));
    assert_eq!(ended, [(1, "Some(9.0)".to_owned()), (2, "None".to_owned())]);
    let mut run = AskedRun::asked(3, Some(9.0));
    let full = fault!(STEERING_REFUSED, "full");
    assert_eq!(run.requests.failed(8.0, &full), []);
    assert_eq!(refusals(&run.requests.failed(9.0, &full)), [(3, "full".to_owned())]);
}

#[test]
fn a_withdrawn_request_leaves_those_that_joined_it() {
    let mut run = AskedRun::asked(1, None);
    run.actions.extend(run.requests.ask(Some(2), None, &[A, B]).unwrap());
    let by = || fault!(STEERING_REFUSED, "withdrawn");
    assert_eq!(refusals(&run.requests.withdraw(1, by()).unwrap()), [(1, "withdrawn".to_owned())]);
    run.answers(A, accepts(3.0, Some(4.0)));
    run.answers(B, accepts(3.0, Some(4.0)));
    assert_eq!(run.question().1, Some(4.0));
    let actions = run.requests.withdraw(2, by()).unwrap();
    assert!(actions.contains(&SaveAction::GivenUp { moment: 4.0 }), "{actions:?}");
    assert_eq!(run.requests.withdraw(2, by()), None);
    assert_eq!(run.requests.whole(1, 9.0), []);
}
