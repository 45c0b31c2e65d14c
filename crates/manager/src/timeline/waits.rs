//! Who waited for whom, and for how long.

use super::reader::RunTimeline;
use super::Activity;
use ligament_wire::RankId;
use std::collections::HashMap;

/// How long somebody waited for somebody, short waits included.
#[derive(Debug, Clone, PartialEq)]
pub struct LongWait {
    /// Who waited: an instance or, where there are many, a component.
    pub who: String,
    /// How many instances that is.
    pub instances: usize,
    pub activity: Activity,
    /// For whom: an instance or a component; none: anybody.
    pub on: Option<String>,
    /// The port at the other end; without slots, if this is of components.
    pub port: Option<String>,
    /// For how long, of all instances together, s.
    pub seconds: f64,
    /// How often.
    pub count: u64,
    /// What part of the time of these instances that is, 0 to 1.
    pub part: f64,
}

/// `micro[3].init[2]` of component `micro` → `micro.init`
fn port_of_component(port: &str, instance: &str, component: &str) -> String {
    let own = port.strip_prefix(instance).unwrap_or(port);
    let own = own.split_once('[').map_or(own, |(own, _)| own);
    format!("{component}{own}")
}

/// Who waited, how, for whom, and the port there.
type WaitKey<'a> = (&'a str, Activity, Option<&'a str>, Option<String>);

/// All waits, the longest first. `each`: of every instance for itself; else of components.
pub fn long_waits(timeline: &RunTimeline, each: bool) -> Vec<LongWait> {
    let name = |rank: RankId| {
        let lane = &timeline.lanes[rank.index()];
        if each {
            &lane.name
        } else {
            &lane.component
        }
    };
    // Of each component or instance: how many instances, and how long they were there.
    let mut there: HashMap<&str, (usize, f64)> = HashMap::new();
    for (i, lane) in timeline.lanes.iter().enumerate() {
        let sum = there.entry(name(RankId::at(i))).or_default();
        *sum = (sum.0 + 1, sum.1 + lane.total() as f64 / 1e9);
    }
    let mut found: HashMap<WaitKey<'_>, (u64, u64)> = HashMap::new();
    for (cause, &(ns, count)) in timeline.causes.iter().zip(&timeline.totals) {
        if !cause.activity.is_wait() || ns == 0 {
            continue;
        }
        let port = cause.peer_port.as_ref().map(|port| match cause.peer {
            Some(peer) if !each => {
                let lane = &timeline.lanes[peer.index()];
                port_of_component(port, &lane.name, &lane.component)
            }
            _ => port.clone(),
        });
        let key = (name(cause.rank).as_str(), cause.activity, cause.peer.map(|peer| name(peer).as_str()), port);
        let sum = found.entry(key).or_default();
        *sum = (sum.0.saturating_add(ns), sum.1.saturating_add(count));
    }
    let mut waits: Vec<LongWait> = (found.into_iter())
        .map(|((who, activity, on, port), (ns, count))| {
            let (instances, total) = there[who];
            let seconds = ns as f64 / 1e9;
            LongWait {
                who: who.to_owned(),
                instances,
                activity,
                on: on.map(str::to_owned),
                port,
                seconds,
                count,
                part: if total > 0.0 { (seconds / total).min(1.0) } else { 0.0 },
            }
        })
        .collect();
    waits.sort_by(|a, b| {
        b.seconds.total_cmp(&a.seconds).then_with(|| (&a.who, &a.port).cmp(&(&b.who, &b.port)))
    });
    waits
}
