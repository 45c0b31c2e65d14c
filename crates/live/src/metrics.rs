//! The state of the run in Prometheus' text format (version 0.0.4). The names follow its rules: base units,
//! and `_total` for counters.

use serde_json::Value;
use std::fmt::Write;

/// States of an instance. Each one is a series that is 1 or 0.
const STATES: [&str; 10] = [
    "not started",
    "starting",
    "computing",
    "waiting to receive",
    "waiting to send",
    "held",
    "transferring",
    "done",
    "failed",
    "stopped",
];

/// Escapes a label's value as the format requires.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn family(out: &mut String, name: &str, kind: &str, help: &str, lines: impl Iterator<Item = (String, f64)>) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in lines {
        let _ = writeln!(out, "{name}{{{labels}}} {value}");
    }
}

fn all<'a>(picture: &'a Value, name: &str) -> Vec<&'a Value> {
    picture[name].as_object().into_iter().flat_map(|all| all.values()).collect()
}

/// Makes the whole text from a whole picture.
pub fn text(picture: &Value) -> String {
    let mut out = String::new();
    let run = &picture["run"];
    let of_run = format!("run=\"{}\",model=\"{}\"", text_of(&run["run"]), text_of(&run["model"]));
    // If the run's process is gone, the record still says that the run goes on.
    let state =
        if picture["view"]["state"] == "lost" { "lost" } else { run["state"].as_str().unwrap_or_default() };
    let is = |other: &str| f64::from(u8::from(state == other));
    let states = ["running", "done", "failed", "stopped", "interrupted", "lost"];
    family(
        &mut out,
        "ligament_run_state",
        "gauge",
        "1 for the state that the run is in.",
        states.iter().map(|state| (format!("{of_run},state=\"{state}\""), is(state))),
    );
    family(
        &mut out,
        "ligament_run_seen_timestamp_seconds",
        "gauge",
        "Unix time at which the run stood like this, by the clock of its machine.",
        picture["at"].as_f64().map(|at| (of_run.clone(), at / 1e3)).into_iter(),
    );
    for (name, key, help) in [
        ("ligament_run_memory_used_bytes", "used", "Memory for messages that is given out."),
        ("ligament_run_memory_limit_bytes", "limit", "The most that may be given out."),
    ] {
        let value = run["memory"][key].as_f64();
        family(&mut out, name, "gauge", help, value.map(|value| (of_run.clone(), value)).into_iter());
    }
    let instances = all(picture, "instances");
    let of = |one: &Value| format!("{of_run},instance=\"{}\"", text_of(&one["name"]));
    family(
        &mut out,
        "ligament_instance_state",
        "gauge",
        "1 for the state that the instance is in.",
        instances.iter().flat_map(|one| {
            STATES.map(|state| {
                (format!("{},state=\"{state}\"", of(one)), f64::from(u8::from(one["state"] == state)))
            })
        }),
    );
    type Family = (&'static str, &'static str, &'static str, &'static str);
    let families: [Family; 6] = [
        (
            "ligament_instance_model_time",
            "gauge",
            "model_time",
            "The model time that the instance has reached.",
        ),
        ("ligament_instance_iterations_total", "counter", "iterations", "Passes of its reuse loop."),
        ("ligament_instance_sent_messages_total", "counter", "sent_messages", "Messages that it sent."),
        ("ligament_instance_sent_bytes_total", "counter", "sent_bytes", "Bytes of these."),
        (
            "ligament_instance_received_messages_total",
            "counter",
            "received_messages",
            "Messages that it received.",
        ),
        ("ligament_instance_received_bytes_total", "counter", "received_bytes", "Bytes of these."),
    ];
    for (name, kind, key, help) in families {
        let lines = instances.iter().filter_map(|one| Some((of(one), one[key].as_f64()?)));
        family(&mut out, name, kind, help, lines);
    }
    family(
        &mut out,
        "ligament_instance_waits_since_seconds",
        "gauge",
        "Unix time at which the wait began in which the instance is; absent while it is in none.",
        instances.iter().filter_map(|one| Some((of(one), one["waits_from"].as_f64()? / 1e3))),
    );
    let conduits = all(picture, "conduits");
    let of =
        |one: &Value| format!("{of_run},from=\"{}\",to=\"{}\"", text_of(&one["from"]), text_of(&one["to"]));
    let families: [Family; 6] = [
        ("ligament_conduit_sent_messages_total", "counter", "messages", "Messages sent on the conduit."),
        ("ligament_conduit_sent_bytes_total", "counter", "bytes", "Bytes of these."),
        (
            "ligament_conduit_received_messages_total",
            "counter",
            "received_messages",
            "Messages received from it.",
        ),
        ("ligament_conduit_received_bytes_total", "counter", "received_bytes", "Bytes of these."),
        ("ligament_conduit_under_way_messages", "gauge", "under_way", "Messages sent and not received yet."),
        ("ligament_conduit_model_time", "gauge", "model_time", "The latest timestamp that was sent."),
    ];
    for (name, kind, key, help) in families {
        let lines = conduits.iter().filter_map(|one| Some((of(one), one[key].as_f64()?)));
        family(&mut out, name, kind, help, lines);
    }
    out
}

fn text_of(value: &Value) -> String {
    label(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_cannot_break_out_of_their_labels() {
        let picture = json!({
            "at": 1_700_000_000_500_u64,
            "run": { "run": "a\"b\\c\nd", "model": "m", "state": "running",
                "memory": { "used": 5, "limit": 10 } },
            "instances": { "0": { "name": "micro[0]", "state": "computing", "sent_messages": 3,
                "model_time": null } },
            "conduits": { "0": { "from": "macro.out", "to": "micro.in", "messages": 3, "under_way": 1 } },
        });
        let text = text(&picture);
        let run = r#"run="a\"b\\c\nd",model="m""#;
        for line in [
            format!("ligament_run_state{{{run},state=\"running\"}} 1"),
            format!("ligament_run_seen_timestamp_seconds{{{run}}} 1700000000.5"),
            format!("ligament_run_memory_used_bytes{{{run}}} 5"),
            format!("ligament_instance_state{{{run},instance=\"micro[0]\",state=\"computing\"}} 1"),
            format!("ligament_instance_state{{{run},instance=\"micro[0]\",state=\"done\"}} 0"),
            format!("ligament_instance_sent_messages_total{{{run},instance=\"micro[0]\"}} 3"),
            format!("ligament_conduit_under_way_messages{{{run},from=\"macro.out\",to=\"micro.in\"}} 1"),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\nin\n{text}");
        }
        let mut lost = picture.clone();
        lost["view"] = json!({ "state": "lost" });
        let lost = super::text(&lost);
        for (state, is) in [("running", 0), ("lost", 1)] {
            assert!(lost.contains(&format!("ligament_run_state{{{run},state=\"{state}\"}} {is}\n")), "{lost}");
        }
        assert!(!text.contains("ligament_instance_model_time{"));
        assert_eq!(text.lines().count(), text.lines().filter(|line| line.starts_with(['#', 'l'])).count());
    }
}
