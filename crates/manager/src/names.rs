//! What the parts of a run are called, wherever the manager speaks of them.

use ligament_model::{Endpoint, Resolved};

/// What instances and the ends of channels are called.
pub trait Names {
    /// An instance, by its number.
    fn instance(&self, instance: u32) -> String;
    /// The number of the component that it is a copy of.
    fn component(&self, instance: u32) -> u32;
    /// The sending and the receiving end of a channel: number of the instance, and the port as people write it.
    fn ends(&self, channel: u32) -> Option<((u32, String), (u32, String))>;
}

impl<N: Names + ?Sized> Names for &N {
    fn instance(&self, instance: u32) -> String {
        (**self).instance(instance)
    }

    fn component(&self, instance: u32) -> u32 {
        (**self).component(instance)
    }

    fn ends(&self, channel: u32) -> Option<((u32, String), (u32, String))> {
        (**self).ends(channel)
    }
}

impl Names for Resolved {
    fn instance(&self, instance: u32) -> String {
        self.instances.get(instance as usize).map_or_else(|| "?".to_owned(), |one| one.name.to_string())
    }

    fn component(&self, instance: u32) -> u32 {
        self.instances.get(instance as usize).map_or(0, |one| one.component)
    }

    fn ends(&self, channel: u32) -> Option<((u32, String), (u32, String))> {
        let channel = self.channels.get(channel as usize)?;
        let end = |end: Endpoint| (end.instance, self.end_name(end));
        Some((end(channel.from), end(channel.to)))
    }
}
