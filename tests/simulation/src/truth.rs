//! Finds out if a script can end, without playing it. If there is room for all messages, the messages that each
//! instance receives do not depend on speed (Kahn, 1974). So every schedule comes to the same end. The
//! instances that then still wait, and the smallest sets of them that wait for no other instance, are found by
//! trying every set.

use crate::script::{Script, Step};

/// The instances that wait for ever, and the channels on which they wait for a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// For each instance that waits for ever: its channels. `None` if it comes to its end.
    pub waits: Vec<Option<Vec<u32>>>,
    /// The smallest sets that wait for no instance outside of the set, as bit masks.
    pub knots: Vec<u32>,
}

impl Truth {
    /// The result for a script without faults.
    pub fn of(script: &Script) -> Truth {
        let mut play = InstanceProgress::new(script);
        while (0..script.programs.len()).any(|me| play.goes_on(me)) {}
        let waits: Vec<_> = (0..script.programs.len()).map(|me| play.waits(me)).collect();
        let senders = |channels: &Vec<u32>| {
            channels.iter().fold(0u32, |set, &c| set | 1 << script.plan.channels[c as usize].from.rank.number())
        };
        let on: Vec<Option<u32>> = waits.iter().map(|wait| wait.as_ref().map(senders)).collect();
        let members = |set: u32| (0..on.len()).filter(move |i| set & 1 << i != 0);
        let closed = |&set: &u32| members(set).all(|i| on[i].is_some_and(|on| on & !set == 0));
        let all: Vec<u32> = (1..1u32 << on.len()).filter(closed).collect();
        let smallest = |set: &u32| !all.iter().any(|other| other != set && other & set == *other);
        let knots = all.iter().copied().filter(smallest).collect();
        Truth { waits, knots }
    }

    /// Returns true if every instance comes to its end.
    pub fn ends(&self) -> bool {
        self.waits.iter().all(Option::is_none)
    }
}

/// The progress of each instance.
struct InstanceProgress<'a> {
    script: &'a Script,
    at: Vec<usize>,
    /// The messages that each instance has received in its current step.
    had: Vec<Vec<u32>>,
    under_way: Vec<usize>,
}

impl InstanceProgress<'_> {
    fn new(script: &Script) -> InstanceProgress<'_> {
        let n = script.programs.len();
        InstanceProgress {
            script,
            at: vec![0; n],
            had: vec![Vec::new(); n],
            under_way: vec![0; script.plan.channels.len()],
        }
    }

    fn step(&self, me: usize) -> Option<&Step> {
        self.script.programs[me].get(self.at[me])
    }

    /// Returns the messages that it must still receive before the end of its step.
    fn lacks(&self, me: usize) -> Vec<u32> {
        match self.step(me) {
            Some(Step::Receive { channel, .. } | Step::ReceiveEnd { channel }) => vec![*channel],
            Some(Step::ReceiveAny { channels, .. }) => {
                channels.iter().copied().filter(|c| !self.had[me].contains(c)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_there(&self, me: usize, channel: u32) -> bool {
        let sender = self.script.plan.channels[channel as usize].from.rank.index();
        match self.step(me) {
            Some(Step::ReceiveEnd { .. }) => self.step(sender).is_none(),
            _ => self.under_way[channel as usize] > 0,
        }
    }

    /// Lets instance `me` go on by one message or one step. Returns true if it could.
    fn goes_on(&mut self, me: usize) -> bool {
        let Some(step) = self.script.programs[me].get(self.at[me]) else {
            return false;
        };
        let lacks = self.lacks(me);
        if let Some(&channel) = lacks.iter().find(|&&channel| self.is_there(me, channel)) {
            if !matches!(step, Step::ReceiveEnd { .. }) {
                self.under_way[channel as usize] -= 1;
            }
            self.had[me].push(channel);
            if lacks.len() > 1 {
                return true;
            }
        } else if !lacks.is_empty() {
            return false;
        }
        if let Step::Send { to, .. } = step {
            to.iter().for_each(|&channel| self.under_way[channel as usize] += 1);
        }
        self.at[me] += 1;
        self.had[me].clear();
        true
    }

    fn waits(&self, me: usize) -> Option<Vec<u32>> {
        self.step(me).map(|_| self.lacks(me))
    }
}
