//! A field of a whole grid, at one model time. The blocks of a grid are instances or ranks, in any domain, and
//! each has a tap of its own. The viewer first asks all blocks for their times, and then for the value at a
//! time that no block has passed (`picture_time`). A picture is complete when all blocks have shown the same
//! time. No block ever waits.

use super::picture_time::PictureTime;
use super::tap::{PortOf, PortValue, TapAnswer, TapSession};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::{list_some, GridRecord, RunDirectory, RunRecord};
use ligament_model::block_range;
use ligament_shm::tap::Wish;
use ligament_surface::Header;
use ligament_wire::tap::{Level, TapSelection, REASON, SURFACES, UNIT};
use ligament_wire::{rank_parts, Array, ArrayOrder, Bytes, Value};
use std::time::{Duration, Instant};

/// The share of the run's time that pictures may take, if the request gives no other.
pub const DEFAULT_SHARE: f64 = 0.05;
/// Shortest and longest pause between two looks into the boxes.
const MIN_PAUSE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause between two pictures.
const MAX_PICTURE_PAUSE: Duration = Duration::from_secs(1 << 20);
/// Maximum number of blocks that an error names.
const MAX_NAMED_BLOCKS: usize = 4;
/// Time without an answer after which a block counts as silent.
const SILENCE: Duration = Duration::from_millis(200);
/// Interval at which the viewer checks if a block is over.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A request to view a field of a grid.
#[derive(Debug, Clone)]
pub struct GridTapRequest {
    /// The component whose instances or ranks are the blocks.
    pub component: String,
    pub field: String,
    /// The levels of the surfaces, in the field's unit; empty for all points.
    pub levels: Vec<f64>,
    /// Maximum size of the value of a block, in bytes.
    pub room: u64,
    /// The share of the run's time that pictures may take, above 0 and up to 1.
    pub share: f64,
}

/// A field of all blocks of a grid at one model time.
#[derive(Debug, Clone)]
pub struct GridPicture {
    /// The model time, in s.
    pub time: f64,
    /// The unit of the field; empty if it has none.
    pub unit: String,
    /// The number of points of the whole grid along each axis.
    pub shape: Vec<u64>,
    /// The blocks, in the order of the grid.
    pub blocks: Vec<BlockPicture>,
    /// The longest processor time that a block took for the picture.
    pub cost: Duration,
}

/// The part of a picture that a block has.
#[derive(Debug, Clone)]
pub struct BlockPicture {
    /// The name of the instance or rank.
    pub name: String,
    /// Along each axis: the index of the block's first point, and the index after its last point.
    pub range: Vec<(u64, u64)>,
    pub content: BlockContent,
}

/// The data of a block in a picture.
#[derive(Debug, Clone)]
pub enum BlockContent {
    /// The bytes of the surface at each level, in the format of the crate `surface`.
    Surfaces(Vec<Bytes>),
    /// The values at the block's points.
    Points(Array),
}

impl GridPicture {
    /// Returns the number of bytes that the blocks have sent.
    pub fn bytes(&self) -> u64 {
        let of = |block: &BlockPicture| match &block.content {
            BlockContent::Surfaces(surfaces) => surfaces.iter().map(|one| one.len() as u64).sum(),
            BlockContent::Points(array) => array.data().len() as u64,
        };
        self.blocks.iter().map(of).sum()
    }

    /// Returns the values at all points of the grid, in row-major order, with their unit.
    ///
    /// # Errors
    /// The picture is of surfaces, the blocks have elements of several types, or the values do not fit into
    /// memory.
    pub fn whole(&self) -> Result<Array, Fault> {
        let arrays: Vec<(&BlockPicture, &Array)> =
            self.blocks.iter().filter_map(BlockPicture::points).collect();
        let first = arrays.first().filter(|_| arrays.len() == self.blocks.len());
        let dtype = first.map(|(_, array)| array.dtype());
        let Some(dtype) = dtype.filter(|dtype| arrays.iter().all(|(_, array)| array.dtype() == *dtype)) else {
            return Err(fault!(NOT_SHOWN, "the blocks do not all show values of one type"));
        };
        let elements = self.shape.iter().try_fold(dtype.size() as u64, |all, points| all.checked_mul(*points));
        let bytes = elements.and_then(|bytes| usize::try_from(bytes).ok());
        let mut whole = Vec::new();
        if bytes.is_none_or(|bytes| whole.try_reserve_exact(bytes).is_err()) {
            return Err(fault!(NOT_SHOWN, "the values at {:?} points do not fit into memory", self.shape));
        }
        whole.resize(bytes.unwrap_or(0), 0);
        for (block, array) in arrays {
            block.copy_into(array, &self.shape, &mut whole);
        }
        let whole = Array::new(dtype, &self.shape, ArrayOrder::RowMajor, whole.into(), None);
        let whole = whole.map_err(Fault::from)?;
        Ok(if self.unit.is_empty() { whole } else { whole.with_unit(&self.unit) })
    }

    /// Returns the bytes of the surfaces of all blocks at a level, by its place in the request.
    pub fn surfaces(&self, level: usize) -> impl Iterator<Item = &[u8]> + '_ {
        self.blocks.iter().filter_map(move |block| match &block.content {
            BlockContent::Surfaces(surfaces) => surfaces.get(level).map(|bytes| &bytes[..]),
            BlockContent::Points(_) => None,
        })
    }
}

impl BlockPicture {
    fn points(&self) -> Option<(&BlockPicture, &Array)> {
        match &self.content {
            BlockContent::Points(array) => Some((self, array)),
            BlockContent::Surfaces(_) => None,
        }
    }

    /// Copies the values of this block to their places among those of the whole grid, in row-major order.
    fn copy_into(&self, array: &Array, shape: &[u64], whole: &mut [u8]) {
        let (element, strides, axes) = (array.dtype().size(), array.strides(), shape.len());
        let mut at = vec![0u64; axes];
        for _ in 0..array.len() {
            let from: i64 = at.iter().zip(&strides).map(|(at, stride)| *at as i64 * stride).sum();
            let place = (0..axes).fold(0, |place, axis| place * shape[axis] + self.range[axis].0 + at[axis]);
            let (from, to) = (from as usize, place as usize * element);
            whole[to..to + element].copy_from_slice(&array.data()[from..from + element]);
            for axis in (0..axes).rev() {
                at[axis] += 1;
                if at[axis] < array.shape()[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}

/// The outcome of waiting for a picture.
#[derive(Debug)]
pub enum GridEvent {
    /// A complete picture.
    Picture(Box<GridPicture>),
    /// No picture is complete yet.
    Nothing,
    /// No further picture will come; the reason.
    Over(String),
}

/// The last request to the blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Inquiry {
    /// No request before this moment: pictures may take only a share of the run's time.
    Pause(Instant),
    /// The blocks were asked for their times.
    Times,
    /// The blocks were asked for their parts of a picture.
    Picture,
}

/// A block, and its tap.
struct Block {
    name: String,
    range: Vec<(u64, u64)>,
    session: TapSession,
    answer: Option<TapAnswer>,
    /// True if the block has not answered since a request that was given up because of it.
    is_late: bool,
}

/// A viewer of a field of a whole grid.
pub struct GridTap {
    blocks: Vec<Block>,
    shape: Vec<u64>,
    levels: usize,
    share: f64,
    inquiry: Inquiry,
    /// The moment of the last request.
    asked: Instant,
    times: PictureTime,
    end_checked: Instant,
    over: Option<String>,
}

impl GridTap {
    /// Returns the grid of a component, if it has one.
    pub fn grid<'r>(record: &'r RunRecord, component: &str) -> Option<&'r GridRecord> {
        record.grids.iter().find(|grid| grid.component == component)
    }

    /// Begins to view a field of a grid. Returns `None` if the run is over, or if its head cannot be reached
    /// from this machine.
    ///
    /// # Errors
    /// The component has no grid, the levels or the share cannot be, the run does not answer, or refuses a tap.
    /// `TAP_TOO_EARLY` if a block has not published a field yet; the error names such blocks.
    pub fn begin(
        run: &RunDirectory,
        record: &RunRecord,
        request: &GridTapRequest,
    ) -> Result<Option<GridTap>, Fault> {
        let GridTapRequest { component, field, levels, room, share } = request;
        let Some(grid) = GridTap::grid(record, component) else {
            return Err(fault!(TAP_REFUSED, "\"{component}\" has no grid, so there are no blocks to look at"));
        };
        if let Some(level) = levels.iter().find(|level| !level.is_finite()) {
            return Err(fault!(BAD_ARGUMENT, "the level of a surface is {level}; give a finite number"));
        }
        if !(*share > 0.0 && *share <= 1.0) {
            return Err(fault!(
                BAD_ARGUMENT,
                "pictures may take a share of the run's time above 0 and up to 1 (100 %), and not {share}"
            ));
        }
        let levels = levels.iter().copied().map(Level).collect::<Vec<Level>>();
        let (count, wanted) = (levels.len(), TapSelection { levels, ..TapSelection::default() });
        // All blocks are asked before the first answer is awaited, since answers may come from far away.
        let mut questions = Vec::with_capacity(grid.names.len());
        for name in &grid.names {
            let (instance, rank) = rank_parts(name);
            let port = PortOf { instance: instance.to_owned(), rank, port: field.clone(), slot: None };
            let question = TapSession::ask_to_begin(run, record, (&port, &wanted, *room))?;
            let Some(question) = question else { return Ok(None) };
            questions.push(question);
        }
        let (mut blocks, mut early) = (Vec::with_capacity(questions.len()), Vec::new());
        for (number, (name, question)) in grid.names.iter().zip(questions).enumerate() {
            let session = match question.answer(record) {
                Ok(session) => session,
                Err(why) if why.code() == Code::TAP_TOO_EARLY => {
                    early.push(name.clone());
                    continue;
                }
                Err(why) => return Err(why),
            };
            let (name, range) = (name.clone(), range_of(grid, number));
            blocks.push(Block { name, range, session, answer: None, is_late: false });
        }
        if !early.is_empty() {
            return Err(fault!(
                TAP_TOO_EARLY,
                "no field has been published yet by {} of the {} blocks of {component}: {}; ask again when \
                 each has called publish",
                early.len(),
                grid.names.len(),
                list_some(&early, MAX_NAMED_BLOCKS)
            ));
        }
        let now = Instant::now();
        Ok(Some(GridTap {
            blocks,
            shape: grid.shape.clone(),
            levels: count,
            share: *share,
            inquiry: Inquiry::Pause(now),
            asked: now,
            times: PictureTime::new(),
            end_checked: now,
            over: None,
        }))
    }

    /// Asks for the next picture, if the share of the run's time allows it, and waits for it, but not longer
    /// than `patience`. If the picture comes later, the next call returns it.
    ///
    /// # Errors
    /// The field cannot be shown in the requested form (`NOT_SHOWN`). Later values may have another form.
    pub fn next(&mut self, patience: Duration) -> Result<GridEvent, Fault> {
        let until = Instant::now().checked_add(patience);
        let mut pause = MIN_PAUSE;
        loop {
            // The end is looked for before the boxes: the last values may have come just before it.
            self.look_for_end();
            if let Some(picture) = self.go_on()? {
                return Ok(GridEvent::Picture(Box::new(picture)));
            }
            if let Some(why) = &self.over {
                return Ok(GridEvent::Over(why.clone()));
            }
            let left = until.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(GridEvent::Nothing);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Waits for this time before the next picture is asked for. Returns earlier if a block is over.
    pub fn rest(&mut self, time: Duration) {
        let until = Instant::now().checked_add(time);
        while self.over.is_none() {
            let left = until.map_or(MAX_PAUSE, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(END_CHECK_INTERVAL));
            self.look_for_end();
        }
    }

    /// Returns the blocks that have not answered for some time: their number, and the names of some of them.
    /// Returns `None` if there are none.
    pub fn silent_blocks(&self) -> Option<(usize, String)> {
        let is_pause = matches!(self.inquiry, Inquiry::Pause(_));
        // Just after a request no block has answered it. Late blocks have not answered the one before, either.
        let is_old = !is_pause && self.asked.elapsed() >= SILENCE;
        let is_silent = |block: &&Block| block.is_late || is_old && block.answer.is_none();
        let names: Vec<String> = self.blocks.iter().filter(is_silent).map(|block| block.name.clone()).collect();
        (!names.is_empty()).then(|| (names.len(), list_some(&names, MAX_NAMED_BLOCKS)))
    }

    /// Returns the number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    fn look_for_end(&mut self) {
        if self.over.is_none() && self.end_checked.elapsed() >= END_CHECK_INTERVAL {
            self.over = self.blocks.iter_mut().find_map(|block| block.session.is_over());
            self.end_checked = Instant::now();
        }
    }

    fn ask(&mut self, inquiry: Inquiry, wish: Wish) {
        for block in &mut self.blocks {
            block.answer = None;
            block.session.request(wish);
        }
        (self.inquiry, self.asked) = (inquiry, Instant::now());
    }

    /// Takes the answers that have come, and makes the next request. Returns a picture when it is complete.
    fn go_on(&mut self) -> Result<Option<GridPicture>, Fault> {
        if let Inquiry::Pause(until) = self.inquiry {
            if Instant::now() >= until {
                self.ask(Inquiry::Times, Wish::Time);
            }
            return Ok(None);
        }
        for block in self.blocks.iter_mut().filter(|block| block.answer.is_none()) {
            match block.session.take() {
                Ok(TapAnswer::Nothing) => {}
                Ok(answer) => (block.answer, block.is_late) = (Some(answer), false),
                Err(why) => {
                    // The other blocks are asked anew, too: what they have belongs to this picture.
                    self.inquiry = Inquiry::Pause(Instant::now());
                    return Err(why);
                }
            }
        }
        if self.blocks.iter().any(|block| block.answer.is_none()) {
            if self.asked.elapsed() > self.times.patience() {
                self.blocks.iter_mut().for_each(|block| block.is_late |= block.answer.is_none());
                self.ask(Inquiry::Times, Wish::Time);
            }
            return Ok(None);
        }
        match self.inquiry {
            Inquiry::Picture => self.picture(),
            Inquiry::Times | Inquiry::Pause(_) => {
                self.choose_time();
                Ok(None)
            }
        }
    }

    /// Asks for a picture at a time that no block has passed.
    fn choose_time(&mut self) {
        let times: Vec<f64> = self.blocks.iter().filter_map(|block| block.answer.as_ref()?.time()).collect();
        match self.times.next(&times, self.asked.elapsed(), Instant::now()) {
            Some(time) => self.ask(Inquiry::Picture, Wish::From(time)),
            None => self.ask(Inquiry::Times, Wish::Time),
        }
    }

    /// Returns the picture that the answers make, if all of them have the same time.
    fn picture(&mut self) -> Result<Option<GridPicture>, Fault> {
        let answers = self.blocks.iter_mut().filter_map(|block| match block.answer.take() {
            Some(TapAnswer::Value(value)) => Some(value),
            _ => None,
        });
        let values: Vec<PortValue> = answers.collect();
        let cost = values.iter().map(|value| value.cost).max().unwrap_or_default();
        let time = common_time(&values, self.blocks.len());
        self.times.is_answered(time.is_some(), self.asked.elapsed());
        let pause = Duration::try_from_secs_f64(cost.as_secs_f64() / self.share).unwrap_or(Duration::MAX);
        let now = Instant::now();
        self.inquiry = Inquiry::Pause(self.asked.checked_add(pause).unwrap_or(now + MAX_PICTURE_PAUSE));
        let Some(time) = time else { return Ok(None) };
        let mut unit = String::new();
        let mut blocks = Vec::with_capacity(values.len());
        for (block, value) in self.blocks.iter().zip(values) {
            let (own_unit, content) = block.content(value.value, self.levels)?;
            let (name, range) = (block.name.clone(), block.range.clone());
            blocks.push(BlockPicture { name, range, content });
            unit = own_unit;
        }
        Ok(Some(GridPicture { time, unit, shape: self.shape.clone(), blocks, cost }))
    }
}

/// Returns the model time of the values if each block has one, and all have the same time.
fn common_time(values: &[PortValue], blocks: usize) -> Option<f64> {
    let time = values.first()?.timestamp;
    let is_whole = values.len() == blocks && values.iter().all(|value| value.timestamp == time);
    is_whole.then_some(time)
}

impl TapAnswer {
    fn time(&self) -> Option<f64> {
        match self {
            TapAnswer::Time(time) => Some(*time),
            TapAnswer::Value(value) => Some(value.timestamp),
            TapAnswer::Nothing => None,
        }
    }
}

impl Block {
    /// Returns the unit of a value, and the data of the block in it. The value comes from another process, so
    /// it is checked.
    fn content(&self, value: Value, levels: usize) -> Result<(String, BlockContent), Fault> {
        let wrong = |what: &str| fault!(MALFORMED_DATA, "what {} shows makes no sense: {what}", self.name);
        match value {
            Value::Array(array) if levels == 0 => {
                let shape: Vec<u64> = self.range.iter().map(|(begin, end)| end - begin).collect();
                if array.shape() != shape {
                    return Err(wrong(&format!("it has {:?} points in place of {shape:?}", array.shape())));
                }
                Ok((array.unit().unwrap_or_default().to_owned(), BlockContent::Points(array)))
            }
            Value::Map(entries) if levels > 0 => {
                let (mut unit, mut surfaces) = (String::new(), Vec::new());
                for (key, value) in entries {
                    match (key.as_str(), value) {
                        (REASON, Value::String(why)) => {
                            return Err(fault!(NOT_SHOWN, "{} has no surfaces: {why}", self.name))
                        }
                        (UNIT, Value::String(text)) => unit = text,
                        (SURFACES, Value::List(all)) => surfaces = all,
                        _ => return Err(wrong("it has other keys than surfaces")),
                    }
                }
                let bytes = surfaces.into_iter().map(|surface| match surface {
                    Value::Bytes(bytes) => self.check_surface(&bytes).map(|()| bytes),
                    _ => Err(wrong("a surface is no bytes")),
                });
                let surfaces = bytes.collect::<Result<Vec<Bytes>, Fault>>()?;
                if surfaces.len() != levels {
                    return Err(wrong(&format!("it has {} surfaces of {levels}", surfaces.len())));
                }
                Ok((unit, BlockContent::Surfaces(surfaces)))
            }
            _ => Err(wrong("it is no field")),
        }
    }

    /// Checks that a surface is of this block.
    fn check_surface(&self, bytes: &[u8]) -> Result<(), Fault> {
        let wrong = |what: &str| fault!(MALFORMED_DATA, "what {} shows makes no sense: {what}", self.name);
        let header = Header::read(bytes).map_err(|error| wrong(&error.to_string()))?;
        let is_own = self.range.iter().enumerate().all(|(axis, (begin, end))| {
            let points = u64::from(header.points[axis]);
            u64::from(header.origin[axis]) == *begin && (points == end - begin || points == end - begin + 1)
        });
        if self.range.len() == header.points.len() && is_own {
            Ok(())
        } else {
            Err(wrong("its surface is of other points"))
        }
    }
}

/// Returns the points of a block along each axis.
fn range_of(grid: &GridRecord, block: usize) -> Vec<(u64, u64)> {
    let mut rest = block;
    let axes = grid.shape.iter().zip(&grid.blocks).rev().map(|(points, count)| {
        let place = rest % (*count).max(1);
        rest /= (*count).max(1);
        block_range(*points, *count, place)
    });
    let mut range: Vec<(u64, u64)> = axes.collect();
    range.reverse();
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_blocks_are_put_in_their_places() {
        let block = |range: [(u64, u64); 2], numbers: &[i16], order| {
            let shape = [(range[0].1 - range[0].0) as usize, (range[1].1 - range[1].0) as usize];
            let array = Array::from_slice(numbers, &shape, order).unwrap();
            BlockPicture { name: "b".into(), range: range.to_vec(), content: BlockContent::Points(array) }
        };
        let blocks = vec![
            block([(0, 2), (0, 2)], &[1, 2, 4, 5], ArrayOrder::RowMajor),
            block([(0, 2), (2, 3)], &[3, 6], ArrayOrder::RowMajor),
            block([(2, 4), (0, 2)], &[7, 10, 8, 11], ArrayOrder::ColumnMajor),
            block([(2, 4), (2, 3)], &[9, 12], ArrayOrder::ColumnMajor),
        ];
        let (unit, shape, cost) = ("K".into(), vec![4, 3], Duration::ZERO);
        let picture = GridPicture { time: 0.0, unit, shape, blocks, cost };
        let whole = picture.whole().unwrap();
        let numbers: Vec<u8> = (1..=12i16).flat_map(i16::to_ne_bytes).collect();
        assert_eq!((&whole.data()[..], whole.shape(), whole.unit()), (&numbers[..], &[4, 3][..], Some("K")));
    }

    #[test]
    fn a_picture_has_all_blocks_at_one_time() {
        let value = |timestamp| PortValue {
            timestamp,
            next_timestamp: None,
            slot: None,
            number: 1,
            cost: Duration::ZERO,
            value: Value::None,
        };
        assert_eq!(common_time(&[1.5, 1.5].map(value), 2), Some(1.5));
        assert_eq!(common_time(&[1.5, 2.0].map(value), 2), None);
        assert_eq!(common_time(&[1.5].map(value), 2), None);
        assert_eq!(common_time(&[], 2), None);
    }

    #[test]
    fn the_last_axis_of_the_blocks_runs_fastest() {
        let grid = GridRecord { shape: vec![5, 6], blocks: vec![2, 3], ..GridRecord::default() };
        assert_eq!(range_of(&grid, 0), [(0, 2), (0, 2)]);
        assert_eq!(range_of(&grid, 2), [(0, 2), (4, 6)]);
        assert_eq!(range_of(&grid, 3), [(2, 5), (0, 2)]);
    }
}
