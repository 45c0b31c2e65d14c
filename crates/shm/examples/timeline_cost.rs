//! Measures the cost of a wait in the timeline, in a loop without other work. Prints, in ns: the cost of a
//! wait with a record, of a wait that is only added to the sums, and of the two readings of the clock that
//! each wait needs besides.

use ligament_shm::area::{Front, Layout};
use ligament_shm::memory::{create, Mapping};
use ligament_shm::status::now;
use ligament_shm::timeline::{Activity, Cause, Recorder, MIN_RECORDED_NS};
use std::hint::black_box;
use std::time::Instant;

const WAITS: u64 = 2_000_000;

fn main() {
    let layout = Layout { channels: 4, inboxes: 0, rows: 0, ends: 0 };
    let area = create("area", layout.size()).expect("there is memory");
    let map = Mapping::writable(&area, 0, layout.front()).expect("it can be mapped");
    let front = Front::new(map, layout).expect("it is an area");
    let mut recorder = Recorder::new(front.status());
    for (name, length) in [("recorded", 2 * MIN_RECORDED_NS), ("added_up", MIN_RECORDED_NS / 2)] {
        for round in 0..6u64 {
            let began = Instant::now();
            for i in 0..WAITS {
                // Two ports in turn, as in a code that exchanges messages with two other codes.
                let cause = Cause { activity: Activity::AwaitsMessage, id: (i & 1) as u32 };
                recorder.note(&front, black_box(cause), i * 100_000, i * 100_000 + length);
            }
            tell(name, round, began);
        }
    }
    for round in 0..6u64 {
        let began = Instant::now();
        for _ in 0..WAITS {
            black_box((now(), now()));
        }
        tell("two_clocks", round, began);
    }
}

/// Prints the time per wait of a round. Round 0 only warms up the caches.
fn tell(name: &str, round: u64, began: Instant) {
    let ns = began.elapsed().as_nanos() as f64 / WAITS as f64;
    if round > 0 {
        println!("{name} {ns:.2}");
    }
}
