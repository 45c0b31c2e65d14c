//! The checkpoints of a run. Each instance writes its file into a directory for the moment. When the files of
//! all instances are there, the directory gets its number, and last of all the file `checkpoint.json`. So a
//! checkpoint is whole or not there. A file of an instance that has ended belongs to all later checkpoints.

use super::saves::Saves;
use super::Runtime;
use crate::checkpoints::{
    CheckpointRecord, CHECKPOINTS_DIRECTORY, CHECKPOINT_FILE, CHECKPOINT_VERSION, RESUME_FILE,
};
use ligament_agent::{PlannedInstance, RunPlan};
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{
    file_name, moment_directory, read_info, CheckpointWriter, FileInfo, Moments, SavePoint, FILES_SUFFIX,
};
use ligament_manager::{list_some, JournalEvent, Level, Names, SavedCheckpoint, UtcTime};
use ligament_model::{CheckpointRule, ResolvedModel};
use ligament_wire::control::{CheckpointOutcome, CheckpointPlan, MomentRule};
use ligament_wire::steering::ModelTime;
use ligament_wire::RankId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directory below that of the checkpoints, with files of checkpoints that are not whole.
const UNFINISHED_DIRECTORY: &str = ".unfinished";
/// Directory below the unfinished ones, with the files of instances that have ended.
const OVER_DIRECTORY: &str = "over";
/// Number of checkpoints that are kept if the model does not give it.
const DEFAULT_KEPT_CHECKPOINTS: usize = 2;
/// Maximum number of names in a text.
const NAMED: usize = 8;

/// The checkpoints of a run.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// The directory of the checkpoints.
    directory: PathBuf,
    /// The ranks whose files are there, by moment (its bits).
    saved: BTreeMap<u64, BTreeSet<RankId>>,
    /// The ranks of other domains that have saved, and whose files are on their way, by moment.
    arriving: BTreeMap<u64, BTreeSet<RankId>>,
    /// Moments that cannot become checkpoints any more.
    void: BTreeSet<u64>,
    /// The first moment of the model's rules for which ranks did not save, and these ranks.
    first_missed: Option<(f64, Vec<RankId>)>,
    /// Ranks that have ended.
    over: BTreeSet<RankId>,
    /// Numbers of the checkpoints that are there.
    kept: Vec<u32>,
    last: u32,
    /// Instances that had ended at the checkpoint from which the run resumes.
    ended: BTreeSet<String>,
    /// The moments of the model's rules.
    moments: Moments,
}

/// Adds the checkpoints of a model to the plan of its run. If the model has none, somebody may ask for them
/// while the run goes on, and the instances that cannot be saved are noted.
///
/// # Errors
/// The model resumes an instance that it has not.
pub(super) fn begin(
    model: &ResolvedModel,
    run: &Path,
    plan: &mut RunPlan,
    saves: &mut Saves,
) -> Result<Checkpoints, Fault> {
    let rules = &model.checkpoints;
    let names: Vec<&str> = plan.instances.iter().map(|instance| instance.name.as_str()).collect();
    if let Some((name, _)) = model.resume.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(fault!(CHECKPOINT_UNREADABLE, "resume: the model has no instance \"{name}\""));
    }
    if !model.resume.is_empty() {
        if let Some(name) = names.iter().find(|name| !model.resume.contains_key(**name)) {
            return Err(fault!(
                CHECKPOINT_UNREADABLE,
                "resume: there is no file for {name}; a run resumes all of its instances or none"
            ));
        }
    }
    let required = model.uses_checkpoints();
    for (number, light) in
        (0..).zip(&plan.instances).filter(|(number, _)| model.light_program(*number).is_some())
    {
        let name = &light.name;
        let why = format!("{name} is {}", kind_of(model, number));
        saves.unsavable.insert(name.clone(), why);
    }
    let ended = examine(plan, &model.resume)?;
    plan.instances.iter_mut().for_each(|instance| instance.had_ended = ended.contains(&instance.name));
    let directory = run.join(CHECKPOINTS_DIRECTORY);
    let moments: Vec<MomentRule> = rules.simulation_time.iter().map(moment_rule).collect();
    let savable = |one: &&mut PlannedInstance| !saves.unsavable.contains_key(&one.name);
    for instance in plan.instances.iter_mut().filter(savable) {
        let resume = model.resume.get(&instance.name);
        let resume = resume.map(|file| std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file)));
        instance.checkpoints = Some(CheckpointPlan {
            directory: directory.join(UNFINISHED_DIRECTORY).display().to_string(),
            moments: moments.clone(),
            at_end: rules.at_end,
            resume: resume.map(|file| file.display().to_string()),
            required,
        });
    }
    Ok(Checkpoints { directory, ended, moments: Moments::new(moments), ..Checkpoints::default() })
}

/// Returns the kind of an instance that shares its process with others.
fn kind_of(model: &ResolvedModel, instance: u32) -> String {
    let shipped = model.program(instance).and_then(|program| program.shipped());
    let kind = shipped.map_or("light component", |shipped| shipped.name);
    format!("a {kind}, which is saved only in a run that has checkpoints from its start")
}

/// Looks at the files from which the instances resume, before any of them starts. Returns the instances that
/// had ended.
///
/// # Errors
/// A file is missing, cannot be read, or is of another checkpoint than the others.
fn examine(plan: &RunPlan, resume: &BTreeMap<String, String>) -> Result<BTreeSet<String>, Fault> {
    let mut ended = BTreeSet::new();
    let mut first: Option<FileInfo> = None;
    for instance in &plan.instances {
        let Some(file) = resume.get(&instance.name).map(Path::new) else { continue };
        let mut is_over = true;
        for file in files_of(instance, file) {
            let info = read_info(&file)?;
            if info.point == SavePoint::Over {
                continue;
            }
            is_over = false;
            let known = first.get_or_insert_with(|| info.clone());
            if (known.run.as_str(), known.moment) != (info.run.as_str(), info.moment) {
                return Err(fault!(
                    CHECKPOINT_UNREADABLE,
                    "resume: the file {} is of the checkpoint of {} at {}, and that of {} is of {} at {}; all \
                     files must be of one checkpoint",
                    file.display(),
                    info.run,
                    info.moment.0,
                    known.instance,
                    known.run,
                    known.moment.0
                ));
            }
        }
        if is_over {
            ended.insert(instance.name.clone());
        }
    }
    Ok(ended)
}

/// Returns the files of an instance: one, or one for each rank that speaks for itself.
pub(super) fn files_of(instance: &PlannedInstance, file: &Path) -> Vec<PathBuf> {
    match instance.ranks {
        None => vec![file.to_owned()],
        Some(ranks) => (0..ranks)
            .map(|rank| file.with_file_name(file_name(&format!("{}:{rank}", instance.name))))
            .collect(),
    }
}

pub(super) fn moment_rule(rule: &CheckpointRule) -> MomentRule {
    match rule {
        CheckpointRule::At(moments) => MomentRule::At(moments.iter().map(|&at| ModelTime(at)).collect()),
        CheckpointRule::Range { start, stop, every } => MomentRule::Range {
            start: start.map(ModelTime),
            stop: stop.map(ModelTime),
            every: ModelTime(*every),
        },
    }
}

impl Runtime<'_> {
    /// Notes what has become of the file of a rank.
    pub(super) fn checkpoint_outcome(&mut self, rank: RankId, moment: f64, outcome: CheckpointOutcome) {
        let known = moment.to_bits();
        match outcome {
            CheckpointOutcome::Saved if self.checkpoints.void.contains(&known) => {
                self.remove_file(moment, rank);
            }
            CheckpointOutcome::Saved => {
                if self.is_saved_elsewhere(rank) {
                    self.checkpoints.arriving.entry(known).or_default().insert(rank);
                } else {
                    self.checkpoints.saved.entry(known).or_default().insert(rank);
                    self.complete_checkpoint(moment);
                }
                // A rank reports its files in the order of their moments.
                for skipped in self.checkpoints.skipped(rank, moment) {
                    self.checkpoint_is_missed(skipped);
                }
            }
            CheckpointOutcome::Void => self.checkpoint_is_missed(moment),
            CheckpointOutcome::Unsavable { why } => {
                let name = self.manager.names().rank(rank);
                self.is_unsavable(name, why);
            }
            CheckpointOutcome::Failed { why } => {
                let (at, name) = (self.at(moment), self.manager.names().rank(rank));
                let on = self.domain_of_rank(rank).map_or(String::new(), |domain| format!(" on {domain}"));
                let text = format!(
                    "the checkpoint {at} was given up, because the file of {name} cannot be written{on}: {why}"
                );
                self.log.add(Level::Warning, "run", &text);
                self.void_checkpoint(moment);
                self.checkpoint_has_failed(moment, &why);
            }
        }
    }

    /// Gives up a checkpoint, because a rank has passed its moment without a save.
    fn checkpoint_is_missed(&mut self, moment: f64) {
        if self.checkpoints.is_ruled(moment) && self.checkpoints.first_missed.is_none() {
            self.checkpoints.first_missed = Some((moment, self.without_save(moment)));
        }
        self.void_checkpoint(moment);
    }

    /// Returns the ranks that have not saved for a moment.
    fn without_save(&self, moment: f64) -> Vec<RankId> {
        self.ranks.all().filter(|&rank| !self.checkpoints.has_saved(rank, moment)).collect()
    }

    /// Warns if the model's rules asked for checkpoints and none was saved in the whole run. A single moment
    /// that is missed is usual: a code with long steps saves once for several.
    pub(super) fn warn_without_checkpoints(&mut self) {
        if self.checkpoints.last > 0 {
            return;
        }
        let open = self.checkpoints.saved.keys().map(|&bits| f64::from_bits(bits));
        let open = open.filter(|&moment| self.checkpoints.is_ruled(moment)).reduce(f64::min);
        let missed = self.checkpoints.first_missed.take();
        let Some((moment, lack)) = missed.or_else(|| open.map(|at| (at, self.without_save(at)))) else {
            return;
        };
        let names: Vec<String> = lack.iter().map(|&rank| self.manager.names().rank(rank)).collect();
        let text = format!(
            "no checkpoint was saved, although the model asks for them: these did not save {}: {}",
            self.at(moment),
            list_some(&names, NAMED)
        );
        self.log.add(Level::Warning, "run", &text);
    }

    pub(super) fn void_checkpoint(&mut self, moment: f64) {
        let known = moment.to_bits();
        if self.checkpoints.void.insert(known) {
            // A rank whose files are on their way may have some of them here.
            for rank in self.checkpoints.arriving.remove(&known).unwrap_or_default() {
                self.remove_file(moment, rank);
            }
            for rank in self.checkpoints.saved.remove(&known).unwrap_or_default() {
                self.remove_file(moment, rank);
            }
        }
    }

    /// Removes the files of a rank for a checkpoint that was given up. Other ranks may still write theirs, so
    /// the directory stays.
    fn remove_file(&self, moment: f64, rank: RankId) {
        let directory = self.checkpoints.unfinished().join(moment_directory(moment));
        let file = directory.join(file_name(&self.manager.names().rank(rank)));
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir_all(file.with_extension(FILES_SUFFIX));
    }

    /// Notes that a rank has ended: its last file belongs to all checkpoints that are not whole.
    pub(super) fn checkpoints_without(&mut self, rank: RankId) {
        self.checkpoints.over.insert(rank);
        let open: Vec<u64> = self.checkpoints.saved.keys().copied().collect();
        open.into_iter().for_each(|moment| self.complete_checkpoint(f64::from_bits(moment)));
        if self.checkpoints.over.len() == self.ranks.count() {
            self.saves_end_soon();
        }
    }

    /// Notes that a rank has failed. If the run goes on without it, no later checkpoint can become whole.
    pub(super) fn no_checkpoints_after(&mut self, rank: RankId) {
        if !self.model.may_fail(self.ranks.instance(rank).number()) {
            return;
        }
        let name = self.manager.names().rank(rank);
        let why = format!("{name} has failed, so its state cannot be saved, and the run goes on without it");
        if self.model.uses_checkpoints() {
            self.log.add(Level::Warning, "run", &format!("no further checkpoint is saved: {why}"));
        }
        self.is_unsavable(name, why);
    }

    /// Gives a checkpoint its number, if the files of all ranks are there.
    pub(super) fn complete_checkpoint(&mut self, moment: f64) {
        let Some(missing) = self.checkpoints.ended_without(moment, self.ranks.all()) else { return };
        self.checkpoints.saved.remove(&moment.to_bits());
        let mut names: Vec<String> = self.ranks.all().map(|rank| self.manager.names().instance(rank)).collect();
        names.dedup();
        let over: Vec<String> = missing.iter().map(|&rank| self.manager.names().rank(rank)).collect();
        let when = self.at(moment);
        match self.checkpoints.put(moment, &self.record.run, &names, &over) {
            Ok(number) => {
                self.log.add(Level::Info, "run", &format!("checkpoint {number} is saved ({when})"));
                let model_time = moment.is_finite().then_some(moment);
                let saved = UtcTime::now().rfc3339();
                self.record.last_checkpoint = Some(SavedCheckpoint { number, model_time, saved });
                let order = format!("checkpoint {number}, {when}");
                self.journal.note(JournalEvent::Order { order, instance: None });
                self.checkpoints
                    .prune(self.model.ligament.kept_checkpoints.unwrap_or(DEFAULT_KEPT_CHECKPOINTS));
                self.checkpoint_is_whole(number, moment);
            }
            Err(error) => {
                let text = format!("the checkpoint {when} was given up: {error}");
                self.log.add(Level::Warning, "run", &text);
                self.void_checkpoint(moment);
                self.checkpoint_has_failed(moment, &error.to_string());
            }
        }
    }
}

impl Checkpoints {
    /// Returns the moments before `moment` for which other ranks have saved and this one has not.
    fn skipped(&self, rank: RankId, moment: f64) -> Vec<f64> {
        let open: BTreeSet<u64> = self.saved.keys().chain(self.arriving.keys()).copied().collect();
        let earlier = open.into_iter().map(f64::from_bits).filter(|&at| at < moment);
        earlier.filter(|&at| !self.has_saved(rank, at)).collect()
    }

    /// Returns true if a rank has saved for a moment. Its files may still be on their way.
    fn has_saved(&self, rank: RankId, moment: f64) -> bool {
        let saved = self.saved.get(&moment.to_bits()).is_some_and(|ranks| ranks.contains(&rank));
        saved || self.awaits(rank, moment)
    }

    /// Returns those of the ranks that had ended before a moment, if the files of all others are there. Returns
    /// `None` if a rank has not saved, or if its files are on their way.
    fn ended_without(&self, moment: f64, ranks: impl Iterator<Item = RankId>) -> Option<Vec<RankId>> {
        let saved = self.saved.get(&moment.to_bits())?;
        let missing: Vec<RankId> = ranks.filter(|rank| !saved.contains(rank)).collect();
        let have_ended = missing.iter().all(|rank| self.over.contains(rank) && !self.awaits(*rank, moment));
        have_ended.then_some(missing)
    }

    /// Returns true if files of a rank for a moment are on their way.
    pub fn awaits(&self, rank: RankId, moment: f64) -> bool {
        self.arriving.get(&moment.to_bits()).is_some_and(|ranks| ranks.contains(&rank))
    }

    /// Returns true if any files are on their way.
    pub fn awaits_any(&self) -> bool {
        !self.arriving.is_empty()
    }

    /// Notes that all files of a rank for a moment have come.
    pub fn arrived(&mut self, rank: RankId, moment: f64) {
        let known = moment.to_bits();
        if let Some(ranks) = self.arriving.get_mut(&known) {
            ranks.remove(&rank);
        }
        self.arriving.retain(|_, ranks| !ranks.is_empty());
        self.saved.entry(known).or_default().insert(rank);
    }

    /// Returns true if the instance had ended at the checkpoint from which the run resumes.
    pub fn had_ended(&self, instance: &str) -> bool {
        self.ended.contains(instance)
    }

    /// Returns true if the model's rules ask for a checkpoint at this moment.
    pub fn is_ruled(&self, moment: f64) -> bool {
        self.moments.has(moment)
    }

    /// Returns those of the ranks that have neither saved for a moment nor ended.
    pub fn lacking(&self, moment: f64, ranks: impl Iterator<Item = RankId>) -> Vec<RankId> {
        let saved = self.saved.get(&moment.to_bits());
        let has = |rank: &RankId| self.over.contains(rank) || saved.is_some_and(|saved| saved.contains(rank));
        ranks.filter(|rank| !has(rank)).collect()
    }

    pub fn unfinished(&self) -> PathBuf {
        self.directory.join(UNFINISHED_DIRECTORY)
    }

    /// Puts the file of a rank that has ended into a directory. If no checkpoint was to be expected, the rank
    /// has written none.
    fn put_end(&self, name: &str, run: &str, to: &Path) -> io::Result<()> {
        let file = file_name(name);
        let written = self.unfinished().join(OVER_DIRECTORY).join(&file);
        if written.exists() {
            fs::copy(&written, to.join(&file))?;
            return fs::File::open(to.join(&file))?.sync_all();
        }
        let moment = ModelTime(f64::INFINITY);
        let info = FileInfo { instance: name.to_owned(), run: run.to_owned(), moment, point: SavePoint::Over };
        let made = CheckpointWriter::create(&to.join(&file), &info).and_then(CheckpointWriter::finish);
        made.map_err(io::Error::other)
    }

    /// Puts the directory of a moment in its place, with the files of instances that have ended.
    fn put(&mut self, moment: f64, run: &str, names: &[String], over: &[String]) -> io::Result<u32> {
        let from = self.unfinished().join(moment_directory(moment));
        for name in over {
            self.put_end(name, run, &from)?;
        }
        let number = self.last + 1;
        let to = self.directory.join(number.to_string());
        fs::rename(&from, &to)?;
        fs::File::open(&self.directory)?.sync_all()?;
        self.last = number;
        let mut resume =
            format!("ymmsl_version: v0.2\ndescription: Resumes from checkpoint {number} of {run}.\n");
        resume.push_str("resume:\n");
        for name in names {
            let file = to.join(file_name(name));
            let file = serde_json::Value::from(file.display().to_string());
            resume.push_str(&format!("  {name}: {file}\n"));
        }
        write_synced(&to, RESUME_FILE, &resume)?;
        let record = CheckpointRecord {
            version: CHECKPOINT_VERSION,
            number,
            run: run.to_owned(),
            model_time: moment.is_finite().then_some(moment),
            instances: names.to_vec(),
            over: over.to_vec(),
        };
        let text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
        write_synced(&to, CHECKPOINT_FILE, &format!("{text}\n"))?;
        self.kept.push(number);
        Ok(number)
    }

    /// Removes the oldest checkpoints, so that `kept` stay.
    fn prune(&mut self, kept: usize) {
        while self.kept.len() > kept.max(1) {
            let old = self.directory.join(self.kept.remove(0).to_string());
            let _ = fs::remove_file(old.join(CHECKPOINT_FILE));
            let _ = fs::remove_dir_all(old);
        }
    }

    /// Removes the files of checkpoints that did not become whole. The run has ended.
    pub fn end(&self) {
        let _ = fs::remove_dir_all(self.unfinished());
    }
}

/// Syncs a file that has come from another domain.
///
/// # Errors
/// The file cannot be written, for example because the disk is full.
pub(super) fn sync_file(path: &Path) -> Result<(), Fault> {
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| {
        fault!(CHECKPOINT_UNWRITABLE, "the checkpoint file {} cannot be written: {error}", path.display())
    })
}

/// Writes a file beside its place, syncs it, and renames it.
fn write_synced(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let part = directory.join(format!(".{name}.part"));
    fs::write(&part, text)?;
    fs::File::open(&part)?.sync_all()?;
    fs::rename(&part, directory.join(name))?;
    fs::File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: RankId = RankId::new(0);
    const SECOND: RankId = RankId::new(1);

    fn with(saved: &[(f64, RankId)], arriving: &[(f64, RankId)]) -> Checkpoints {
        let mut checkpoints = Checkpoints::default();
        for (moment, rank) in saved {
            checkpoints.saved.entry(moment.to_bits()).or_default().insert(*rank);
        }
        for (moment, rank) in arriving {
            checkpoints.arriving.entry(moment.to_bits()).or_default().insert(*rank);
        }
        checkpoints
    }

    #[test]
    fn a_rank_that_has_ended_while_its_files_are_on_their_way_is_awaited() {
        let mut checkpoints = with(&[(2.0, FIRST)], &[(2.0, SECOND)]);
        let ended = |checkpoints: &Checkpoints| checkpoints.ended_without(2.0, [FIRST, SECOND].into_iter());
        checkpoints.over.insert(SECOND);
        assert_eq!(ended(&checkpoints), None);
        checkpoints.arrived(SECOND, 2.0);
        assert_eq!(ended(&checkpoints), Some(Vec::new()));
        assert!(!checkpoints.awaits_any());
        assert_eq!(checkpoints.ended_without(3.0, [FIRST].into_iter()), None, "nobody has saved");
        let mut checkpoints = with(&[(2.0, FIRST)], &[]);
        assert_eq!(ended(&checkpoints), None, "it has not saved");
        checkpoints.over.insert(SECOND);
        assert_eq!(ended(&checkpoints), Some(vec![SECOND]), "it had ended before");
    }

    #[test]
    fn a_moment_is_skipped_if_others_have_saved_and_this_ranks_files_are_not_on_their_way() {
        let checkpoints = with(&[(1.0, FIRST), (2.0, FIRST)], &[(2.0, SECOND), (3.0, FIRST), (5.0, FIRST)]);
        assert_eq!(checkpoints.skipped(SECOND, 4.0), [1.0, 3.0]);
    }
}
