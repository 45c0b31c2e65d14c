//! The states of instances and conduits in words, with a line for each.

use ligament_manager::{
    format_bytes, format_cores, format_count, format_seconds, ConduitRecord, InstanceRecord,
};
use ligament_wire::times::in_unit;
use std::collections::BTreeMap;

/// Returns a line for each instance. If there are many instances, returns the number of instances in each
/// state, and lines for the instances that have waited longest.
pub fn of_instances(mut instances: Vec<InstanceRecord>, time_unit: Option<&str>) -> String {
    const MAX_ROWS: usize = 40;
    let mut text = String::new();
    if instances.len() > MAX_ROWS {
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in &instances {
            *states.entry(&instance.state).or_default() += 1;
        }
        let counts: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        text.push_str(&format!("  {} instances: {}\n", instances.len(), counts.join(", ")));
        instances.retain(|one| {
            one.waits_since.is_some() || one.state == "failed" || one.stopped || one.ranks.is_some()
        });
        instances
            .sort_by(|a, b| b.waits_since.unwrap_or(f64::MAX).total_cmp(&a.waits_since.unwrap_or(f64::MAX)));
        instances.truncate(MAX_ROWS);
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
            text.push_str(&format!(", {port}, for {}", format_seconds(since)));
            if instance.waits_with_timeout {
                text.push_str(" (with a time-out)");
            }
        }
        if instance.stopped {
            text.push_str(", its process is stopped");
        }
        if let (Some(ranks), Some(since)) = (&instance.ranks, instance.ranks_since) {
            text.push_str(&format!(", {ranks}, for {}", format_seconds(since)));
        }
        if let Some(cores) = &instance.cores {
            text.push_str(&format!(", on {}", format_cores(cores)));
        }
        if let Some(time) = instance.model_time {
            text.push_str(&format!(", model time {}", in_unit(time, time_unit)));
        }
        if instance.total > 0.0 {
            let (sent, bytes) = (instance.sent_messages, format_bytes(instance.sent_bytes as f64));
            let (sent, received) = (format_count(sent as f64), format_count(instance.received_messages as f64));
            text.push_str(&format!(", sent {sent} ({bytes}), received {received}"));
        }
        text.push('\n');
    }
    text
}

/// Returns the lines of `ligament status` about paths between domains, from the answer of the head.
pub fn of_links(links: &serde_json::Value) -> String {
    let mut text = String::new();
    for link in links.as_array().into_iter().flatten() {
        let number = |name: &str| link[name].as_f64().unwrap_or(0.0);
        let limit = match link["limit"].as_str() {
            Some("way") => "; the way between is the limit",
            Some("memory") => "; the memory that the kernel gives a stream is the limit",
            Some("receiver") => "; how fast the other end takes it is the limit",
            _ => "",
        };
        text.push_str(&format!(
            "  link to {}: {} streams, round trip {:.3} ms (at least {:.3}), {}/s, {:.2} % sent again{limit}\n",
            link["name"].as_str().map_or_else(|| format!("domain {}", link["domain"]), str::to_owned),
            link["streams"],
            1e3 * number("round_trip"),
            1e3 * number("least_round_trip"),
            format_bytes(number("rate")),
            100.0 * number("loss"),
        ));
    }
    text
}

/// Returns a line for each conduit on which a message was sent. If there are many such conduits, only those
/// with most messages under way, and after them those with most bytes, have lines.
pub fn of_conduits(mut conduits: Vec<ConduitRecord>, time_unit: Option<&str>) -> String {
    const MAX_ROWS: usize = 20;
    conduits.retain(|one| one.messages > 0);
    let hidden = conduits.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        conduits.sort_by_key(|one| std::cmp::Reverse((one.under_way, one.bytes)));
        conduits.truncate(MAX_ROWS);
    }
    let ends = |one: &ConduitRecord| format!("{} → {}", one.from, one.to);
    let width = conduits.iter().map(|one| ends(one).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for one in &conduits {
        let (messages, bytes) = (format_count(one.messages as f64), format_bytes(one.bytes as f64));
        text.push_str(&format!("  {:<width$}  {messages} sent ({bytes})", ends(one)));
        if let Some(time) = one.model_time {
            text.push_str(&format!(", the last of {}", in_unit(time, time_unit)));
        }
        match one.under_way {
            0 => {}
            under_way => text.push_str(&format!(", {} under way", format_count(under_way as f64))),
        }
        text.push('\n');
    }
    if hidden > 0 {
        text.push_str(&format!("  … and {hidden} more conduits; --json has all\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conduit_is_a_line_and_of_many_those_with_most_under_way_come_first() {
        let one = |n: u64| ConduitRecord {
            from: format!("a{n}.out"),
            to: "b.in".into(),
            messages: 1 + n % 2,
            bytes: 2048,
            model_time: Some(0.5),
            under_way: u64::from(n == 21),
            ..ConduitRecord::default()
        };
        assert_eq!(
            of_conduits(vec![one(1)], Some("d")),
            "  a1.out → b.in  2 sent (2.0 KiB), the last of 0.5 d\n"
        );
        assert_eq!(of_conduits(vec![ConduitRecord::default()], None), "");
        let many = of_conduits((0..22).map(one).collect(), None);
        assert!(
            many.starts_with("  a21.out → b.in  2 sent (2.0 KiB), the last of 0.5, 1 under way\n"),
            "{many}"
        );
        assert!(many.ends_with("  … and 2 more conduits; --json has all\n"), "{many}");
    }

    #[test]
    fn a_link_has_a_line_with_what_limits_it() {
        let mut links = serde_json::json!([{
            "domain": 1, "name": "cells", "streams": 80, "round_trip": 0.1012, "least_round_trip": 0.1,
            "rate": 2048.0,
            "loss": 0.001, "limit": "way"
        }]);
        let line = "  link to cells: 80 streams, round trip 101.200 ms (at least 100.000), 2.0 KiB/s, 0.10 % \
                    sent again";
        assert_eq!(of_links(&links), format!("{line}; the way between is the limit\n"));
        links[0]["limit"] = "nothing".into();
        assert_eq!(of_links(&links), format!("{line}\n"));
        assert_eq!(of_links(&serde_json::Value::Null), "");
    }
}
