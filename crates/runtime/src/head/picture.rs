//! Updates for clients that watch a run: first the whole state, then the changes since the client's last
//! update. Each part of the picture (the run, each instance, each conduit) has the number of the picture in
//! which it last changed, so each client gets the parts that it lacks. No part changes with time alone: a
//! wait has the time at which it began. So a run in which nothing happens has no updates.

use super::Runtime;
use crate::numbered::{changed_after, NumberedPart};
use ligament_agent::RunView;
use ligament_manager::{InstanceMoments, InstanceRecord, Observation, RunNews, UtcTime};
use ligament_wire::RankId;
use serde_json::{json, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which all clients get the same picture. For a large run this time is longer, because the head
/// spends at most one part in `TIME_SHARE` of its time on pictures.
const SAME: Duration = Duration::from_millis(50);
const TIME_SHARE: u32 = 20;
/// Maximum difference of two points in time that count as the same, in ms. Points in time are computed again
/// for each picture, and rounding must not change the picture.
const SAME_MOMENT_MS: f64 = 20.0;

/// The last picture.
#[derive(Debug, Default)]
pub(super) struct NumberedPicture {
    picture: u64,
    made: Option<Instant>,
    /// Time of the picture by this machine's clock. A client may get the picture later than it was made, so the
    /// picture contains its time.
    at: Option<UtcTime>,
    /// Time that it took to make the picture.
    took: Duration,
    run: NumberedPart,
    instances: Vec<NumberedPart>,
    conduits: Vec<NumberedPart>,
    /// Ports on which the ranks of other domains send.
    senders: HashMap<RankId, ReportedPorts>,
}

/// The ports on which a rank of another domain sends: those that its code declares, and then the fields of a
/// grid that it has published.
#[derive(Debug)]
struct ReportedPorts {
    all: Arc<[String]>,
    declared: usize,
}

fn are_now(parts: &mut Vec<NumberedPart>, values: impl Iterator<Item = Value>, picture: u64) {
    for (i, value) in values.enumerate() {
        if parts.len() <= i {
            parts.push(NumberedPart::default());
        }
        parts[i].is_now(Cow::Owned(value), picture);
    }
}

impl NumberedPicture {
    /// Records that a rank of another domain sends on these ports. The first report of a rank has the ports
    /// that its code declares.
    pub fn sends(&mut self, rank: RankId, ports: Arc<[String]>) {
        let declared = self.senders.get(&rank).map_or(ports.len(), |known| known.declared);
        self.senders.insert(rank, ReportedPorts { all: ports, declared });
    }

    /// Returns the ports on which a rank of another domain sends.
    fn reported(&self, rank: RankId) -> KnownPorts<'_> {
        match self.senders.get(&rank) {
            Some(ReportedPorts { all, declared }) => {
                KnownPorts { sends: Some(all), publishes: all.get(*declared..).unwrap_or_default() }
            }
            None => KnownPorts::default(),
        }
    }

    /// Returns the parts that have changed after the picture `since`, or all parts if `since` is 0.
    fn since(&self, since: u64) -> Value {
        // A number above that of the last picture is a number of another run's pictures.
        let since = if since > self.picture { 0 } else { since };
        let mut told = json!({ "ok": true, "picture": self.picture, "at": self.at.map(|at| at.0) });
        if self.run.is_newer_than(since) {
            told["run"] = self.run.value.clone();
        }
        for (name, parts) in [("instances", &self.instances), ("conduits", &self.conduits)] {
            if let Some(new) = changed_after(parts.iter().enumerate(), since) {
                told[name] = new;
            }
        }
        told
    }
}

/// Returns a point in time in ms. If the point in `before` is near to it, returns the point in `before`.
fn moment(now: UtcTime, seconds_ago: f64, before: &Value) -> i64 {
    let ms = (now.0 as f64 - seconds_ago * 1e3).round();
    match before.as_i64() {
        Some(told) if (told as f64 - ms).abs() <= SAME_MOMENT_MS => told,
        _ => ms as i64,
    }
}

/// The ports of a rank, as far as they are known.
#[derive(Debug, Default, PartialEq)]
struct KnownPorts<'a> {
    sends: Option<&'a [String]>,
    publishes: &'a [String],
}

/// Returns the picture's part for an instance. Nothing in it changes with time alone.
fn part_of(
    record: &InstanceRecord,
    is_gone: bool,
    ports: KnownPorts<'_>,
    before: &Value,
    now: UtcTime,
) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    let Some(fields) = value.as_object_mut() else { return value };
    let moment_of = |name: &str, seconds| moment(now, seconds, &before[name]);
    let mut moments = InstanceMoments {
        sends: ports.sends.map(<[String]>::to_vec),
        publishes: ports.publishes.to_vec(),
        waits_from: record.waits_since.map(|seconds| moment_of("waits_from", seconds)),
        ranks_from: record.ranks_since.map(|seconds| moment_of("ranks_from", seconds)),
        ..InstanceMoments::default()
    };
    fields.remove("waits_since");
    fields.remove("ranks_since");
    if !is_gone {
        for name in InstanceMoments::GROWING {
            fields.remove(name);
        }
        moments.began = (record.total > 0.0).then(|| moment_of("began", record.total));
        // The client computes the length of the present wait from its beginning.
        let waited = (record.waiting - record.waits_since.unwrap_or(0.0)).max(0.0);
        moments.waited = Some((waited * 1e3).round() / 1e3);
    }
    if let Ok(Value::Object(moments)) = serde_json::to_value(moments) {
        fields.extend(moments);
    }
    value
}

impl Runtime<'_> {
    /// Returns the parts that have changed after the picture `since`, and the number of the present picture.
    pub(super) fn news_since(&mut self, view: &RunView<'_>, since: u64) -> (String, u64) {
        if self.news.made.is_none_or(|made| made.elapsed() >= SAME.max(self.news.took * TIME_SHARE)) {
            let began = Instant::now();
            self.make_picture(view, UtcTime::now());
            self.news.took = began.elapsed();
        }
        (self.news.since(since).to_string(), self.news.picture)
    }

    fn make_picture(&mut self, view: &RunView<'_>, now: UtcTime) {
        let seen = self.look_well(view);
        let records = self.records(&seen);
        let conduits = self.conduits(view.channels());
        let mut run = RunNews {
            record: self.record.clone(),
            memory: Some(self.memory(view.core.memory())),
            agreeing: Some(self.agreeing()),
        };
        self.manager.fill(&mut run.record, &[]);
        let run = serde_json::to_value(&run).unwrap_or_default();
        let news = &mut self.news;
        news.made = Some(Instant::now());
        news.at = Some(now);
        let picture = news.picture + 1;
        news.run.is_now(Cow::Owned(run), picture);
        let is_gone = |seen: &Observation| seen.gone;
        let parts: Vec<Value> = (records.iter().zip(&seen).enumerate())
            .map(|(i, (record, seen))| {
                let before = news.instances.get(i).map_or(&Value::Null, |part| &part.value);
                let rank = RankId::at(i);
                let ports = match view.core.sending_ports(rank) {
                    None => news.reported(rank),
                    sends => KnownPorts { sends, publishes: view.core.published_fields(rank) },
                };
                part_of(record, is_gone(seen), ports, before, now)
            })
            .collect();
        are_now(&mut news.instances, parts.into_iter(), picture);
        let conduits = conduits.iter().map(|one| serde_json::to_value(one).unwrap_or_default());
        are_now(&mut news.conduits, conduits, picture);
        news.picture = picture;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(total: f64, waiting: f64, since: f64) -> InstanceRecord {
        InstanceRecord {
            name: "micro".into(),
            total,
            waiting,
            waits_since: Some(since),
            ..InstanceRecord::default()
        }
    }

    #[test]
    fn who_only_waits_on_is_the_same_as_before() {
        let first =
            part_of(&waiting(10.0, 7.0, 4.0), false, KnownPorts::default(), &Value::Null, UtcTime(1_000_000));
        assert_eq!(
            (&first["began"], &first["waits_from"], &first["waited"]),
            (&json!(990_000), &json!(996_000), &json!(3.0))
        );
        let later =
            part_of(&waiting(11.002, 8.001, 5.001), false, KnownPorts::default(), &first, UtcTime(1_001_000));
        assert_eq!(first, later);
        let another =
            part_of(&waiting(12.0, 8.5, 0.5), false, KnownPorts::default(), &first, UtcTime(1_002_000));
        assert_eq!((&another["began"], &another["waits_from"]), (&json!(990_000), &json!(1_001_500)));
    }

    #[test]
    fn a_field_of_another_domain_is_a_port_that_was_reported_later() {
        let mut news = NumberedPicture::default();
        let rank = RankId::at(1);
        assert_eq!(news.reported(rank), KnownPorts::default());
        let ports = ["log".to_owned(), "u".to_owned(), "w".to_owned()];
        for end in 1..=3 {
            news.sends(rank, ports[..end].into());
            let known = KnownPorts { sends: Some(&ports[..end]), publishes: &ports[1..end] };
            assert_eq!(news.reported(rank), known);
        }
    }

    #[test]
    fn each_client_is_told_what_it_lacks() {
        let mut news = NumberedPicture { picture: 1, ..NumberedPicture::default() };
        are_now(&mut news.instances, [json!(1), json!(1)].into_iter(), 1);
        are_now(&mut news.instances, [json!(1), json!(2)].into_iter(), 2);
        (news.picture, news.at) = (2, Some(UtcTime(7_000)));
        // A picture has the time at which it was made, and not the time at which a client gets it.
        assert_eq!(news.since(0)["at"], 7_000);
        let told = |since| news.since(since)["instances"].clone();
        assert_eq!(told(0), json!({ "0": 1, "1": 2 }));
        assert_eq!(told(1), json!({ "1": 2 }));
        assert_eq!(told(2), Value::Null);
        // The number is one of another run's pictures.
        assert_eq!(told(77), json!({ "0": 1, "1": 2 }));
    }
}
