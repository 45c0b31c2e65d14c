//! The traffic of a run's conduits. The counts of all channels of a conduit are added up.

use crate::names::Names;
use crate::record::ConduitRecord;
use ligament_agent::ChannelView;
use std::collections::HashMap;

/// Returns the name of a port without indices: `micro[3]:1.init[2]` becomes `micro.init`.
pub(crate) fn without_indices(port: &str) -> String {
    let (mut depth, mut in_rank) = (0, false);
    let outside = |c: &char| {
        depth += i32::from(*c == '[');
        in_rank = *c == ':' || (in_rank && c.is_ascii_digit());
        let out = depth == 0 && !in_rank;
        depth -= i32::from(*c == ']');
        out
    };
    port.chars().filter(outside).collect()
}

/// The conduits of a run. A model may have millions of channels, so each channel is assigned to its conduit
/// only once.
#[derive(Debug, Clone, Default)]
pub struct Conduits {
    /// Index of the conduit of each channel.
    of: Vec<u32>,
    /// An empty record for each conduit.
    all: Vec<ConduitRecord>,
}

impl Conduits {
    /// Finds the conduits of a run that has this number of channels.
    pub fn new(channels: usize, names: &impl Names) -> Conduits {
        let mut found = Conduits::default();
        let mut numbers: HashMap<Option<[u32; 4]>, u32> = HashMap::new();
        for channel in 0..channels as u32 {
            let number = *numbers.entry(names.conduit(channel)).or_insert_with(|| {
                let (from, to) = names.conduit_ports(channel).unwrap_or_default();
                found.all.push(ConduitRecord { from, to, ..ConduitRecord::default() });
                found.all.len() as u32 - 1
            });
            found.all[number as usize].channels += 1;
            found.of.push(number);
        }
        found
    }

    /// Returns the records of all conduits, made from the counts of all channels.
    pub fn records(&self, seen: &[ChannelView]) -> Vec<ConduitRecord> {
        self.clone().into_records(seen)
    }

    /// Returns the same as `records`, for use at the end of a run. This function reuses the empty records,
    /// because a large run has many megabytes of records.
    pub fn into_records(self, seen: &[ChannelView]) -> Vec<ConduitRecord> {
        let mut all = self.all;
        for (&of, view) in self.of.iter().zip(seen) {
            let one = &mut all[of as usize];
            let (sent, received) = (view.sent.unwrap_or_default(), view.received.unwrap_or_default());
            one.messages += sent.messages;
            one.bytes += sent.bytes;
            one.received_messages += received.messages;
            one.received_bytes += received.bytes;
            // The status pages of the two ends are read one after the other. So the receiver's count may be
            // newer than the sender's count.
            one.under_way += sent.messages.saturating_sub(received.messages);
            one.model_time = later(one.model_time, sent.time);
            one.received_time = later(one.received_time, received.time);
        }
        all
    }
}

fn later(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_agent::ChannelCount;
    use ligament_wire::RankId;

    struct MicroPairNames;

    impl Names for MicroPairNames {
        fn instance(&self, rank: RankId) -> String {
            rank.to_string()
        }

        fn rank(&self, rank: RankId) -> String {
            rank.to_string()
        }

        fn component(&self, _: RankId) -> u32 {
            0
        }

        fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
            let micro = channel % 2;
            let ends = match channel {
                0 | 1 => (format!("macro.out[{micro}]"), format!("micro[{micro}].in")),
                _ => (format!("micro[{micro}].final"), format!("macro.back[{micro}]")),
            };
            Some(((RankId::new(0), ends.0), (RankId::new(1), ends.1)))
        }

        fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
            Some([channel / 2, 0, 1 - channel / 2, 1])
        }
    }

    #[test]
    fn indices_of_instances_slots_and_ranks_are_no_part_of_a_port() {
        assert_eq!(without_indices("micro[3][1]:12.init[2]"), "micro.init");
        assert_eq!(without_indices("city.house:0.out"), "city.house.out");
    }

    #[test]
    fn channels_of_a_conduit_add_up_and_what_was_not_received_is_under_way() {
        let passed = |messages, time| Some(ChannelCount { messages, bytes: 10 * messages, time: Some(time) });
        let view = |sent, received| ChannelView { sent, received };
        let seen = [
            view(passed(3, 2.0), passed(1, 0.0)),
            view(passed(4, 3.0), passed(5, 4.0)),
            view(None, None),
            view(passed(1, 0.5), None),
        ];
        let conduits = Conduits::new(4, &MicroPairNames);
        let records = conduits.records(&seen);
        assert_eq!(records.len(), 2);
        let there = &records[0];
        assert_eq!((there.from.as_str(), there.to.as_str(), there.channels), ("macro.out", "micro.in", 2));
        assert_eq!(
            (there.messages, there.bytes, there.received_messages, there.received_bytes),
            (7, 70, 6, 60)
        );
        // The receiving end was read later than the sending end. The number of messages under way does not
        // become negative.
        assert_eq!((there.under_way, there.model_time, there.received_time), (2, Some(3.0), Some(4.0)));
        assert_eq!((records[1].messages, records[1].under_way, records[1].received_time), (1, 1, None));
    }
}
