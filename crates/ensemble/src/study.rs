//! The instance that makes a study. It sends the settings of each evaluation as an overlay to a free instance,
//! receives the answers, and computes their statistics. Its ports are `settings[]` (O_I), `results[]` (S) and,
//! if connected, `statistics` (O_F). Its own settings describe the study.

use crate::journal::{self, AnswerEntry, Journal, CONTINUE};
use crate::parameters::Parameter;
use crate::pool::{EvaluationAnswer, InstancePool};
use crate::progress::{ProgressFile, WRITE_INTERVAL};
use crate::sampler::{text_of, SamplingMethod, SamplingPlan};
use crate::statistics::{Statistics, Summary};
use crate::whole_file::write_whole;
use ligament_catalogue::{fault, Code, Fault};
use ligament_coupling::tables::{row, Separator};
use ligament_instance::{
    Array, ArrayOrder, Error, ErrorKind, Flags, Instance, LogLevel, Message, Operator, Outgoing, Ports,
    SettingType, SettingValue as Setting, Value, Wait,
};
use ligament_wire::SettingValue;
use std::time::{Duration, Instant};

/// Name of the setting that carries the number of an evaluation, in the overlay and in the answer.
const NUMBER: &str = "evaluation";
/// Time between two reports of the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// An answer: its shape, and its numbers in row-major order.
type StudyNumbers = (Vec<u64>, Vec<f64>);

/// Joins the run as an instance that makes studies, one in each pass of the reuse loop.
///
/// # Errors
/// Fails, and ends the run, if the study's settings are wrong, or if an evaluation fails and failed evaluations
/// may not be left out.
pub fn run_study() -> Result<(), Error> {
    let ports = Ports::new()
        .with(Operator::OI, "settings[]")
        .with(Operator::S, "results[]")
        .with(Operator::OF, "statistics");
    let flags = Flags { dont_apply_overlay: true, ..Flags::default() };
    let mut instance = Instance::with_options(Some(&ports), flags, "rust")?;
    while instance.reuse_instance()? {
        if let Err(error) = Study::of(&mut instance).and_then(|study| study.run(&mut instance)) {
            // The error itself matters more than a failure to report it.
            let _ = instance.error_shutdown(&error.to_string());
            return Err(error);
        }
    }
    Ok(())
}

fn own(fault: Fault) -> Error {
    Error::Own(fault.with_code())
}

/// Returns a setting of the study, or `None` if it is not set.
fn setting(instance: &Instance, name: &str, wanted: SettingType) -> Result<Option<Setting>, Error> {
    match instance.get_setting(name, Some(wanted)) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::SettingUnset => Ok(None),
        Err(error) => Err(error),
    }
}

fn text(instance: &Instance, name: &str) -> Result<Option<String>, Error> {
    Ok(setting(instance, name, SettingType::Str)?.map(|value| match value {
        Setting::Str(text) => text,
        _ => String::new(),
    }))
}

fn count(instance: &Instance, name: &str) -> Result<Option<usize>, Error> {
    match setting(instance, name, SettingType::Int)? {
        Some(Setting::Int(value)) => usize::try_from(value)
            .map(Some)
            .map_err(|_| own(fault!(BAD_STUDY, "the setting \"{name}\" is {value}, and cannot be below 0"))),
        _ => Ok(None),
    }
}

struct Study {
    plan: SamplingPlan,
    statistics: Statistics,
    /// True if a failed evaluation is left out of the statistics. If false, it ends the run.
    leaves_out: bool,
    /// Maximum time of an evaluation, in s.
    limit: Option<f64>,
    began: Instant,
    told: Instant,
    /// Lines of `results.csv`.
    lines: Vec<String>,
    left_out: usize,
    progress: ProgressFile,
    journal: Journal,
    /// Answers from the earlier run that this run continues.
    known: Vec<AnswerEntry>,
}

/// Converts a time in s to a wait. A number that is too large for a duration becomes a wait without limit.
fn patience(seconds: f64) -> Wait {
    Duration::try_from_secs_f64(seconds.max(1e-3)).map_or(Wait::Forever, Wait::AtMost)
}

impl Study {
    /// Makes the study that the settings describe.
    fn of(instance: &mut Instance) -> Result<Study, Error> {
        let unset = |name: &str, why: &str| own(fault!(BAD_STUDY, "the setting \"{name}\" is not set: {why}"));
        let method = text(instance, "sampler")?.unwrap_or_else(|| "latin_hypercube".to_owned());
        let method = SamplingMethod::from_name(&method).map_err(own)?;
        let plan = if method == SamplingMethod::File {
            let file = text(instance, "points")?
                .ok_or_else(|| unset("points", "the sampler \"file\" reads its points from that file"))?;
            let read = std::fs::read_to_string(&file)
                .map_err(|error| own(fault!(BAD_STUDY, "the points cannot be read: {file}: {error}")))?;
            SamplingPlan::of_table(read, &file)
        } else {
            let parameters = text(instance, "parameters")?
                .ok_or_else(|| unset("parameters", "write for example \"rate = 0.1 .. 0.5\""))?;
            let parameters = Parameter::read_all(&parameters).map_err(own)?;
            match method {
                SamplingMethod::Grid => match setting(instance, "grid", SettingType::IntList)? {
                    Some(Setting::IntList(counts)) => {
                        let counts: Vec<usize> =
                            counts.iter().map(|&count| usize::try_from(count).unwrap_or(0)).collect();
                        SamplingPlan::grid(&parameters, &counts)
                    }
                    _ => {
                        return Err(unset(
                            "grid",
                            "it has the number of values of each parameter, such as [5, 4]",
                        ))
                    }
                },
                _ => {
                    let evaluations = count(instance, "evaluations")?
                        .ok_or_else(|| unset("evaluations", "how many are to be made?"))?;
                    let seed = count(instance, "seed")?.unwrap_or(1) as u64;
                    SamplingPlan::sampled(method, &parameters, evaluations, seed)
                }
            }
        };
        let quantiles = match setting(instance, "quantiles", SettingType::FloatList)? {
            Some(Setting::FloatList(quantiles)) => quantiles,
            _ => Vec::new(),
        };
        let leaves_out =
            matches!(setting(instance, "leave_out", SettingType::Bool)?, Some(Setting::Bool(true)));
        let limit = match setting(instance, "time_limit", SettingType::Float)? {
            Some(Setting::Float(limit)) if limit > 0.0 => Some(limit),
            Some(Setting::Float(limit)) => {
                return Err(own(fault!(
                    BAD_STUDY,
                    "the setting \"time_limit\" is {limit} s, and must be above 0"
                )))
            }
            _ => None,
        };
        let plan = plan.map_err(own)?;
        if plan.names.iter().any(|name| name == NUMBER) {
            return Err(own(fault!(
                BAD_STUDY,
                "a parameter cannot be called \"{NUMBER}\": that is the number of the evaluation"
            )));
        }
        let known = match text(instance, CONTINUE)? {
            Some(place) => journal::read(&place, instance.name(), &plan).map_err(own)?,
            None => Vec::new(),
        };
        let names = plan.names.iter().map(String::as_str);
        let head = row(std::iter::once(NUMBER).chain(names).chain(["result", "failure"]), Separator::COMMA);
        Ok(Study {
            plan,
            statistics: Statistics::new(&quantiles).map_err(own)?,
            leaves_out,
            limit,
            began: Instant::now(),
            told: Instant::now(),
            lines: vec![head],
            left_out: 0,
            progress: ProgressFile::default(),
            journal: Journal::create().map_err(own)?,
            known,
        })
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn run(mut self, instance: &mut Instance) -> Result<(), Error> {
        let instances = instance.get_port_length("results")?;
        if instances == 0 || instance.get_port_length("settings")? != instances {
            return Err(own(fault!(
                BAD_STUDY,
                "the ports \"settings\" and \"results\" must be joined to the same instances, at least to one"
            )));
        }
        let mut pool: InstancePool<StudyNumbers> =
            InstancePool::new(instances, self.plan.points.len(), self.now());
        self.begin_with_known(instance, &mut pool)?;
        self.write_progress(instance, &pool)?;
        while !pool.is_over() {
            while let Some((slot, number)) = pool.hand_out(self.now()) {
                self.send(instance, slot, number)?;
            }
            if pool.left() == 0 {
                return self.break_off(instance, pool, "no instance is left");
            }
            match self.receive(instance, &pool) {
                Ok(PoolEvent::Answer(slot, message)) => self.take(instance, &mut pool, slot, &message)?,
                Ok(PoolEvent::End(slot)) => self.lose(instance, &mut pool, slot)?,
                Ok(PoolEvent::Nothing) if self.limit.is_some_and(|limit| pool.next_late(limit).is_none()) => {
                    return self.break_off(instance, pool, "no instance comes back from its evaluation");
                }
                Ok(PoolEvent::Nothing) => {}
                Err(error) => {
                    // The run ends for another reason, which has been reported already, so this error adds only
                    // the evaluations under way.
                    let doing: Vec<String> =
                        pool.busy().filter_map(|slot| self.doing(&pool, slot)).take(10).collect();
                    eprintln!("the study is broken off: {}", doing.join("; "));
                    return Err(error);
                }
            }
            self.give_up(instance, &mut pool)?;
            if let Err(why) = self.add_all(instance, &mut pool) {
                self.write_last_progress(instance, &pool)?;
                return Err(why);
            }
            self.tell(instance, &pool)?;
        }
        self.write_last_progress(instance, &pool)?;
        self.write()?;
        self.hand_on(instance)?;
        self.wait_for_stragglers(instance, pool)
    }

    /// Uses the answers of the earlier run. They go into this run's journal, too, so that a third run can
    /// continue from this one.
    fn begin_with_known(
        &mut self,
        instance: &mut Instance,
        pool: &mut InstancePool<StudyNumbers>,
    ) -> Result<(), Error> {
        let known = std::mem::take(&mut self.known);
        if known.is_empty() {
            return Ok(());
        }
        let (n, all) = (known.len(), self.plan.points.len());
        instance.log(LogLevel::Info, &format!("{n} of {all} evaluations were made by an earlier run"))?;
        for entry in known {
            self.note(instance, &entry)?;
            pool.take_known(entry.evaluation, (entry.shape, entry.values));
        }
        self.add_all(instance, pool)
    }

    /// Adds answers to the results in the order of the evaluations, up to the first missing answer.
    fn add_all(&mut self, instance: &mut Instance, pool: &mut InstancePool<StudyNumbers>) -> Result<(), Error> {
        while let Some((number, answer)) = pool.next_answer() {
            self.add(instance, number, answer)?;
        }
        Ok(())
    }

    /// Writes an answer to the journal. After a failure, for example of a full disk, the study goes on without
    /// a journal.
    fn note(&mut self, instance: &mut Instance, entry: &AnswerEntry) -> Result<(), Error> {
        match self.journal.add(entry) {
            Ok(()) => Ok(()),
            Err(why) => instance.log(LogLevel::Warning, why.text()),
        }
    }

    /// Ends the study early, because no instance is left for the other evaluations. Writes the results so far.
    fn break_off(
        &mut self,
        instance: &mut Instance,
        mut pool: InstancePool<StudyNumbers>,
        why: &str,
    ) -> Result<(), Error> {
        self.add_all(instance, &mut pool)?;
        self.write()?;
        self.write_last_progress(instance, &pool)?;
        let rest = "others are to be made; the results so far are written";
        Err(own(fault!(EVALUATION_FAILED, "{why}, and {rest}")))
    }

    fn send(&self, instance: &mut Instance, slot: usize, number: usize) -> Result<(), Error> {
        let mut settings = vec![(NUMBER.to_owned(), SettingValue::Int(number as i64))];
        settings.extend(self.plan.names.iter().cloned().zip(self.plan.points[number].iter().cloned()));
        instance.send("settings", &Outgoing::at(number as f64, &Value::Settings(settings)), Some(slot as u32))
    }

    /// Waits for the next answer of a busy instance. Returns `Nothing` when an evaluation has taken too long.
    fn receive(&self, instance: &mut Instance, pool: &InstancePool<StudyNumbers>) -> Result<PoolEvent, Error> {
        let now = self.now();
        // The wait ends in time for the next state of the progress file, even if no answer arrives.
        let is_behind = self.progress.is_behind(pool.progress(now).answered);
        let longest = if is_behind { WRITE_INTERVAL.as_secs_f64() } else { f64::INFINITY };
        let wait = match (self.limit, self.limit.and_then(|limit| pool.next_late(limit))) {
            (_, Some(at)) => patience((at - now).min(longest)),
            // All evaluations under way have been given up. The wait goes on, because an instance may still
            // answer and become free.
            (Some(limit), None) => patience(limit),
            (None, None) => patience(longest),
        };
        next_of(instance, pool, wait)
    }

    /// Handles the end of an instance. The study goes on if the run goes on.
    fn lose(
        &self,
        instance: &mut Instance,
        pool: &mut InstancePool<StudyNumbers>,
        slot: usize,
    ) -> Result<(), Error> {
        if !instance.peer_may_fail("results", Some(slot as u32))? {
            return Err(own(fault!(
                EVALUATION_FAILED,
                "an instance has ended without an answer: {}; it must go on for as long as reuse_instance says",
                self.doing(pool, slot).unwrap_or_default()
            )));
        }
        let number = pool.lose(slot);
        let at = number.map_or(String::new(), |number| {
            format!(" at evaluation {number} ({})", self.plan.describe(number))
        });
        let left = pool.left();
        instance.log(LogLevel::Warning, &format!("instance {slot} has ended{at}; {left} are left"))
    }

    /// Describes the evaluation that an instance is making.
    fn doing(&self, pool: &InstancePool<StudyNumbers>, slot: usize) -> Option<String> {
        let number = pool.tasks_of(slot).next()?;
        Some(format!("instance {slot} made evaluation {number} ({})", self.plan.describe(number)))
    }

    fn take(
        &mut self,
        instance: &mut Instance,
        pool: &mut InstancePool<StudyNumbers>,
        slot: usize,
        message: &Message,
    ) -> Result<(), Error> {
        let said = message.settings.as_ref().and_then(|settings| {
            let (_, value) = settings.iter().find(|(name, _)| name.to_string() == NUMBER)?;
            match value {
                Setting::Int(number) => usize::try_from(*number).ok(),
                _ => None,
            }
        });
        if let Some(number) = said.filter(|_| self.leaves_out && pool.is_repeated(slot, said)) {
            let what =
                format!("instance {slot} answers evaluation {number} again; the second answer is left out");
            return instance.log(LogLevel::Warning, &what);
        }
        let answer = numbers(&message.data);
        let kept = answer.as_ref().ok().filter(|_| !pool.is_given_up(slot)).cloned();
        let number = pool.answer(slot, said, answer, self.now()).map_err(own)?;
        match kept.and_then(|(shape, values)| AnswerEntry::new(&self.plan, number, &shape, &values)) {
            Some(entry) => self.note(instance, &entry),
            None => Ok(()),
        }
    }

    fn give_up(&self, instance: &mut Instance, pool: &mut InstancePool<StudyNumbers>) -> Result<(), Error> {
        let Some(limit) = self.limit else { return Ok(()) };
        for (slot, number) in pool.give_up(self.now(), limit) {
            let text = format!(
                "evaluation {number} ({}) takes instance {slot} longer than {limit} s",
                self.plan.describe(number)
            );
            instance.log(LogLevel::Warning, &text)?;
        }
        Ok(())
    }

    /// Adds an answer to the statistics, or leaves a failed evaluation out.
    fn add(
        &mut self,
        instance: &mut Instance,
        number: usize,
        answer: EvaluationAnswer<StudyNumbers>,
    ) -> Result<(), Error> {
        let mut line = vec![number.to_string()];
        line.extend(self.plan.points[number].iter().map(text_of));
        let added = answer.and_then(|(shape, values)| {
            self.statistics.add(&shape, &values)?;
            Ok(match values[..] {
                [one] => one.to_string(),
                _ => String::new(),
            })
        });
        match added {
            Ok(result) => line.extend([result, String::new()]),
            Err(why) => {
                let settings = self.plan.describe(number);
                let what = format!("evaluation {number} ({settings}) has failed: {}", why.text());
                self.progress.add_failure(number, settings, why.text());
                if !self.leaves_out {
                    return Err(own(fault!(
                        EVALUATION_FAILED,
                        "{what}; with the setting \"leave_out: true\" it would be left out"
                    )));
                }
                self.left_out += 1;
                instance.log(LogLevel::Warning, &format!("{what}; it is left out"))?;
                // Each evaluation has exactly one line, so line ends in the reason are replaced.
                line.extend([String::new(), why.text().replace('\n', "; ")]);
            }
        }
        self.lines.push(row(line, Separator::COMMA));
        Ok(())
    }

    /// Writes the progress, if it is due. After a failure, for example of a full disk, the study goes on.
    fn write_progress(
        &mut self,
        instance: &mut Instance,
        pool: &InstancePool<StudyNumbers>,
    ) -> Result<(), Error> {
        if !self.progress.is_due() {
            return Ok(());
        }
        let instances = [instance.get_port_length("results")?, pool.left()];
        match self.progress.write(pool.progress(self.now()), instances, &self.plan.names) {
            Ok(()) => Ok(()),
            Err(why) => instance.log(LogLevel::Warning, why.text()),
        }
    }

    /// Writes the last state of the progress, even if it is not due.
    fn write_last_progress(
        &mut self,
        instance: &mut Instance,
        pool: &InstancePool<StudyNumbers>,
    ) -> Result<(), Error> {
        self.progress.end();
        self.write_progress(instance, pool)
    }

    fn tell(&mut self, instance: &mut Instance, pool: &InstancePool<StudyNumbers>) -> Result<(), Error> {
        self.write_progress(instance, pool)?;
        if self.told.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.told = Instant::now();
        let at = pool.progress(self.now());
        let remains = at.remains.map_or(String::new(), |left| format!(", {left:.0} s remain"));
        let failed = if at.failed > 0 { format!(", {} failed", at.failed) } else { String::new() };
        instance
            .log(LogLevel::Info, &format!("{} of {} evaluations{failed}{remains}", at.answered, at.evaluations))
    }

    /// Writes `results.csv`, with a line for each evaluation, and `statistics.csv`, with a line for each
    /// element.
    fn write(&self) -> Result<(), Error> {
        write_lines("results.csv", &self.lines)?;
        let summary = self.statistics.summary();
        let quantiles: String = summary.quantiles.iter().map(|(q, _)| format!(",quantile {q}")).collect();
        let mut lines = vec![format!("element,mean,variance{quantiles}")];
        for (at, (mean, variance)) in summary.mean.iter().zip(&summary.variance).enumerate() {
            let quantiles: String =
                summary.quantiles.iter().map(|(_, values)| format!(",{}", values[at])).collect();
            lines.push(format!("{at},{mean},{variance}{quantiles}"));
        }
        write_lines("statistics.csv", &lines)
    }

    /// Sends the statistics, if the port is connected.
    fn hand_on(&self, instance: &mut Instance) -> Result<(), Error> {
        let summary = self.statistics.summary();
        if instance.is_connected("statistics")? {
            let value = value_of(&summary, self.left_out)?;
            instance.send("statistics", &Outgoing::at(self.plan.points.len() as f64, &value), None)?;
        }
        let left_out = if self.left_out > 0 { format!(", {} left out", self.left_out) } else { String::new() };
        let text = format!("{} evaluations in {:.1} s{left_out}", self.plan.points.len(), self.now());
        instance.log(LogLevel::Info, &text)
    }

    /// Waits for late instances once more, for at most `limit`. The run cannot end before they have answered,
    /// unless they may fail.
    fn wait_for_stragglers(
        mut self,
        instance: &mut Instance,
        mut pool: InstancePool<StudyNumbers>,
    ) -> Result<(), Error> {
        let until = self.now() + self.limit.unwrap_or(0.0);
        loop {
            let first = pool.busy().next();
            let Some(slot) = first else { return Ok(()) };
            match next_of(instance, &pool, patience(until - self.now()))? {
                PoolEvent::Answer(slot, message) => self.take(instance, &mut pool, slot, &message)?,
                PoolEvent::End(slot) => self.lose(instance, &mut pool, slot)?,
                PoolEvent::Nothing => {
                    let number = pool.tasks_of(slot).next().unwrap_or(0);
                    if instance.peer_may_fail("results", Some(slot as u32))? {
                        let what = format!(
                            "instance {slot} does not come back from evaluation {number} ({}); it is left \
                             behind",
                            self.plan.describe(number)
                        );
                        instance.log(LogLevel::Warning, &what)?;
                        pool.lose(slot);
                        continue;
                    }
                    return Err(own(fault!(
                        EVALUATION_FAILED,
                        "instance {slot} does not come back from evaluation {number} ({}); all others are \
                         done, and their results written",
                        self.plan.describe(number)
                    )));
                }
            }
        }
    }
}

/// The next event of the busy instances.
enum PoolEvent {
    Answer(usize, Box<Message>),
    /// An instance has ended.
    End(usize),
    /// Nothing has happened in time.
    Nothing,
}

fn next_of(instance: &mut Instance, pool: &InstancePool<StudyNumbers>, wait: Wait) -> Result<PoolEvent, Error> {
    let busy: Vec<(&str, Option<u32>)> = pool.busy().map(|slot| ("results", Some(slot as u32))).collect();
    let which = match instance.wait_any(&busy, wait) {
        Ok(which) => which,
        Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(PoolEvent::Nothing),
        // `wait_any` skips closed conduits that have filters, and fails if no others are left. So the closed
        // conduit is searched here.
        Err(error) if error.kind() == ErrorKind::Closed => {
            let mut ended = None;
            for (at, &(port, slot)) in busy.iter().enumerate() {
                if instance.poll(port, slot)? {
                    ended = Some(at);
                    break;
                }
            }
            ended.ok_or(error)?
        }
        Err(error) => return Err(error),
    };
    let (port, slot) = busy[which];
    let at = slot.unwrap_or(0) as usize;
    match instance.receive_within(port, slot, Wait::Forever) {
        Ok(message) => Ok(PoolEvent::Answer(at, Box::new(message))),
        Err(error) if error.kind() == ErrorKind::Closed => Ok(PoolEvent::End(at)),
        Err(error) => Err(error),
    }
}

/// Writes the lines of a table to a file.
fn write_lines(name: &str, lines: &[String]) -> Result<(), Error> {
    write_whole(name, &(lines.join("\n") + "\n"))
        .map_err(|error| own(fault!(BAD_STUDY, "{name} cannot be written: {error}")))
}

fn value_of(summary: &Summary, left_out: usize) -> Result<Value, Error> {
    let shape: Vec<usize> = summary.shape.iter().map(|&extent| extent as usize).collect();
    let array = |values: &[f64]| match values {
        [one] if shape.is_empty() => Ok(Value::Float(*one)),
        _ => Array::from_slice(values, &shape, ArrayOrder::RowMajor)
            .map(Value::Array)
            .map_err(|error| Error::Own(error.to_string())),
    };
    let mut map = vec![
        ("evaluations".to_owned(), Value::Int(summary.count as i64)),
        ("left_out".to_owned(), Value::Int(left_out as i64)),
    ];
    if summary.count > 0 {
        map.push(("mean".to_owned(), array(&summary.mean)?));
        map.push(("variance".to_owned(), array(&summary.variance)?));
        for (q, values) in &summary.quantiles {
            map.push((format!("quantile {q}"), array(values)?));
        }
    }
    Ok(Value::Map(map))
}

/// Returns the numbers of an answer, or the reason why it has none.
fn numbers(value: &Value) -> EvaluationAnswer<StudyNumbers> {
    match value {
        Value::Float(number) => Ok((Vec::new(), vec![*number])),
        Value::Int(number) => Ok((Vec::new(), vec![*number as f64])),
        Value::UInt(number) => Ok((Vec::new(), vec![*number as f64])),
        Value::Bool(truth) => Ok((Vec::new(), vec![f64::from(u8::from(*truth))])),
        Value::List(values) => {
            let one = |value: &Value| match numbers(value)? {
                (shape, one) if shape.is_empty() => Ok(one[0]),
                _ => Err(fault!(EVALUATION_FAILED, "its answer is a list with an item that is no number")),
            };
            let all = values.iter().map(one).collect::<EvaluationAnswer<Vec<f64>>>()?;
            Ok((vec![all.len() as u64], all))
        }
        Value::Array(array) => of_array(array).map(|all| (array.shape().to_vec(), all)).ok_or_else(|| {
            fault!(
                EVALUATION_FAILED,
                "its answer is an array of {:?} that does not lie together, or has no real numbers",
                array.dtype()
            )
        }),
        Value::Map(entries) => match entries.iter().find(|(key, _)| key == "error") {
            Some((_, Value::String(why))) => Err(Fault::new(Code::EVALUATION_FAILED, why.clone())),
            Some((_, why)) => Err(fault!(EVALUATION_FAILED, "{why:?}")),
            None => Err(fault!(EVALUATION_FAILED, "its answer is a map, and no numbers")),
        },
        Value::None => Err(fault!(EVALUATION_FAILED, "its answer is empty")),
        _ => Err(fault!(EVALUATION_FAILED, "its answer is no number, list or array of numbers")),
    }
}

fn of_array(array: &Array) -> Option<Vec<f64>> {
    let wide = |values: &[f64]| values.to_vec();
    array
        .as_slice::<f64>()
        .map(wide)
        .or_else(|| Some(array.as_slice::<f32>()?.iter().map(|&one| f64::from(one)).collect()))
        .or_else(|| Some(array.as_slice::<i64>()?.iter().map(|&one| one as f64).collect()))
        .or_else(|| Some(array.as_slice::<i32>()?.iter().map(|&one| f64::from(one)).collect()))
        .or_else(|| Some(array.as_slice::<i16>()?.iter().map(|&one| f64::from(one)).collect()))
        .or_else(|| Some(array.as_slice::<u8>()?.iter().map(|&one| f64::from(one)).collect()))
}
