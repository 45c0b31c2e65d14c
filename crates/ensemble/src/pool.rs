//! The assignment of evaluations to instances. Each instance gets the next evaluation as soon as it is free.
//! Answers are returned in the order of the evaluations. The pool has no clock: callers pass the times, in s.

use ligament_catalogue::{fault, Fault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Largest mean time of an evaluation, in s, at which instances get further evaluations before they have
/// answered. With such short evaluations, the wait for the next settings would cost much of the time.
const MAX_PIPELINED_S: f64 = 5e-3;
/// Maximum number of unanswered evaluations of an instance in this case.
const AHEAD: usize = 3;
/// Weight of the latest evaluation in the running mean of the time of an evaluation.
const LATEST_WEIGHT: f64 = 0.1;

/// Additional time, in s, that an instance may take for its first evaluation, because its process may still
/// be starting.
const STARTING: f64 = 60.0;

/// The outcome of an evaluation: the answer, or the reason for its failure.
pub type EvaluationAnswer<T> = Result<T, Fault>;

/// An evaluation that was given to an instance.
#[derive(Debug, Clone, Copy)]
struct EvaluationTask {
    number: usize,
    since: f64,
    /// True if the evaluation was given up, so that its answer is ignored.
    is_dropped: bool,
}

/// The instances that make the evaluations of a study.
#[derive(Debug)]
pub struct InstancePool<T> {
    /// Unanswered evaluations of each instance, in order.
    tasks: Vec<VecDeque<EvaluationTask>>,
    evaluations: usize,
    next: usize,
    /// Evaluations for another instance, because the first instance was lost or late and had not begun them.
    again: VecDeque<usize>,
    /// Evaluations with an answer from an earlier run. They are not made again.
    known: BTreeSet<usize>,
    /// Answers that wait until the answers of all earlier evaluations have been returned.
    answers: BTreeMap<usize, EvaluationAnswer<T>>,
    told: usize,
    answered: usize,
    failed: usize,
    /// True for an instance that has answered at least once. The next field has the last evaluation that each
    /// instance answered.
    started: Vec<bool>,
    last: Vec<Option<usize>>,
    /// True for an instance that has ended and gets no more evaluations.
    lost: Vec<bool>,
    began: f64,
    /// Mean time of an evaluation, in s. `None` before an evaluation has been measured.
    mean: Option<f64>,
}

/// The progress of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyProgress {
    pub answered: usize,
    pub failed: usize,
    pub evaluations: usize,
    /// Estimated time until all evaluations are answered, in s. `None` before the first answer.
    pub remains: Option<f64>,
}

impl<T> InstancePool<T> {
    /// Makes a pool of instances for a number of evaluations.
    pub fn new(instances: usize, evaluations: usize, now: f64) -> InstancePool<T> {
        InstancePool {
            tasks: vec![VecDeque::new(); instances],
            evaluations,
            next: 0,
            again: VecDeque::new(),
            known: BTreeSet::new(),
            answers: BTreeMap::new(),
            told: 0,
            answered: 0,
            failed: 0,
            started: vec![false; instances],
            last: vec![None; instances],
            lost: vec![false; instances],
            began: now,
            mean: None,
        }
    }

    /// Stores an answer from an earlier run. Callers do this for all such answers before the first `hand_out`.
    pub fn take_known(&mut self, number: usize, answer: T) {
        self.known.insert(number);
        self.settle(number, Ok(answer));
    }

    /// Returns the instance and the number of the next evaluation to be given out. Returns `None` if all
    /// instances have enough evaluations, or if no evaluation is left.
    pub fn hand_out(&mut self, now: f64) -> Option<(usize, usize)> {
        while self.known.contains(&self.next) {
            self.next += 1;
        }
        if self.next >= self.evaluations && self.again.is_empty() {
            return None;
        }
        let ahead = if self.mean.is_some_and(|mean| mean < MAX_PIPELINED_S) { AHEAD } else { 1 };
        // An instance that has never answered may still be starting, so it gets one evaluation only. An
        // instance with an evaluation that was given up may never answer, so it gets none.
        let (started, lost) = (&self.started, &self.lost);
        let has_room = |(instance, tasks): &(usize, &mut VecDeque<EvaluationTask>)| {
            let most = if started[*instance] { ahead } else { 1 };
            !lost[*instance] && tasks.len() < most && !tasks.front().is_some_and(|task| task.is_dropped)
        };
        let (instance, tasks) =
            self.tasks.iter_mut().enumerate().filter(has_room).min_by_key(|(_, tasks)| tasks.len())?;
        let number = self.again.pop_front().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        tasks.push_back(EvaluationTask { number, since: now, is_dropped: false });
        Some((instance, number))
    }

    /// Returns the instances that have evaluations.
    pub fn busy(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks.len()).filter(|&instance| !self.tasks[instance].is_empty())
    }

    /// Returns the evaluations that an instance has and has not answered.
    pub fn tasks_of(&self, instance: usize) -> impl Iterator<Item = usize> + '_ {
        self.tasks[instance].iter().map(|task| task.number)
    }

    /// Returns true if an instance has sent its last answer again, in place of the answer that is due.
    pub fn is_repeated(&self, instance: usize, said: Option<usize>) -> bool {
        let due = self.tasks[instance].front().map(|task| task.number);
        said.is_some() && said == self.last[instance] && said != due
    }

    /// Returns true if the current evaluation of an instance has been given up, so that its answer is ignored.
    pub fn is_given_up(&self, instance: usize) -> bool {
        self.tasks[instance].front().is_some_and(|task| task.is_dropped)
    }

    /// Notes that an instance has ended. Its current evaluation has failed, and its other evaluations are given
    /// to other instances. Returns the evaluation that has failed. Returns `None` if the instance had no
    /// evaluation, or if its current one had been given up.
    pub fn lose(&mut self, instance: usize) -> Option<usize> {
        self.lost[instance] = true;
        let mut tasks = std::mem::take(&mut self.tasks[instance]).into_iter();
        let first = tasks.next()?;
        self.again.extend(tasks.filter(|task| !task.is_dropped).map(|task| task.number));
        if first.is_dropped {
            return None;
        }
        self.settle(first.number, Err(fault!(EVALUATION_FAILED, "its instance has ended without an answer")));
        Some(first.number)
    }

    /// Returns the number of instances that have not ended.
    pub fn left(&self) -> usize {
        self.lost.iter().filter(|lost| !**lost).count()
    }

    /// Stores the answer of an instance. `said` is the number of the evaluation, if the answer has a number.
    /// Returns the number of the evaluation.
    ///
    /// # Errors
    /// Fails if the instance has no evaluation, or if the answer is for another evaluation than the one that is
    /// due.
    pub fn answer(
        &mut self,
        instance: usize,
        said: Option<usize>,
        answer: EvaluationAnswer<T>,
        now: f64,
    ) -> Result<usize, Fault> {
        let Some(&EvaluationTask { number, since, is_dropped }) = self.tasks[instance].front() else {
            return Err(fault!(
                EVALUATION_FAILED,
                "instance {instance} answers, and was asked nothing; it must send one answer for each \
                 evaluation"
            ));
        };
        if let Some(said) = said.filter(|said| *said != number) {
            let why = if self.is_repeated(instance, Some(said)) { "again" } else { "too early" };
            return Err(fault!(
                EVALUATION_FAILED,
                "instance {instance} answers evaluation {said} {why}, when evaluation {number} is due; it must \
                 send one answer for each"
            ));
        }
        self.tasks[instance].pop_front();
        self.last[instance] = Some(number);
        // The first time includes the start of the instance's process, so it is not part of the mean.
        let is_first = !std::mem::replace(&mut self.started[instance], true);
        // The instance has the next evaluation already, and begins it only now.
        if let Some(next) = self.tasks[instance].front_mut() {
            next.since = now;
        }
        let took = (now - since).max(0.0);
        if !is_first {
            self.mean = Some(self.mean.map_or(took, |mean| mean + LATEST_WEIGHT * (took - mean)));
        }
        if !is_dropped {
            self.settle(number, answer);
        }
        Ok(number)
    }

    fn settle(&mut self, number: usize, answer: EvaluationAnswer<T>) {
        self.answered += 1;
        self.failed += usize::from(answer.is_err());
        self.answers.insert(number, answer);
    }

    /// Gives up evaluations that take longer than `limit`, in s. Returns their instances and numbers. A later
    /// answer is ignored, and makes the instance free again. Other instances get the evaluations that wait
    /// behind a late one.
    pub fn give_up(&mut self, now: f64, limit: f64) -> Vec<(usize, usize)> {
        let mut late = Vec::new();
        for instance in 0..self.tasks.len() {
            let limit = self.limit_of(instance, limit);
            let tasks = &mut self.tasks[instance];
            if tasks.front().is_none_or(|task| task.is_dropped || now - task.since <= limit) {
                continue;
            }
            for (place, task) in tasks.iter_mut().enumerate().filter(|(_, task)| !task.is_dropped) {
                task.is_dropped = true;
                match place {
                    0 => late.push((instance, task.number)),
                    _ => self.again.push_back(task.number),
                }
            }
        }
        for &(_, number) in &late {
            self.settle(number, Err(fault!(EVALUATION_FAILED, "it takes longer than {limit} s")));
        }
        late
    }

    /// Returns the time at which the next evaluation will have taken longer than `limit`, or `None` if no
    /// instance is busy.
    pub fn next_late(&self, limit: f64) -> Option<f64> {
        let fronts = self.tasks.iter().enumerate().filter_map(|(at, tasks)| Some((at, tasks.front()?)));
        let open = fronts.filter(|(_, task)| !task.is_dropped);
        open.map(|(at, task)| task.since + self.limit_of(at, limit)).min_by(f64::total_cmp)
    }

    fn limit_of(&self, instance: usize, limit: f64) -> f64 {
        if self.started[instance] {
            limit
        } else {
            limit + STARTING
        }
    }

    /// Returns the next answer in the order of the evaluations, if it has come.
    pub fn next_answer(&mut self) -> Option<(usize, EvaluationAnswer<T>)> {
        let answer = self.answers.remove(&self.told)?;
        self.told += 1;
        Some((self.told - 1, answer))
    }

    /// Returns true if all evaluations are answered or have failed.
    pub fn is_over(&self) -> bool {
        self.answered >= self.evaluations
    }

    /// Returns the progress of the study.
    pub fn progress(&self, now: f64) -> StudyProgress {
        let left = (self.evaluations - self.answered) as f64;
        // Answers from an earlier run cost no time in this run, so they are left out of the estimate.
        let made = self.answered - self.known.len();
        let each = (made > 0).then(|| (now - self.began) / made as f64);
        StudyProgress {
            answered: self.answered,
            failed: self.failed,
            evaluations: self.evaluations,
            remains: each.map(|each| each * left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two instances with a virtual clock. The second instance is three times as fast as the first.
    #[test]
    fn who_is_free_gets_the_next_and_answers_come_in_order() {
        let mut pool = InstancePool::new(2, 8, 0.0);
        let mut free_at = [0.0f64; 2];
        let mut made = [0; 2];
        let mut doing: Vec<(f64, usize, usize)> = Vec::new();
        let mut order = Vec::new();
        let mut now = 0.0;
        while !pool.is_over() {
            while let Some((instance, number)) = pool.hand_out(now) {
                free_at[instance] = now + if instance == 0 { 3.0 } else { 1.0 };
                doing.push((free_at[instance], instance, number));
            }
            doing.sort_by(|a, b| b.partial_cmp(a).unwrap());
            let (at, instance, number) = doing.pop().unwrap();
            now = at;
            made[instance] += 1;
            assert_eq!(pool.answer(instance, Some(number), Ok(number * 10), now).unwrap(), number);
            while let Some((number, answer)) = pool.next_answer() {
                order.push((number, answer.unwrap()));
            }
        }
        assert_eq!(made, [2, 6]);
        assert_eq!(order, (0..8).map(|number| (number, number * 10)).collect::<Vec<_>>());
        assert_eq!(now, 6.0);
    }

    #[test]
    fn short_evaluations_are_handed_out_ahead_and_long_ones_are_not() {
        for (took, ahead) in [(1e-3, AHEAD), (1.0, 1)] {
            let mut pool: InstancePool<()> = InstancePool::new(1, 100, 0.0);
            pool.started = vec![true];
            assert_eq!(pool.hand_out(0.0), Some((0, 0)));
            assert_eq!(pool.hand_out(0.0), None);
            pool.answer(0, None, Ok(()), took).unwrap();
            let handed = std::iter::from_fn(|| pool.hand_out(took)).count();
            assert_eq!(handed, ahead);
        }
    }

    #[test]
    fn an_instance_that_answers_twice_or_unasked_is_found() {
        let mut pool = InstancePool::new(1, 3, 0.0);
        assert!(pool.answer(0, None, Ok(1), 0.0).unwrap_err().contains("was asked nothing"));
        pool.hand_out(0.0);
        pool.answer(0, Some(0), Ok(1), 1.0).unwrap();
        pool.hand_out(1.0);
        let again = pool.answer(0, Some(0), Ok(1), 1.0).unwrap_err();
        assert!(again.contains("answers evaluation 0 again, when evaluation 1 is due"), "{again}");
        assert!(pool.answer(0, Some(2), Ok(1), 1.0).unwrap_err().contains("too early"));
    }

    #[test]
    fn one_that_takes_too_long_is_given_up_and_its_instance_used_again_when_it_answers() {
        let mut pool = InstancePool::new(2, 4, 0.0);
        pool.started = vec![true, false];
        pool.hand_out(0.0);
        pool.hand_out(0.0);
        pool.answer(1, Some(1), Ok(1), 1.0).unwrap();
        assert_eq!(pool.next_late(10.0), Some(10.0));
        assert_eq!(pool.give_up(9.0, 10.0), []);
        assert_eq!(pool.give_up(11.0, 10.0), [(0, 0)]);
        assert_eq!(pool.give_up(12.0, 10.0), []);
        assert_eq!(pool.next_late(10.0), None);
        let (number, answer) = pool.next_answer().unwrap();
        assert_eq!((number, answer.unwrap_err().text()), (0, "it takes longer than 10 s"));
        assert_eq!(pool.next_answer(), Some((1, Ok(1))));
        assert_eq!(pool.hand_out(12.0), Some((1, 2)));
        assert_eq!(pool.hand_out(12.0), None);
        pool.answer(0, Some(0), Ok(0), 13.0).unwrap();
        assert_eq!(pool.next_answer(), None);
        assert_eq!(pool.hand_out(13.0), Some((0, 3)));
        assert_eq!(
            pool.progress(13.0),
            StudyProgress { answered: 2, failed: 1, evaluations: 4, remains: Some(13.0) }
        );
    }

    #[test]
    fn answers_of_an_earlier_run_come_in_their_order_and_are_not_made_again() {
        let mut pool = InstancePool::new(1, 5, 0.0);
        for number in [4, 1, 2] {
            pool.take_known(number, number * 10);
        }
        assert_eq!(pool.progress(0.0).remains, None);
        assert_eq!(pool.hand_out(0.0), Some((0, 0)));
        pool.answer(0, Some(0), Ok(0), 2.0).unwrap();
        assert_eq!(pool.progress(2.0).remains, Some(2.0));
        assert_eq!(pool.hand_out(2.0), Some((0, 3)));
        pool.answer(0, Some(3), Ok(30), 4.0).unwrap();
        assert!(pool.is_over() && pool.hand_out(4.0).is_none());
        let answers: Vec<_> = std::iter::from_fn(|| pool.next_answer()).map(|(_, it)| it.unwrap()).collect();
        assert_eq!(answers, [0, 10, 20, 30, 40]);
    }

    #[test]
    fn what_waits_behind_a_late_one_is_made_by_others() {
        let mut pool = InstancePool::new(2, 9, 0.0);
        pool.started = vec![true; 2];
        for number in 0..2 {
            assert_eq!(pool.hand_out(0.0), Some((number, number)));
        }
        for instance in 0..2 {
            pool.answer(instance, None, Ok(()), 1e-3).unwrap();
        }
        let handed: Vec<_> = std::iter::from_fn(|| pool.hand_out(1e-3)).collect();
        assert_eq!(handed, [(0, 2), (1, 3), (0, 4), (1, 5), (0, 6), (1, 7)]);
        for _ in 0..3 {
            pool.answer(1, None, Ok(()), 2e-3).unwrap();
        }
        assert_eq!(pool.give_up(2.0, 1.0), [(0, 2)]);
        let handed: Vec<_> = std::iter::from_fn(|| pool.hand_out(2.0)).collect();
        assert_eq!(handed, [(1, 4), (1, 6), (1, 8)]);
        for number in [4, 6, 8] {
            pool.answer(1, Some(number), Ok(()), 2.0).unwrap();
        }
        // The late answer of the first instance is ignored.
        for number in [2, 4, 6] {
            pool.answer(0, Some(number), Ok(()), 3.0).unwrap();
        }
        let answers: Vec<_> =
            std::iter::from_fn(|| pool.next_answer()).map(|(number, it)| (number, it.is_ok())).collect();
        assert_eq!(answers, (0..9).map(|number| (number, number != 2)).collect::<Vec<_>>());
        assert!(pool.is_over());
    }

    #[test]
    fn what_an_instance_was_at_when_it_ended_has_failed_and_the_rest_is_made_by_others() {
        let mut pool: InstancePool<()> = InstancePool::new(2, 6, 0.0);
        pool.started = vec![true; 2];
        for number in 0..2 {
            assert_eq!(pool.hand_out(0.0), Some((number, number)));
        }
        for instance in 0..2 {
            pool.answer(instance, None, Ok(()), 1e-3).unwrap();
        }
        let handed: Vec<_> = std::iter::from_fn(|| pool.hand_out(1e-3)).collect();
        assert_eq!(handed, [(0, 2), (1, 3), (0, 4), (1, 5)]);
        assert_eq!((pool.lose(0), pool.left()), (Some(2), 1));
        assert_eq!(pool.hand_out(2e-3), Some((1, 4)));
        for number in [3, 5, 4] {
            pool.answer(1, Some(number), Ok(()), 3e-3).unwrap();
        }
        // The evaluations that are handed out again have smaller numbers than later ones. A smaller number
        // alone is not a repetition.
        assert!(pool.is_repeated(1, Some(4)) && !pool.is_repeated(1, Some(5)));
        let answers: Vec<_> =
            std::iter::from_fn(|| pool.next_answer()).map(|(number, it)| (number, it.is_ok())).collect();
        assert_eq!(answers, (0..6).map(|number| (number, number != 2)).collect::<Vec<_>>());
        assert!(pool.is_over());
        assert_eq!((pool.lose(1), pool.left()), (None, 0));
    }
}
