//! A check that a code keeps to the order of the execution loop: receive on `F_INIT`; then any number of times
//! send on `O_I` and receive on `S`; then send on `O_F`. Free-form use is allowed, so a deviation is reported
//! once in the run's log and nothing else happens. A second message on an `O_F` port in one pass is an error
//! (`send.rs`): all answers after it would be those to other questions. Without the loop there are no passes,
//! and a second one is reported.

use ligament_catalogue::said;
use ligament_model::Operator;

/// The phase of an instance in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopPhase {
    Init,
    Steps,
    Final,
}

/// A set of operators, a bit for each.
const fn set(operators: &[Operator]) -> u8 {
    let (mut set, mut i) = (0, 0);
    while i < operators.len() {
        set |= 1 << operators[i] as u8;
        i += 1;
    }
    set
}

impl LoopPhase {
    /// The operators that are used in it.
    fn operators(self) -> u8 {
        match self {
            LoopPhase::Init => set(&[Operator::FInit]),
            LoopPhase::Steps => set(&[Operator::OI, Operator::S]),
            LoopPhase::Final => set(&[Operator::OF]),
        }
    }
}

/// Watches one instance.
#[derive(Debug)]
pub(crate) struct OrderWatch {
    phase: LoopPhase,
    /// The operators that may be used as if nothing were watched: `goes_on` is asked for every message.
    going: u8,
    /// True if the loop is in use at all: without `reuse_instance` there is no order to keep.
    looping: bool,
    reported: [bool; 4],
}

impl OrderWatch {
    pub fn new() -> OrderWatch {
        // Final messages are watched until a second one is reported.
        let going = !set(&[Operator::OF]);
        OrderWatch { phase: LoopPhase::Init, going, looping: false, reported: [false; 4] }
    }

    /// Another pass of the reuse loop begins.
    pub fn reuse(&mut self) {
        self.looping = true;
        self.enter(LoopPhase::Init);
    }

    fn enter(&mut self, phase: LoopPhase) {
        (self.phase, self.going) = (phase, phase.operators());
    }

    /// Returns true if using a port with this operator changes nothing: the loop is where it is used, and was
    /// so before.
    #[inline(always)]
    pub fn goes_on(&self, operator: Operator) -> bool {
        self.going & set(&[operator]) != 0
    }

    /// True if a message on a port with this operator is the only one of the pass.
    #[inline(always)]
    pub fn sends_once(&self, operator: Operator) -> bool {
        self.looping && operator == Operator::OF
    }

    /// A port with this operator sends once more in the same pass, which without the loop is the whole run.
    /// Returns what to report, if it is a final message and the first such one.
    #[inline(always)]
    pub fn sent_again(&mut self, operator: Operator) -> Option<String> {
        (!self.looping && operator == Operator::OF && !self.reported[3]).then(|| self.second_final())
    }

    #[cold]
    fn second_final(&mut self) -> String {
        self.reported[3] = true;
        self.going = u8::MAX;
        said!(
            ORDER_OF_CALLS,
            "sends a second O_F message, and has not called reuse_instance(); an O_F port sends one in each \
             pass of the reuse loop, so the receiver may take the first one only"
        )
    }

    /// True if the pass is where it sends its final messages, as `goes_on` knows.
    #[inline(always)]
    pub fn is_final(&self) -> bool {
        self.phase == LoopPhase::Final
    }

    /// A port with this operator is used. Returns what to report, if it is out of order for the first time.
    #[inline]
    pub fn used(&mut self, operator: Operator) -> Option<String> {
        if !self.looping {
            return None;
        }
        let (next, kind, fine) = match operator {
            Operator::FInit => (LoopPhase::Init, 0, self.phase == LoopPhase::Init),
            Operator::OI => (LoopPhase::Steps, 1, self.phase != LoopPhase::Final),
            Operator::S => (LoopPhase::Steps, 2, self.phase != LoopPhase::Final),
            Operator::OF => (LoopPhase::Final, 3, true),
            _ => return None,
        };
        if fine {
            self.enter(next);
            return None;
        }
        if std::mem::replace(&mut self.reported[kind], true) {
            return None;
        }
        Some(match operator {
            Operator::FInit => {
                said!(
                    ORDER_OF_CALLS,
                    "receives on an F_INIT port after its steps have begun; the other components may expect it \
                     before"
                )
            }
            Operator::OI => said!(
                ORDER_OF_CALLS,
                "sends on an O_I port after its final O_F message of this pass; call reuse_instance() between \
                 them"
            ),
            _ => said!(
                ORDER_OF_CALLS,
                "receives on an S port after its final O_F message of this pass; call reuse_instance() between \
                 them"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_of_a_macro_model_is_in_order() {
        let mut watch = OrderWatch::new();
        for _ in 0..2 {
            watch.reuse();
            for operator in
                [Operator::FInit, Operator::OI, Operator::S, Operator::OI, Operator::S, Operator::OF]
            {
                assert_eq!(watch.used(operator), None);
            }
        }
    }

    #[test]
    fn the_loop_goes_on_where_a_use_changes_nothing() {
        let all = [Operator::FInit, Operator::OI, Operator::S, Operator::OF];
        let mut watch = OrderWatch::new();
        watch.sent_again(Operator::OF);
        assert!(all.iter().all(|&operator| watch.goes_on(operator)));
        watch.reuse();
        for used in all {
            watch.used(used);
            let phase = watch.phase;
            for next in all {
                let mut then = OrderWatch { reported: [false; 4], ..watch };
                let changed = then.used(next).is_some() || then.phase != phase;
                assert_eq!(watch.goes_on(next), !changed, "{next} after {used}");
            }
        }
    }

    #[test]
    fn each_deviation_is_reported_once() {
        let mut watch = OrderWatch::new();
        watch.reuse();
        watch.used(Operator::OF);
        assert!(watch.used(Operator::S).is_some());
        assert!(watch.used(Operator::S).is_none());
        assert!(watch.used(Operator::FInit).is_some());
    }

    #[test]
    fn free_form_use_is_not_judged() {
        let mut watch = OrderWatch::new();
        watch.used(Operator::OF);
        assert_eq!(watch.used(Operator::S), None);
    }

    #[test]
    fn a_second_final_message_without_the_loop_is_reported_once() {
        let mut watch = OrderWatch::new();
        assert!(watch.goes_on(Operator::OI) && !watch.goes_on(Operator::OF));
        assert_eq!(watch.sent_again(Operator::OI), None);
        assert!(watch.sent_again(Operator::OF).is_some());
        assert_eq!((watch.sent_again(Operator::OF), watch.goes_on(Operator::OF)), (None, true));
        let mut watch = OrderWatch::new();
        watch.reuse();
        assert_eq!(watch.sent_again(Operator::OF), None);
    }
}
