//! The surfaces of fields of grids that viewers watch. A field and its levels have one tap of the whole grid,
//! whatever the number of viewers, and one thread. A frame is a line of JSON, followed by the bytes of the
//! grid's blocks as the crate `surface` encodes them; the page makes the triangles.

use crate::feed::{lock, Feed};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::{RunDirectory, UtcTime};
use ligament_runtime::client::{
    record_of, GridEvent, GridPicture, GridTap, GridTapRequest, DEFAULT_BOX_BYTES, DEFAULT_SHARE,
};
use serde::Serialize;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum number of different surfaces that are watched at a time.
const MAX_SURFACES: usize = 8;
/// Time after a request for which a surface counts as watched. If there are too many surfaces, one that was
/// watched earlier gives way: a browser whose user moves the level leaves many behind.
const ATTENTION: Duration = Duration::from_secs(3);
/// Time for which the thread waits for a picture before it checks again if a viewer requests one.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time spent in waiting for a picture after which viewers are told which blocks have not answered.
const SILENCE_NOTICE: Duration = Duration::from_secs(5);

/// A picture of a surface. The bytes of the blocks follow after the answer.
#[derive(Debug, Serialize)]
pub struct SurfacePicture {
    /// Model time of all blocks.
    pub timestamp: Option<f64>,
    /// Time at which the picture was whole, by the clock of this machine: Unix time, in ms.
    pub at: u64,
    /// Unit of the field.
    pub unit: Option<String>,
    /// Longest processor time that a block took for the picture, in ns.
    pub cost_ns: u64,
    /// Length of each block's bytes: of all blocks at the first level, then at the next level, and so on.
    pub block_bytes: Vec<u64>,
}

/// The answer to a browser that asks for a surface.
#[derive(Debug, Default, Serialize)]
pub struct SurfaceAnswer {
    /// Number of the picture, which the browser sends with its next request.
    pub frame: u64,
    /// The reason why there is no picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// True if no picture will come any more.
    pub over: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<SurfacePicture>,
}

/// The surfaces of a field that can be watched together.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    pub grid: String,
    pub field: String,
    /// Finite, and at least one.
    pub levels: Vec<f64>,
}

/// Reads levels with commas between them.
///
/// # Errors
/// A level is no number, or is not finite.
pub fn levels_of(text: &str) -> Result<Vec<f64>, Fault> {
    let level = |number: &str| match number.trim().parse::<f64>() {
        Ok(level) if level.is_finite() => Ok(level),
        _ => Err(fault!(TAP_REFUSED, "a surface has a finite level, and not \"{number}\"")),
    };
    text.split(',').map(level).collect()
}

/// Surfaces that are watched together, and their latest picture.
pub struct SurfaceFeed {
    surface: Surface,
    pub feed: Feed,
}

/// All surfaces that are watched.
pub struct SurfaceTable {
    run: RunDirectory,
    feeds: Mutex<Vec<Arc<SurfaceFeed>>>,
}

impl SurfaceFeed {
    /// Gives a picture to all viewers.
    fn push(&self, picture: &GridPicture) {
        let blocks: Vec<&[u8]> =
            (0..self.surface.levels.len()).flat_map(|level| picture.surfaces(level)).collect();
        let told = SurfacePicture {
            timestamp: picture.time.is_finite().then_some(picture.time),
            at: UtcTime::now().0,
            unit: Some(picture.unit.clone()).filter(|unit| !unit.is_empty()),
            cost_ns: u64::try_from(picture.cost.as_nanos()).unwrap_or(u64::MAX),
            block_bytes: blocks.iter().map(|block| block.len() as u64).collect(),
        };
        let answer = SurfaceAnswer { picture: Some(told), ..SurfaceAnswer::default() };
        self.feed.push(json!(answer), &blocks.concat());
    }

    /// Says why there is no picture, and whether one may come later.
    fn explain(&self, why: &str, over: bool) {
        let answer = SurfaceAnswer { why: Some(why.to_owned()), over, ..SurfaceAnswer::default() };
        self.feed.push(json!(answer), &[]);
    }

    /// Says which blocks have not answered, if there are any.
    fn explain_silence(&self, tap: &GridTap) {
        if let Some((count, names)) = tap.silent_blocks() {
            let (blocks, have) = (tap.block_count(), if count == 1 { "has" } else { "have" });
            let field = &self.surface.field;
            let why = format!(
                "No picture comes: {count} of {blocks} blocks {have} not answered: {names}. A block answers \
                 when it publishes {field}."
            );
            self.explain(&why, false);
        }
    }

    /// Takes pictures until no viewer requests them any more.
    fn run(&self, run: &RunDirectory) {
        let Surface { grid, field, levels } = &self.surface;
        let request = GridTapRequest {
            component: grid.clone(),
            field: field.clone(),
            levels: levels.clone(),
            room: DEFAULT_BOX_BYTES,
            share: DEFAULT_SHARE,
        };
        let mut tap = match record_of(run).and_then(|record| GridTap::begin(run, &record, &request)) {
            Ok(Some(tap)) => tap,
            Ok(None) => return self.explain("the run is not under way, or not on this machine", true),
            // An instance that has not joined yet may join soon, so the viewers may try again.
            Err(why) => return self.explain(why.text(), why.code() != Code::TAP_TOO_EARLY),
        };
        let mut last: Option<Instant> = None;
        // The time for which nobody has asked for a picture does not count.
        let mut silence = Duration::ZERO;
        while let Some(every) = self.feed.wait() {
            if let Some(early) = last.and_then(|last| every.checked_sub(last.elapsed())) {
                std::thread::sleep(early);
            }
            let event = tap.next(POLL_INTERVAL);
            silence += POLL_INTERVAL;
            match event {
                Ok(GridEvent::Nothing) if silence < SILENCE_NOTICE => continue,
                Ok(GridEvent::Nothing) => self.explain_silence(&tap),
                Ok(GridEvent::Picture(picture)) => {
                    last = Some(Instant::now());
                    self.push(&picture);
                }
                Ok(GridEvent::Over(why)) => return self.explain(&why, true),
                Err(why) => {
                    last = Some(Instant::now());
                    self.explain(why.text(), false);
                }
            }
            silence = Duration::ZERO;
        }
    }
}

impl SurfaceTable {
    pub fn new(run: RunDirectory) -> SurfaceTable {
        SurfaceTable { run, feeds: Mutex::default() }
    }

    /// Returns the feed of surfaces, and begins to watch them if no viewer does yet.
    ///
    /// # Errors
    /// Fails with `CANNOT_SERVE` if too many other surfaces are watched.
    pub fn feed(self: &Arc<SurfaceTable>, surface: Surface) -> Result<Arc<SurfaceFeed>, Fault> {
        let mut feeds = lock(&self.feeds);
        if let Some(known) = feeds.iter().find(|one| one.surface == surface && !one.feed.is_closed()) {
            return Ok(known.clone());
        }
        if feeds.len() >= MAX_SURFACES {
            let idle = |one: &Arc<SurfaceFeed>| one.feed.idle_for();
            let place = (0..feeds.len()).max_by_key(|&i| idle(&feeds[i])).unwrap_or(0);
            if idle(&feeds[place]) < ATTENTION {
                return Err(fault!(
                    CANNOT_SERVE,
                    "the page shows {MAX_SURFACES} surfaces at the most, in all browsers; close one"
                ));
            }
            feeds.swap_remove(place).feed.close();
        }
        let feed = Arc::new(SurfaceFeed { surface, feed: Feed::default() });
        let (table, own) = (self.clone(), feed.clone());
        std::thread::Builder::new()
            .name("ligament-surface".into())
            .spawn(move || {
                own.run(&table.run);
                lock(&table.feeds).retain(|one| !Arc::ptr_eq(one, &own));
            })
            .map_err(|error| fault!(CANNOT_SERVE, "no thread for another surface: {error}"))?;
        feeds.push(feed.clone());
        Ok(feed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(level: f64) -> Surface {
        Surface { grid: "wave".into(), field: "u".into(), levels: vec![level] }
    }

    #[test]
    fn a_surface_of_no_run_says_so_and_ends() {
        let place = std::env::temp_dir().join(format!("ligament-surfaces-{}", std::process::id()));
        let table = Arc::new(SurfaceTable::new(RunDirectory::open(&place)));
        let one = table.feed(surface(0.5)).unwrap();
        let late = Instant::now() + Duration::from_secs(60);
        while one.feed.number() == 0 && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(5));
        }
        let frame = one.feed.frames().borrow().clone();
        assert!(String::from_utf8_lossy(&frame.bytes).contains("\"over\":true"));
        while !lock(&table.feeds).is_empty() && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(lock(&table.feeds).is_empty());
    }

    #[test]
    fn levels_are_finite_numbers_with_commas_between_them() {
        assert_eq!(levels_of("2.5, -1e3,0").unwrap(), [2.5, -1000.0, 0.0]);
        for text in ["nan", "1,inf", "-inf", "", "1,,2", "one", "1 2"] {
            let why = levels_of(text).unwrap_err();
            assert!(why.text().contains("finite level"), "{text}: {why}");
        }
    }
}
