//! A timeline in the Trace Event Format (Duan, "Trace Event Format", Google), which Perfetto and Chrome read: a
//! process for each component, a thread for each instance, a complete event for each interval, and a counter of
//! bytes sent.

use ligament_manager::timeline::{Activity, RunTimeline, TimelineLane, TimelineSpan};
use ligament_manager::RunRecord;
use std::io::{Result, Write};

/// Converts ns to the format's µs.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the category of an activity. Viewers choose colours by categories.
fn category(activity: Activity) -> &'static str {
    match activity {
        Activity::Send => "send",
        Activity::Receive => "receive",
        _ => "wait",
    }
}

struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn add(&mut self, event: &str) -> Result<()> {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.out, "{comma}\n{event}")
    }
}

/// Writes a timeline.
pub fn write(timeline: &RunTimeline, record: &RunRecord, out: &mut dyn Write) -> Result<()> {
    let about = serde_json::json!({
        "run": timeline.header.run,
        "model": timeline.header.model,
        "started": timeline.header.started,
        "host": record.host,
        "ligament": record.ligament,
        "resolution_us": timeline.header.resolution as f64 / 1e3,
    });
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut events = Events { out, first: true };
    let mut components: Vec<&str> = Vec::new();
    for (i, lane) in timeline.lanes.iter().enumerate() {
        // The instances of a component follow each other, so a new name begins a new component.
        if components.last() != Some(&lane.component.as_str()) {
            components.push(&lane.component);
            let pid = components.len();
            events.add(&format!(
                "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":{}}}}}",
                text(&lane.component)
            ))?;
            events.add(&format!(
                "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{pid},\
                 \"args\":{{\"sort_index\":{pid}}}}}"
            ))?;
        }
        write_lane(timeline, lane, components.len(), i + 1, &mut events)?;
    }
    writeln!(events.out, "\n]}}")
}

fn write_lane(
    timeline: &RunTimeline,
    lane: &TimelineLane,
    pid: usize,
    tid: usize,
    events: &mut Events<'_>,
) -> Result<()> {
    events.add(&format!(
        "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{}}}}}",
        text(&lane.name)
    ))?;
    let complete = |name: &str, category: &str, begin: u64, end: u64, args: &str| {
        format!(
            "{{\"name\":{},\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\
             \"ts\":{},\"dur\":{},\"args\":{{{args}}}}}",
            text(name),
            us(begin),
            us(end - begin)
        )
    };
    let (mut bytes, mut iterations) = (0, 0);
    for span in &lane.spans {
        iterations += span.sums.iterations;
        if span.begin > span.from {
            let args = counts(span, iterations);
            events.add(&complete("computes", "compute", span.from, span.begin, &args))?;
        }
        if span.end > span.begin {
            let (name, category, args) = described(timeline, span, iterations);
            events.add(&complete(&name, category, span.begin, span.end, &args))?;
        }
        if span.sums.sent_bytes > 0 {
            bytes += span.sums.sent_bytes;
            events.add(&format!(
                "{{\"name\":{},\"ph\":\"C\",\"pid\":{pid},\"ts\":{},\"args\":{{\"bytes\":{bytes}}}}}",
                text(&format!("bytes sent by {}", lane.name)),
                us(span.end)
            ))?;
        }
    }
    Ok(())
}

/// Returns the counts of a span: those since the end of the previous span.
fn counts(span: &TimelineSpan, iterations: u64) -> String {
    let TimelineSpan { sums, time, .. } = span;
    let time = time.map_or(String::new(), |time| format!(",\"model_time\":{}", serde_json::Value::from(time)));
    format!(
        "\"sent\":{},\"sent_bytes\":{},\"received\":{},\"received_bytes\":{},\"iteration\":{iterations}{time}",
        sums.sent_messages, sums.sent_bytes, sums.received_messages, sums.received_bytes
    )
}

/// Returns the name, the category and the arguments of an interval or a period.
fn described(timeline: &RunTimeline, span: &TimelineSpan, iterations: u64) -> (String, &'static str, String) {
    let cause = span.cause.map(|cause| &timeline.causes[cause as usize]);
    let peer = cause.map(|cause| timeline.peer_name(cause));
    let sentence = cause.zip(peer).map(|(cause, peer)| cause.sentence(peer));
    let mut args = String::new();
    if let (Some(cause), Some(peer)) = (cause, peer) {
        args.push_str(&format!("\"peer\":{}", text(peer)));
        if let (Some(at), Some(port)) = (&cause.at, &cause.peer_port) {
            args.push_str(&format!(",\"port\":{},\"peer_port\":{}", text(at), text(port)));
        }
        args.push(',');
    }
    if !span.is_period {
        let name = sentence.unwrap_or_else(|| "waits".into());
        args.push_str(&counts(span, iterations));
        return (name, cause.map_or("wait", |cause| category(cause.activity)), args);
    }
    let length = (span.end - span.begin) as f64;
    let part = 100.0 * span.sums.busy_otherwise() as f64 / length;
    args.push_str(&format!(
        "\"waits\":{},\"waited_us\":{},\"sending_us\":{},\"receiving_us\":{},\"mostly_us\":{},{}",
        span.sums.waits,
        us(span.sums.waited),
        us(span.sums.sending),
        us(span.sums.receiving),
        us(span.share),
        counts(span, iterations)
    ));
    match sentence {
        Some(sentence) if part >= 0.5 => (format!("{part:.0} % {sentence} and the like"), "mixed", args),
        _ => ("computes".to_owned(), "compute", args),
    }
}
