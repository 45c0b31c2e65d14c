//! The receivers of events: for each id, the ranks that want events with this id.

use crate::index_map::{IndexMap, Indices};

/// Number of ids up to which the receivers of an id are found by one look into a table, which then takes at
/// most 16 MiB.
const MAX_TABLE_IDS: u64 = 1 << 22;

/// The ranks of a receiver that want each id. Ids that follow each other and have the same receivers form a
/// range; the table of ranges is as long as the maps of the ranks, and not as the number of ids.
#[derive(Debug, Default)]
pub struct Receivers {
    /// First id of each range, in rising order. The first range begins at 0; no receiver wants the last one.
    begins: Vec<u64>,
    /// For each range: the begin of its ranks in `ranks`. One entry more marks the end.
    lists: Vec<usize>,
    ranks: Vec<u32>,
    /// The range of each id below the begin of the last range. Empty if there are more than `MAX_TABLE_IDS`.
    table: Vec<u32>,
}

impl Receivers {
    /// Finds the receivers of `ids` ids from the maps of the ranks. A rank without a map wants all ids.
    pub fn new(ids: u64, maps: &[Option<&IndexMap>]) -> Receivers {
        // A rank begins or ends to want ids at each border.
        let mut borders: Vec<(u64, bool, u32)> = Vec::new();
        for (rank, map) in (0..).zip(maps) {
            let mut want = |begin: u64, length: u64| {
                if length > 0 {
                    borders.extend([(begin, true, rank), (begin + length, false, rank)]);
                }
            };
            match map {
                None => want(0, ids),
                Some(map) => map.for_each_sequence(want),
            }
        }
        borders.sort_unstable();
        let mut receivers = Receivers::default();
        let mut wanting = vec![false; maps.len()];
        receivers.begin_range(0, &wanting);
        for group in borders.chunk_by(|one, other| one.0 == other.0) {
            // Ends are sorted before begins: a rank whose sequence ends where its next one begins wants both.
            for &(_, begins, rank) in group {
                wanting[rank as usize] = begins;
            }
            receivers.begin_range(group[0].0, &wanting);
        }
        receivers.lists.push(receivers.ranks.len());
        let last = receivers.begins.last().copied().unwrap_or_default();
        if last <= MAX_TABLE_IDS {
            receivers.table.reserve_exact(last as usize);
            for (range, pair) in (0..).zip(receivers.begins.windows(2)) {
                receivers.table.resize(pair[1] as usize, range);
            }
        }
        receivers
    }

    /// Begins a range of ids.
    fn begin_range(&mut self, begin: u64, wanting: &[bool]) {
        if self.begins.last() == Some(&begin) {
            self.begins.pop();
            self.lists.pop().into_iter().for_each(|list| self.ranks.truncate(list));
        }
        self.begins.push(begin);
        self.lists.push(self.ranks.len());
        self.ranks.extend((0..).zip(wanting).filter(|(_, wants)| **wants).map(|(rank, _)| rank));
    }

    /// Returns the ranks that want events with this id.
    #[inline]
    pub fn of(&self, id: i32) -> &[u32] {
        let range = match self.table.get(id as u32 as usize) {
            Some(range) => *range as usize,
            None => self.begins.partition_point(|begin| *begin <= u64::from(id as u32)).saturating_sub(1),
        };
        match self.lists.get(range..range + 2) {
            Some(&[begin, end]) => &self.ranks[begin..end],
            _ => &[],
        }
    }
}

impl IndexMap {
    /// Calls `see` with the first index and the length of each sequence of a part of a list.
    fn for_each_sequence(&self, mut see: impl FnMut(u64, u64)) {
        match &self.indices {
            Indices::Block { start } => {
                see(start.first().copied().unwrap_or_default(), self.shape().first().copied().unwrap_or(1));
            }
            Indices::Sequences(all) => (0..all.count()).for_each(|at| see(all.begin[at], all.length(at))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_map::Part;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The ids that up to four ranks want; `None` means all.
    fn wanted_ids() -> impl Strategy<Value = Vec<Option<BTreeSet<i64>>>> {
        let ids = prop::collection::btree_set(0i64..40, 0..40);
        prop::collection::vec(prop::option::of(ids), 0..5)
    }

    proptest! {
        #[test]
        fn each_rank_gets_the_ids_of_its_map_and_no_others(
            wanted in wanted_ids(),
            shift in prop::sample::select(vec![0i64, 1 << 23]),
        ) {
            let ids = (40 + shift) as u64;
            let lists: Vec<Option<Vec<i64>>> = wanted
                .iter()
                .map(|list| Some(list.as_ref()?.iter().map(|id| id + shift).collect()))
                .collect();
            let maps: Vec<Option<IndexMap>> = lists
                .iter()
                .map(|list| Some(IndexMap::new(&[ids], Part::List(list.as_ref()?)).unwrap()))
                .collect();
            let receivers = Receivers::new(ids, &maps.iter().map(Option::as_ref).collect::<Vec<_>>());
            for id in (0..40).chain(shift..shift + 45) {
                let wants = |list: &Option<Vec<i64>>| match list {
                    None => (id as u64) < ids,
                    Some(list) => list.contains(&id),
                };
                let ranks: Vec<u32> =
                    (0..).zip(&lists).filter(|(_, list)| wants(list)).map(|(rank, _)| rank).collect();
                prop_assert_eq!(receivers.of(id as i32), &ranks[..], "id {}", id);
            }
            prop_assert_eq!(receivers.of(i32::MAX), &[] as &[u32]);
        }
    }

    #[test]
    fn ranges_and_blocks_take_no_memory_for_each_id() {
        let ids = i32::MAX as u64;
        let half = IndexMap::new(&[ids], Part::Range { begin: 0, end: ids / 2 }).unwrap();
        let other = IndexMap::new(&[ids], Part::Block { start: &[ids / 2], shape: &[ids - ids / 2] }).unwrap();
        let receivers = Receivers::new(ids, &[Some(&half), Some(&other), None]);
        assert_eq!((receivers.begins.len(), receivers.table.len()), (3, 0));
        assert_eq!(receivers.of(0), [0, 2]);
        assert_eq!(receivers.of((ids / 2) as i32), [1, 2]);
        assert_eq!(receivers.of(i32::MAX - 1), [1, 2]);
    }
}
