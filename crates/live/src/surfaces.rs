//! The surfaces of fields of grids that viewers watch. A field and a level have one tap of the whole grid,
//! whatever the number of viewers, and one thread. A frame is a line of JSON, followed by the bytes of the
//! grid's blocks as the crate `surface` encodes them; the page makes the triangles.

use crate::feed::{lock, Feed};
use ligament_catalogue::{fault, Fault};
use ligament_manager::RunDirectory;
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
/// Time after which a tap that did not succeed is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// A picture of a surface. The bytes of the blocks follow after the answer.
#[derive(Debug, Serialize)]
pub struct SurfacePicture {
    /// Model time of all blocks.
    pub timestamp: Option<f64>,
    /// Time at which the picture was whole, by the clock of this machine: Unix time, in ms.
    pub at: u64,
    /// Unit of the field.
    pub unit: Option<String>,
    /// Processor time that the blocks took for the picture together, in ns.
    pub cost_ns: u64,
    /// Length of each block's bytes.
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

/// A surface that can be watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    pub grid: String,
    pub field: String,
    /// Finite.
    pub level: f64,
}

/// A surface that is watched, and its latest picture.
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
    fn push(&self, answer: &SurfaceAnswer, blocks: &[Vec<u8>]) {
        self.feed.push(json!(answer), &blocks.concat());
    }

    fn explain(&self, why: &str, over: bool) {
        self.push(&SurfaceAnswer { why: Some(why.to_owned()), over, ..SurfaceAnswer::default() }, &[]);
    }
}

impl SurfaceTable {
    pub fn new(run: RunDirectory) -> SurfaceTable {
        SurfaceTable { run, feeds: Mutex::default() }
    }

    /// Returns the feed of a surface, and begins to watch the surface if no viewer does yet.
    ///
    /// # Errors
    /// Fails if the level is not finite, or if too many other surfaces are watched.
    pub fn feed(self: &Arc<SurfaceTable>, surface: Surface) -> Result<Arc<SurfaceFeed>, Fault> {
        if !surface.level.is_finite() {
            return Err(fault!(TAP_REFUSED, "a surface has a finite level, and not {}", surface.level));
        }
        let mut feeds = lock(&self.feeds);
        if let Some(known) = feeds.iter().find(|one| one.surface == surface && !one.feed.is_closed()) {
            return Ok(known.clone());
        }
        if feeds.len() >= MAX_SURFACES {
            let idle = |one: &Arc<SurfaceFeed>| one.feed.idle_for();
            let place = (0..feeds.len()).max_by_key(|&i| idle(&feeds[i])).unwrap_or(0);
            if idle(&feeds[place]) < ATTENTION {
                return Err(fault!(
                    TAP_REFUSED,
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

impl SurfaceFeed {
    fn run(&self, _run: &RunDirectory) {
        while let Some(_every) = self.feed.wait() {
            self.explain("not yet", false);
        }
    }
}
