//! Which instance makes which evaluation: each gets the next as soon as it is free, and what they answer comes
//! out in the order of the evaluations. Times are given, s.

use ligament_catalogue::{fault, Fault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Evaluations that take less than this are handed out before the one before is answered, so that instances
/// need not wait.
const MAX_PIPELINED_S: f64 = 5e-3;
/// As many are handed out to an instance then.
const AHEAD: usize = 3;
/// Part of the mean time of an evaluation that the latest one decides.
const LATEST_WEIGHT: f64 = 0.1;

/// So much longer may the first evaluation of an instance take, whose process starts meanwhile.
const STARTING: f64 = 60.0;

/// The outcome of an evaluation: the answer, or why there is none.
pub type EvaluationAnswer<T> = Result<T, Fault>;

/// An evaluation that an instance has been given.
#[derive(Debug, Clone, Copy)]
struct EvaluationTask {
    number: usize,
    since: f64,
    /// Its answer does not count any more.
    is_dropped: bool,
}

/// Instances that make evaluations.
#[derive(Debug)]
pub struct InstancePool<T> {
    /// The tasks of each instance, in order.
    tasks: Vec<VecDeque<EvaluationTask>>,
    evaluations: usize,
    next: usize,
    /// Evaluations that an instance did not come to, to be handed out again.
    again: VecDeque<usize>,
    /// Evaluations with an answer from an earlier run; nobody makes them again.
    known: BTreeSet<usize>,
    /// Answers that wait for those of earlier evaluations.
    answers: BTreeMap<usize, EvaluationAnswer<T>>,
    told: usize,
    answered: usize,
    failed: usize,
    /// The instances that have answered, and what each of them has answered last.
    started: Vec<bool>,
    last: Vec<Option<usize>>,
    /// Instances that have ended, and get no more tasks.
    lost: Vec<bool>,
    began: f64,
    /// Mean time of an evaluation, once one is over.
    mean: Option<f64>,
}

/// How far a study is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyProgress {
    pub answered: usize,
    pub failed: usize,
    pub evaluations: usize,
    /// Until all are answered, s, as things have gone up to now; none before the first answer.
    pub remains: Option<f64>,
}

impl<T> InstancePool<T> {
    /// So many instances for so many evaluations.
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

    /// An earlier run has answered this evaluation. Call it before anything is handed out, once for each
    /// evaluation.
    pub fn take_known(&mut self, number: usize, answer: T) {
        self.known.insert(number);
        self.settle(number, Ok(answer));
    }

    /// The next evaluation that is to be handed out, and to whom; none if all instances have enough to do.
    pub fn hand_out(&mut self, now: f64) -> Option<(usize, usize)> {
        while self.known.contains(&self.next) {
            self.next += 1;
        }
        if self.next >= self.evaluations && self.again.is_empty() {
            return None;
        }
        let ahead = if self.mean.is_some_and(|mean| mean < MAX_PIPELINED_S) { AHEAD } else { 1 };
        // An instance without an answer may not have started, and a late one may never come back.
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

    /// Instances that have tasks.
    pub fn busy(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks.len()).filter(|&instance| !self.tasks[instance].is_empty())
    }

    /// The tasks that an instance has been given and has not answered yet.
    pub fn tasks_of(&self, instance: usize) -> impl Iterator<Item = usize> + '_ {
        self.tasks[instance].iter().map(|task| task.number)
    }

    /// Returns true if an instance answers what it has answered last once more, instead of what is due.
    pub fn is_repeated(&self, instance: usize, said: Option<usize>) -> bool {
        let due = self.tasks[instance].front().map(|task| task.number);
        said.is_some() && said == self.last[instance] && said != due
    }

    /// The evaluation that an instance is at has been given up: its answer does not count any more.
    pub fn is_given_up(&self, instance: usize) -> bool {
        self.tasks[instance].front().is_some_and(|task| task.is_dropped)
    }

    /// An instance has ended. The evaluation that it was at has failed, others that it had been given are
    /// handed out again. Which that was; none if the instance had nothing to do, or its answer did not count
    /// any more.
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

    /// The number of instances that have not ended.
    pub fn left(&self) -> usize {
        self.lost.iter().filter(|lost| !**lost).count()
    }

    /// An instance has answered; the evaluation that it says this is the answer of, if it says that.
    ///
    /// # Errors
    /// It was not asked, or has answered that before.
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
        // The first one has waited for its instance to start.
        let is_first = !std::mem::replace(&mut self.started[instance], true);
        // The next task has had the instance only from now on.
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

    /// Gives up the evaluations that take longer than `limit`: the instances that have them, and their numbers.
    /// An answer that still comes is dropped, and makes the instance free again. What waits behind such a one
    /// is handed out again.
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

    /// When the next evaluation takes longer than `limit`; none if nobody is busy.
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

    /// The next answer in the order of the evaluations, if it is there.
    pub fn next_answer(&mut self) -> Option<(usize, EvaluationAnswer<T>)> {
        let answer = self.answers.remove(&self.told)?;
        self.told += 1;
        Some((self.told - 1, answer))
    }

    /// Returns true if all evaluations are answered or given up.
    pub fn is_over(&self) -> bool {
        self.answered >= self.evaluations
    }

    /// How far it is.
    pub fn progress(&self, now: f64) -> StudyProgress {
        let left = (self.evaluations - self.answered) as f64;
        // Answers of an earlier run took no time here.
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

    /// Two instances, of which the second is three times as fast, in a clock of their own.
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
        // A late answer from the first counts no more.
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
        // Evaluations that were handed out anew have smaller numbers, and are no repetitions for that.
        assert!(pool.is_repeated(1, Some(4)) && !pool.is_repeated(1, Some(5)));
        let answers: Vec<_> =
            std::iter::from_fn(|| pool.next_answer()).map(|(number, it)| (number, it.is_ok())).collect();
        assert_eq!(answers, (0..6).map(|number| (number, number != 2)).collect::<Vec<_>>());
        assert!(pool.is_over());
        assert_eq!((pool.lose(1), pool.left()), (None, 0));
    }
}
