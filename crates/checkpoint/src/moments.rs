//! The model times at which a run saves its state. Each instance computes them by the same arithmetic, so two
//! instances have the same bits for the same moment.

use ligament_wire::control::MomentRule;
use ligament_wire::times::begin_of;

/// The moments that follow from the rules of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moments {
    rules: Vec<MomentRule>,
}

impl Moments {
    /// Makes the moments of these rules. A rule without moments is left out.
    pub fn new(rules: Vec<MomentRule>) -> Moments {
        Moments { rules }
    }

    /// Returns true if there are no moments.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns true if this is one of the moments.
    pub fn has(&self, moment: f64) -> bool {
        self.due(None, moment) == Some(moment)
    }

    /// Returns the latest moment that a code at the model time `time` has reached, if there is one after
    /// `saved`, the moment of the last checkpoint. A moment before the first call counts, as in MUSCLE 3: the
    /// state is then saved at once. A time that only rounding keeps below a moment has reached it.
    pub fn due(&self, saved: Option<f64>, time: f64) -> Option<f64> {
        let latest = self.rules.iter().filter_map(|rule| latest(rule, time)).reduce(f64::max)?;
        (saved.is_none_or(|saved| latest > saved)).then_some(latest)
    }
}

/// Returns the latest moment of a rule that `time` has reached.
fn latest(rule: &MomentRule, time: f64) -> Option<f64> {
    match rule {
        MomentRule::At(moments) => {
            moments.iter().map(|at| at.0).filter(|&at| has_reached(time, at)).reduce(f64::max)
        }
        MomentRule::Range { start, stop, every } => {
            let (first, every) = (start.map_or(0.0, |start| start.0), every.0);
            let moment = |number: f64| first + number * every;
            let mut number = ((time - first) / every).floor();
            if has_reached(time, moment(number + 1.0)) {
                number += 1.0;
            }
            if let Some(stop) = stop {
                number = number.min(((stop.0 - first) / every).floor());
            }
            (start.is_none() || number >= 0.0).then(|| moment(number)).filter(|at| at.is_finite())
        }
    }
}

fn has_reached(time: f64, at: f64) -> bool {
    time >= begin_of(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::steering::ModelTime;

    fn range(start: Option<f64>, stop: Option<f64>, every: f64) -> MomentRule {
        MomentRule::Range { start: start.map(ModelTime), stop: stop.map(ModelTime), every: ModelTime(every) }
    }

    #[test]
    fn ranges_have_the_moments_of_muscle_3() {
        let all = Moments::new(vec![range(None, None, 10.0)]);
        assert_eq!(all.due(None, 3.0), Some(0.0), "a moment before the first call is made up for");
        assert_eq!(all.due(Some(0.0), 9.9), None);
        assert_eq!((all.due(Some(0.0), 10.0), all.due(Some(0.0), 35.0)), (Some(10.0), Some(30.0)));
        assert_eq!(all.due(None, -5.0), Some(-10.0));
        let part = Moments::new(vec![range(Some(5.0), Some(26.0), 10.0)]);
        assert_eq!((part.due(None, 4.0), part.due(None, 5.0)), (None, Some(5.0)));
        assert_eq!((part.due(None, 24.9), part.due(None, 100.0)), (Some(15.0), Some(25.0)));
        assert_eq!(part.due(Some(25.0), 100.0), None);
    }

    #[test]
    fn the_latest_of_several_rules_counts() {
        let at = MomentRule::At(vec![ModelTime(1.0), ModelTime(7.5)]);
        let both = Moments::new(vec![at, range(None, None, 2.0)]);
        assert_eq!((both.due(None, 1.5), both.due(None, 7.9)), (Some(1.0), Some(7.5)));
        assert_eq!(both.due(Some(7.5), 8.0), Some(8.0));
        assert_eq!(Moments::default().due(None, 1.0), None);
    }

    #[test]
    fn a_sum_of_steps_reaches_the_moment_that_it_means() {
        let every = Moments::new(vec![range(None, None, 1.0)]);
        let (mut time, mut saved, mut steps) = (0.0, None, Vec::new());
        for step in 0..101 {
            if let Some(moment) = every.due(saved, time) {
                (saved, steps) = (Some(moment), [steps, vec![step]].concat());
            }
            time += 0.1;
        }
        assert_eq!(steps, (0..=10).map(|step| step * 10).collect::<Vec<_>>());
    }
}
