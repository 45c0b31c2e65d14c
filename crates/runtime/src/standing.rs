//! How instances stand, in words: a line each.

use ligament_manager::{in_bytes, in_count, in_seconds, InstanceRecord};
use std::collections::BTreeMap;

/// A line for each instance; of many, how many are in each state, and those that have waited longest.
pub fn of_instances(mut instances: Vec<InstanceRecord>) -> String {
    const MOST: usize = 40;
    let mut text = String::new();
    if instances.len() > MOST {
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in &instances {
            *states.entry(&instance.state).or_default() += 1;
        }
        let counts: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        text.push_str(&format!("  {} instances: {}\n", instances.len(), counts.join(", ")));
        instances.retain(|one| one.waits_since.is_some() || one.state == "failed" || one.stopped);
        instances
            .sort_by(|a, b| b.waits_since.unwrap_or(f64::MAX).total_cmp(&a.waits_since.unwrap_or(f64::MAX)));
        instances.truncate(MOST);
    }
    let width = instances.iter().map(|instance| instance.name.chars().count()).max().unwrap_or(0);
    let on = |one: &InstanceRecord| one.on.as_ref().map_or(0, |on| on.chars().count());
    let on_width =
        instances.iter().map(|one| on(one) + one.domain.unwrap_or(0).to_string().len() + 3).max().unwrap_or(0);
    for instance in &instances {
        text.push_str(&format!("  {:<width$}  ", instance.name));
        if let Some(domain) = instance.domain {
            let on = instance.on.as_deref().unwrap_or("?");
            text.push_str(&format!("{:<on_width$}  ", format!("{domain} ({on})")));
        }
        text.push_str(&instance.state);
        if let (Some(port), Some(since)) = (&instance.waits_for, instance.waits_since) {
            text.push_str(&format!(", {port}, for {}", in_seconds(since)));
            if instance.waits_with_timeout {
                text.push_str(" (with a time-out)");
            }
        }
        if instance.stopped {
            text.push_str(", its process is stopped");
        }
        if let Some(time) = instance.model_time {
            text.push_str(&format!(", model time {time}"));
        }
        if instance.total > 0.0 {
            let (sent, bytes) = (instance.sent_messages, in_bytes(instance.sent_bytes as f64));
            let (sent, received) = (in_count(sent as f64), in_count(instance.received_messages as f64));
            text.push_str(&format!(", sent {sent} ({bytes}), received {received}"));
        }
        text.push('\n');
    }
    text
}
