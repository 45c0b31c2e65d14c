//! The command `ligament`: its arguments and its output. The crate `ligament_runtime` makes and drives the
//! runs.

mod agent;
mod agents;
mod arguments;
mod attach;
mod check;
mod checkpoint;
mod client;
mod colour;
mod config;
mod convert;
mod copying;
mod detach;
mod earlier_model;
mod explain;
mod graph;
mod interrupt;
mod job;
mod job_requests;
mod launched_agents;
mod lead_on;
mod limits;
mod logs;
mod lost_machines;
mod new;
mod other_end;
mod page_start;
mod pages;
mod peek;
mod picture;
mod places;
mod play;
mod precice;
mod predict;
mod program_output;
mod reference;
mod relay;
mod remote;
mod replay;
mod restarts;
mod run;
mod runs;
mod scales;
mod shipped;
mod site;
mod sites;
mod spread_options;
mod steer;
mod study;
mod submit;
mod summary;
mod tap;
mod tasks;
mod timeline;
mod view;

use ligament_catalogue::Fault;
use ligament_runtime::{complain, say, say_lines};

/// Exit status: all is done.
const DONE: i32 = 0;
/// Exit status: the run failed.
const FAILED: i32 = 1;
/// Exit status: bad use, or a bad model.
const BAD_USE: i32 = 2;
/// Exit status: interrupted.
const INTERRUPTED: i32 = 130;

/// Reports the failure of a command in words or as JSON. Returns the exit status.
fn fail(json: bool, error: &Fault, status: i32) -> i32 {
    if json {
        let json = serde_json::json!({ "ok": false, "error": error.text(), "code": error.code().name() });
        arguments::print(&format!("{json}\n"));
    } else {
        complain(error);
    }
    status
}

fn main() {
    ligament_launch::outlive_file_size();
    std::process::exit(arguments::carry_out(std::env::args_os()));
}
