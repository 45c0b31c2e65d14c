//! Convergence of a window: the change of each kind of data from one iteration to the next, held against the
//! limits of the model.

use super::{norm, norm_of_difference};
use ligament_wire::fields::optional;
use ligament_wire::Value;

/// The size with which a change is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasureKind {
    /// The change itself, in the unit of the data.
    Absolute,
    /// The change over the new values.
    Relative,
    /// The change over that of the window's first iteration.
    ResidualRelative,
}

impl MeasureKind {
    /// Returns the name that columns of tables and the setting `limits` have for it.
    pub fn name(self) -> &'static str {
        match self {
            MeasureKind::Absolute => "absolute",
            MeasureKind::Relative => "relative",
            MeasureKind::ResidualRelative => "residual_relative",
        }
    }
}

/// A limit for one kind of data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    /// Index of the data.
    pub data: usize,
    pub kind: MeasureKind,
    pub limit: f64,
}

/// The measures of a model.
pub(super) struct Convergence {
    measures: Vec<Measure>,
    /// Norm of each measure's first change of this window.
    first: Vec<Option<f64>>,
}

/// The measures after an iteration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Agreement {
    /// The value of each measure.
    pub values: Vec<f64>,
    pub is_reached: bool,
    /// The largest value over its limit. It is at most 1 if the components agree.
    pub worst: f64,
}

impl Convergence {
    pub fn new(measures: Vec<Measure>) -> Convergence {
        let first = vec![None; measures.len()];
        Convergence { measures, first }
    }

    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Returns the state for a checkpoint.
    pub fn state(&self) -> Value {
        Value::List(self.first.iter().map(|&first| optional(first)).collect())
    }

    /// Takes over the state of a checkpoint. If the model has other limits now, the first changes of the
    /// window are not known for them.
    pub fn restore(&mut self, state: &[Value]) {
        if state.len() == self.first.len() {
            for (first, saved) in self.first.iter_mut().zip(state) {
                *first = if let Value::Float(number) = saved { Some(*number) } else { None };
            }
        }
    }

    /// Begins a window.
    pub fn begin_window(&mut self) {
        self.first.fill(None);
    }

    /// Compares the values of each kind of data before and after an iteration.
    pub fn compare<'a>(&mut self, data: impl Fn(usize) -> (&'a [f64], &'a [f64])) -> Agreement {
        let mut agreement = Agreement { values: Vec::new(), is_reached: true, worst: 0.0 };
        for (measure, first) in self.measures.iter().zip(&mut self.first) {
            let (before, after) = data(measure.data);
            let change = norm_of_difference(after, before);
            let against = match measure.kind {
                MeasureKind::Absolute => 1.0,
                MeasureKind::Relative => norm(after),
                MeasureKind::ResidualRelative => *first.get_or_insert(change),
            };
            // Without a change there is nothing to be compared, even with 0. A norm that overflows says
            // nothing.
            let value = if change == 0.0 {
                0.0
            } else if against.is_finite() {
                change / against
            } else {
                f64::NAN
            };
            // A comparison with NaN is false, so NaN is never within a limit.
            agreement.is_reached &= value <= measure.limit;
            let share = value / measure.limit;
            // The operation `max` of floating-point numbers passes over NaN.
            if share > agreement.worst || share.is_nan() {
                agreement.worst = share;
            }
            agreement.values.push(value);
        }
        agreement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MeasureKind::{Absolute, Relative, ResidualRelative};

    fn one(kind: MeasureKind, limit: f64) -> Convergence {
        Convergence::new(vec![Measure { data: 0, kind, limit }])
    }

    fn of(convergence: &mut Convergence, before: &[f64], after: &[f64]) -> (f64, bool) {
        let agreement = convergence.compare(|_| (before, after));
        (agreement.values[0], agreement.is_reached)
    }

    #[test]
    fn each_measure_compares_the_change_with_its_size() {
        assert_eq!(of(&mut one(Absolute, 5.0), &[1.0, 1.0], &[4.0, 5.0]), (5.0, true));
        assert_eq!(of(&mut one(Absolute, 4.9), &[1.0, 1.0], &[4.0, 5.0]), (5.0, false));
        assert_eq!(of(&mut one(Relative, 0.5), &[0.0, 5.0], &[0.0, 10.0]), (0.5, true));
        assert_eq!(of(&mut one(Relative, 0.4), &[0.0, 5.0], &[0.0, 10.0]), (0.5, false));
        let mut residual = one(ResidualRelative, 0.1);
        assert_eq!(of(&mut residual, &[0.0], &[8.0]), (1.0, false));
        assert_eq!(of(&mut residual, &[8.0], &[7.0]), (0.125, false));
        assert_eq!(of(&mut residual, &[7.0], &[7.5]), (0.0625, true));
        residual.begin_window();
        assert_eq!(of(&mut residual, &[7.0], &[7.5]), (1.0, false));
    }

    #[test]
    fn zeros_agree_and_what_is_not_finite_does_not() {
        assert_eq!(of(&mut one(Relative, 1e-6), &[0.0], &[0.0]), (0.0, true));
        assert_eq!(of(&mut one(ResidualRelative, 1e-6), &[2.0], &[2.0]), (0.0, true));
        assert!(!of(&mut one(Relative, 1e-6), &[1.0], &[0.0]).1);
        assert!(!of(&mut one(Relative, 1.0), &[0.0], &[f64::INFINITY]).1);
        assert!(!of(&mut one(Absolute, 1.0), &[0.0], &[f64::NAN]).1);
        assert!(!of(&mut one(Relative, 0.1), &[1e308, 1e308], &[1.5e308, 1.5e308]).1, "the norm overflows");
        let nothing = one(Absolute, 1.0).compare(|_| (&[0.0], &[f64::NAN]));
        assert!(nothing.worst.is_nan());
    }

    #[test]
    fn all_measures_must_agree() {
        let mut both = Convergence::new(vec![
            Measure { data: 0, kind: Absolute, limit: 1.0 },
            Measure { data: 1, kind: Relative, limit: 0.1 },
        ]);
        let data: [(&[f64], &[f64]); 2] = [(&[0.0], &[0.5]), (&[1.0], &[2.0])];
        let agreement = both.compare(|at| data[at]);
        assert_eq!(agreement, Agreement { values: vec![0.5, 0.5], is_reached: false, worst: 5.0 });
    }
}
