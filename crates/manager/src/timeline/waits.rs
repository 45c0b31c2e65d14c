//! Adds up the waits of a run: the time for which each instance waited for each other instance.

use super::reader::RunTimeline;
use super::Activity;
use ligament_wire::RankId;
use std::collections::HashMap;

/// The total of all waits of an instance for another instance, including short waits.
#[derive(Debug, Clone, PartialEq)]
pub struct LongWait {
    /// Name of the waiting instance. If waits are added up by component, the name of the component.
    pub who: String,
    /// Number of waiting instances.
    pub instances: usize,
    pub activity: Activity,
    /// Name of the instance, or of the component, for which `who` waited. `None` if any instance could end
    /// the wait.
    pub on: Option<String>,
    /// Port at the other end of the conduit. If waits are added up by component, the port has no indices.
    pub port: Option<String>,
    /// Total time of all waiting instances, in s.
    pub seconds: f64,
    /// Number of waits.
    pub count: u64,
    /// Fraction of the lifetime of these instances, from 0 to 1.
    pub part: f64,
}

/// Returns a port's name without indices: `micro[3].init[2]` of component `micro` becomes `micro.init`.
fn port_of_component(port: &str, instance: &str, component: &str) -> String {
    let own = port.strip_prefix(instance).unwrap_or(port);
    let own = own.split_once('[').map_or(own, |(own, _)| own);
    format!("{component}{own}")
}

/// Name of the waiting side, activity, name of the awaited side, and port of the awaited side.
type WaitKey<'a> = (&'a str, Activity, Option<&'a str>, Option<String>);

/// Returns the totals of all waits, the longest first. If `each` is true, waits are added up for each
/// instance; if not, for each component.
pub fn long_waits(timeline: &RunTimeline, each: bool) -> Vec<LongWait> {
    let name = |rank: RankId| {
        let lane = &timeline.lanes[rank.index()];
        if each {
            &lane.name
        } else {
            &lane.component
        }
    };
    // Number of instances, and the sum of their lifetimes in s, by the name of the component or instance.
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
