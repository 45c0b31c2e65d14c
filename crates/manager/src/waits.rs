//! The graph of waits, and the waits that can never end. Any one of several ranks may be able to end a
//! wait, so the graph is reduced as Holt (1972) does: a rank that does not wait may still act, and may free
//! each rank that waits for it. The ranks that cannot be freed in this way are stuck forever. The innermost
//! groups of stuck ranks, which wait for no rank outside of their group, are called knots (Chandy, Misra &
//! Haas, 1983). The members of a knot keep each other stuck. All other stuck ranks only wait for members of
//! knots, directly or indirectly.

use crate::observation::{Observation, ObservedWait};
use ligament_agent::AwaitedEvent;
use ligament_wire::RankId;

/// An edge of the graph of waits: one of the ways in which a wait may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitEdge {
    /// Channel on which a message, or room for a message, is awaited. `None` for a wait for memory.
    pub channel: Option<u32>,
    /// The rank that can end the wait.
    pub on: RankId,
}

/// The resource for which a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedResource {
    Message,
    /// Room on the only channel of the wait. A budget of `needs` bytes would also end the wait.
    Room {
        needs: u64,
    },
    Memory,
}

/// A wait of a rank. Each edge is a way in which the wait may end.
#[derive(Debug, Clone, PartialEq)]
pub struct RankWait {
    pub rank: RankId,
    pub resource: AwaitedResource,
    pub edges: Vec<WaitEdge>,
    /// Duration of the wait so far, in s.
    pub seconds: f64,
}

impl RankWait {
    /// For a wait for room, returns the channel and the budget in bytes that would end the wait.
    pub fn full(&self) -> Option<(u32, u64)> {
        match (self.resource, self.edges.first()) {
            (AwaitedResource::Room { needs }, Some(way)) => Some((way.channel?, needs)),
            _ => None,
        }
    }
}

/// Ranks that wait for each other and for no other rank. In the list, each rank is followed by a rank that
/// it waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Knot {
    pub waits: Vec<RankWait>,
}

/// Returns the wait of `rank` if it may block the rank forever. A wait with a time-out cannot do so. A wait
/// for ring entries alone cannot do so either, because a waiting receiver takes entries too. `ends` returns
/// a channel's sending and receiving rank. Any rank in `alive` may free memory.
fn lasting_wait(
    rank: RankId,
    waiting: &ObservedWait,
    ends: impl Fn(u32) -> Option<(RankId, RankId)>,
    alive: &[RankId],
) -> Option<RankWait> {
    if waiting.timed {
        return None;
    }
    let (lack, ways) = match &waiting.what {
        AwaitedEvent::Message { channels } if !channels.is_empty() => {
            let way = |&channel: &u32| match ends(channel) {
                Some((from, to)) if to == rank => Some(WaitEdge { channel: Some(channel), on: from }),
                _ => None,
            };
            (AwaitedResource::Message, channels.iter().map(way).collect::<Option<Vec<WaitEdge>>>()?)
        }
        AwaitedEvent::Credit { channel, needs } => match ends(*channel) {
            Some((from, to)) if from == rank => {
                (AwaitedResource::Room { needs: *needs }, vec![WaitEdge { channel: Some(*channel), on: to }])
            }
            _ => return None,
        },
        AwaitedEvent::Memory => {
            (AwaitedResource::Memory, alive.iter().map(|&on| WaitEdge { channel: None, on }).collect())
        }
        _ => return None,
    };
    Some(RankWait { rank, resource: lack, edges: ways, seconds: waiting.seconds })
}

/// Returns the lasting waits of all ranks that `counts` selects. If `views_count` is true, waits for memory
/// are left out while another thread of a waiting instance may free memory.
pub fn lasting_waits(
    seen: &[Observation],
    ends: impl Fn(u32) -> Option<(RankId, RankId)>,
    counts: impl Fn(usize) -> bool,
    views_count: bool,
) -> Vec<RankWait> {
    let short_of_memory = |one: &Observation| matches!(&one.waits, Some(w) if w.what == AwaitedEvent::Memory);
    let mut alive = Vec::new();
    if seen.iter().any(short_of_memory) {
        alive.extend(RankId::first(seen.len()).filter(|one| !seen[one.index()].gone));
    }
    let may_come = views_count && seen.iter().any(|one| one.waits.as_ref().is_some_and(|w| w.may_release));
    let waiting = seen.iter().enumerate().filter(|&(i, one)| counts(i) && !(may_come && short_of_memory(one)));
    waiting.filter_map(|(i, one)| lasting_wait(RankId::at(i), one.waits.as_ref()?, &ends, &alive)).collect()
}

/// Returns the waits that can never end, on the condition that all other ranks may still act. A rank has at
/// most one wait.
pub fn stuck_waits(waits: Vec<RankWait>) -> Vec<RankWait> {
    let Some(last) = waits.iter().flat_map(|w| w.edges.iter().map(|way| way.on).chain([w.rank])).max() else {
        return Vec::new();
    };
    let n = last.index() + 1;
    let mut waits_at = vec![usize::MAX; n];
    // Indices of the waits that each rank could end.
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (w, wait) in waits.iter().enumerate() {
        waits_at[wait.rank.index()] = w;
        for way in &wait.edges {
            waiters[way.on.index()].push(w);
        }
    }
    let mut freed = vec![false; waits.len()];
    let mut active: Vec<usize> = (0..n).filter(|&i| waits_at[i] == usize::MAX).collect();
    while let Some(one) = active.pop() {
        for &w in &waiters[one] {
            if !std::mem::replace(&mut freed[w], true) {
                active.push(waits[w].rank.index());
            }
        }
    }
    let mut freed = freed.into_iter();
    waits.into_iter().filter(|_| !freed.next().unwrap_or(true)).collect()
}

/// Returns the knots among waits that are all stuck. A knot is a strongly connected set that no edge
/// leaves.
pub fn knots(stuck: &[RankWait]) -> Vec<Knot> {
    let Some(last) = stuck.iter().map(|wait| wait.rank).max() else {
        return Vec::new();
    };
    let mut place = vec![usize::MAX; last.index() + 1];
    for (w, wait) in stuck.iter().enumerate() {
        place[wait.rank.index()] = w;
    }
    let next = |w: usize, way: usize| stuck[w].edges.get(way).map(|way| place[way.on.index()]);
    let all = components(stuck.len(), next);
    let mut part = vec![0; stuck.len()];
    for (number, members) in all.iter().enumerate() {
        members.iter().for_each(|&w| part[w] = number);
    }
    let is_closed = |(number, members): &(usize, Vec<usize>)| {
        members.iter().all(|&w| stuck[w].edges.iter().all(|way| part[place[way.on.index()]] == *number))
    };
    let mut found: Vec<Knot> = (all.into_iter().enumerate().filter(is_closed))
        .map(|(_, members)| in_order(&members, next).into_iter().map(|w| stuck[w].clone()).collect())
        .map(|waits| Knot { waits })
        .collect();
    found.sort_by_key(|knot| knot.waits[0].rank);
    found
}

/// The strongly connected components of a graph (Tarjan, 1972), without recursion, because a cycle may be long.
fn components(n: usize, next: impl Fn(usize, usize) -> Option<usize>) -> Vec<Vec<usize>> {
    const UNVISITED: usize = usize::MAX;
    let (mut index, mut low, mut on_stack) = (vec![UNVISITED; n], vec![0; n], vec![false; n]);
    let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        if index[root] != UNVISITED {
            continue;
        }
        // Node that is being visited, and the index of the next edge of this node.
        let mut path = vec![(root, 0)];
        while let Some(top) = path.last_mut() {
            let (at, way) = *top;
            if way == 0 {
                index[at] = count;
                low[at] = count;
                count += 1;
                stack.push(at);
                on_stack[at] = true;
            }
            top.1 += 1;
            match next(at, way) {
                Some(to) if index[to] == UNVISITED => path.push((to, 0)),
                Some(to) if on_stack[to] => low[at] = low[at].min(index[to]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some(&(before, _)) = path.last() {
                        low[before] = low[before].min(low[at]);
                    }
                    if low[at] == index[at] {
                        let from = stack.iter().rposition(|&w| w == at).unwrap_or(0);
                        let members = stack.split_off(from);
                        members.iter().for_each(|&w| on_stack[w] = false);
                        found.push(members);
                    }
                }
            }
        }
    }
    found
}

/// Returns the members in an order that begins with the first member. Each member is followed by a member
/// that it waits for, until no such member is left; then the order continues with the first remaining
/// member.
fn in_order(members: &[usize], next: impl Fn(usize, usize) -> Option<usize>) -> Vec<usize> {
    let mut left: std::collections::BTreeSet<usize> = members.iter().copied().collect();
    let mut order = Vec::with_capacity(members.len());
    while let Some(first) = left.pop_first() {
        let mut at = first;
        loop {
            order.push(at);
            let onward = (0..).map_while(|way| next(at, way)).find(|to| left.contains(to));
            match onward {
                Some(to) => {
                    left.remove(&to);
                    at = to;
                }
                None => break,
            }
        }
    }
    order
}
