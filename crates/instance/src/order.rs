//! Checks that a code keeps to the order of the execution loop: receive on `F_INIT`; then, any number of
//! times, send on `O_I` and receive on `S`; then send on `O_F`. Other orders are allowed, so a deviation is
//! only reported once in the run's log. A second message on an `O_F` port in one pass is an error
//! (`send.rs`), because every later message would then answer the wrong request. A code without the reuse
//! loop has no passes, so its second message is only reported.

use ligament_catalogue::said;
use ligament_model::Operator;

/// The phase of an instance in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopPhase {
    Init,
    Steps,
    Final,
}

/// Makes a set of operators, with one bit for each.
const fn set(operators: &[Operator]) -> u8 {
    let (mut set, mut i) = (0, 0);
    while i < operators.len() {
        set |= 1 << operators[i] as u8;
        i += 1;
    }
    set
}

impl LoopPhase {
    /// Returns the operators whose ports are used in this phase.
    fn operators(self) -> u8 {
        match self {
            LoopPhase::Init => set(&[Operator::FInit]),
            LoopPhase::Steps => set(&[Operator::OI, Operator::S]),
            LoopPhase::Final => set(&[Operator::OF]),
        }
    }
}

/// Watches the order in which one instance uses its ports.
#[derive(Debug)]
pub(crate) struct OrderWatch {
    phase: LoopPhase,
    /// Operators whose use now needs no check. `goes_on` reads this for every message.
    going: u8,
    /// True once the code has called `reuse_instance`. Without the reuse loop, no order is checked.
    looping: bool,
    reported: [bool; 4],
}

impl OrderWatch {
    pub fn new() -> OrderWatch {
        // `O_F` messages are checked until a second one has been reported.
        let going = !set(&[Operator::OF]);
        OrderWatch { phase: LoopPhase::Init, going, looping: false, reported: [false; 4] }
    }

    /// Notes that another pass of the reuse loop begins.
    pub fn reuse(&mut self) {
        self.looping = true;
        self.enter(LoopPhase::Init);
    }

    fn enter(&mut self, phase: LoopPhase) {
        (self.phase, self.going) = (phase, phase.operators());
    }

    /// Returns true if a port of this operator was used last, or may be used without a check: the loop's
    /// phase stays the same.
    #[inline(always)]
    pub fn goes_on(&self, operator: Operator) -> bool {
        self.going & set(&[operator]) != 0
    }

    /// Returns true if a port of this operator may send only one message in a pass.
    #[inline(always)]
    pub fn sends_once(&self, operator: Operator) -> bool {
        self.looping && operator == Operator::OF
    }

    /// Notes that a port of this operator sends a further message in the same pass. Without the reuse loop,
    /// the whole run is one pass. Returns the text to report, if this is the first time and the operator is
    /// `O_F`.
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

    /// Returns true if the instance is in the phase in which it sends on `O_F` ports.
    #[inline(always)]
    pub fn is_final(&self) -> bool {
        self.phase == LoopPhase::Final
    }

    /// Notes that a port of this operator is used. Returns the text to report, if the use is out of order
    /// for the first time.
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
