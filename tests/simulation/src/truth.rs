//! A proof that a script can end, found without playing it: with room for everything, what each instance
//! receives does not depend on who is how fast (Kahn, 1974), so there is one end that every schedule must come
//! to. What is stuck there, and which sets of it wait for nobody outside, is tried on every set of instances,
//! by the definition.

use crate::script::{Script, Step};

/// The instances that wait for ever, and the channels on which they wait for a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// By instance; none: it comes to its end.
    pub waits: Vec<Option<Vec<u32>>>,
    /// The smallest sets that wait for nobody outside, as bit masks.
    pub knots: Vec<u32>,
}

impl Truth {
    /// Of a script in which nothing goes wrong.
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

/// How far each instance has come.
struct InstanceProgress<'a> {
    script: &'a Script,
    at: Vec<usize>,
    /// Of the step at which it is, what it has received already.
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

    /// The messages that it still has to receive before it can leave its step.
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

    /// Lets it go on by one message or one step. Whether it could.
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
