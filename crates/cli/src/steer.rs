//! `ligament steer`: changes settings of a run, or halts the run, while it goes on. All affected instances make
//! a change at the same model time.

use crate::arguments::print;
use ligament_catalogue::{fault, Fault};
use ligament_manager::{find_run, HaltRecord};
use ligament_runtime::client::{self, last_continuation, record_of, who};
use ligament_wire::control::{ChangeRequest, SteerRequest};
use ligament_wire::times::in_unit;
use serde_json::Value;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time after which a terminal shows that the answer is late.
const QUICK_ANSWER: Duration = Duration::from_secs(1);

/// Change settings of a run that is under way, let it stand still, or go on.
///
/// A change is made by all instances that it concerns in their first step at or after one model time, or by
/// none of them. Without --at that is as soon as all can. Without anything to do, says what can be steered, and
/// what was.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("order").multiple(false))]
pub(crate) struct Steer {
    /// The run: its directory, its name under ./runs, or `latest`.
    pub run: String,
    /// New values of settings; several are changed together.
    #[arg(value_name = "NAME=VALUE", group = "order")]
    pub settings: Vec<String>,
    /// From this model time on: a number, or a number and a unit, such as "12 h", if the model says its
    /// `time_unit` [default: as soon as all can].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub at: Option<String>,
    /// Let all stand still.
    #[arg(long, group = "order")]
    pub pause: bool,
    /// Let those that are behind make one step, and stand still again.
    #[arg(long, group = "order", conflicts_with = "at")]
    pub step: bool,
    /// Go on until this model time, and stand still there.
    #[arg(long, value_name = "T", allow_negative_numbers = true, group = "order", conflicts_with = "at")]
    pub until: Option<String>,
    /// Go on.
    #[arg(long, group = "order", conflicts_with = "at")]
    pub resume: bool,
    /// Let all stand still, and end the run.
    #[arg(long, group = "order")]
    pub stop: bool,
    /// Take back a change that has not been agreed on yet: that of this number [default: the one that is being
    /// agreed on].
    #[arg(long, value_name = "CHANGE", num_args = 0..=1, default_missing_value = "0", group = "order")]
    pub withdraw: Option<u64>,
    /// For how long all may take to agree.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "10s")]
    pub patience: Duration,
    /// Only say whether it could be asked for, and whom it concerns.
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

impl Steer {
    fn wanted(&self) -> ChangeRequest {
        match self {
            Steer { pause: true, .. } => ChangeRequest::Pause,
            Steer { step: true, .. } => ChangeRequest::Step,
            Steer { until: Some(_), .. } => ChangeRequest::Until,
            Steer { resume: true, .. } => ChangeRequest::Resume,
            Steer { stop: true, .. } => ChangeRequest::Stop,
            Steer { withdraw: Some(change), .. } => ChangeRequest::Withdraw((*change > 0).then_some(*change)),
            Steer { settings, .. } if !settings.is_empty() => ChangeRequest::Set(settings.clone()),
            _ => ChangeRequest::Nothing,
        }
    }
}

/// Carries out `ligament steer`. Returns the exit status.
pub(crate) fn steer(arguments: &Steer) -> i32 {
    match steered(arguments) {
        Ok((answer, time_unit)) => {
            if arguments.json {
                print(&format!("{answer}\n"))
            } else {
                print(&in_words(arguments, &answer, time_unit.as_deref()))
            }
            crate::DONE
        }
        Err(error) => crate::fail(arguments.json, &error, crate::FAILED),
    }
}

/// Sends the order to the run. Returns the run's answer and the unit of model times.
fn steered(arguments: &Steer) -> Result<(Value, Option<String>), Fault> {
    let run = last_continuation(find_run(&arguments.run)?);
    let record = record_of(&run)?;
    let wanted = arguments.wanted();
    if wanted == ChangeRequest::Nothing && (arguments.at.is_some() || arguments.dry_run) {
        return Err(fault!(BAD_STEERING, "nothing is to be done; write NAME=VALUE, or --pause, --until …"));
    }
    let unit = record.time_unit.as_deref();
    let at = arguments.at.as_ref().or(arguments.until.as_ref());
    let at = at.map(|text| ligament_analysis::model_time(text, unit)).transpose()?;
    let order =
        SteerRequest { who: who(), wanted, at, patience: Some(arguments.patience), dry: arguments.dry_run };
    let _notice = Notice::in_a_while(arguments);
    Ok((client::steer(&run, &record, order)?, record.time_unit))
}

/// A notice at a terminal if the answer is late. It tells the user that the order stays in force without this
/// command.
struct Notice {
    /// Sender whose drop ends the thread of the notice, when the answer has arrived.
    _answered: Sender<()>,
}

impl Notice {
    fn in_a_while(arguments: &Steer) -> Option<Notice> {
        if arguments.json || !std::io::stderr().is_terminal() {
            return None;
        }
        let words = format!(
            "waiting for all whom it concerns, up to {} s; it stays asked for if you leave: ligament steer {} \
             --withdraw",
            arguments.patience.as_secs_f64(),
            arguments.run
        );
        let (answered, answer) = channel();
        std::thread::spawn(move || {
            if answer.recv_timeout(QUICK_ANSWER) == Err(RecvTimeoutError::Timeout) {
                ligament_runtime::say(&words);
            }
        });
        Some(Notice { _answered: answered })
    }
}

/// Returns the settings of an answer, one on each line.
fn settings_of(answer: &Value) -> String {
    let mut text = String::new();
    for one in answer["settings"].as_array().into_iter().flatten() {
        let word = |key: &str| one[key].as_str().unwrap_or("not set").to_owned();
        let _ = writeln!(text, "  {}: {} -> {}", word("name"), word("from"), word("to"));
    }
    text
}

fn in_words(arguments: &Steer, answer: &Value, time_unit: Option<&str>) -> String {
    let shown = |time| in_unit(time, time_unit);
    if answer["dry"] == true {
        let names: Vec<String> = answer["instances"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|n| n.as_str().map(str::to_owned))
            .collect();
        let whom = if names.is_empty() {
            String::new()
        } else {
            format!(" of {}", ligament_manager::list_some(&names, 8))
        };
        return format!("{}this can be asked{whom}\n", settings_of(answer));
    }
    if answer.get("changes").is_some() {
        return listed(answer);
    }
    let (at, change) = (answer["at"].as_f64(), answer["change"].as_u64().unwrap_or_default());
    let more = unsteered(answer);
    let told = match arguments.wanted() {
        ChangeRequest::Set(_) => {
            let at = shown(at.unwrap_or_default());
            format!("change {change}, from the first step at {at} on:\n{}", settings_of(answer))
        }
        ChangeRequest::Withdraw(_) => format!("change {change} is withdrawn\n"),
        ChangeRequest::Stop => {
            format!("the run ends when all stand at {} or later\n", shown(at.unwrap_or_default()))
        }
        ChangeRequest::Resume => "the run goes on\n".to_owned(),
        ChangeRequest::Step if at.is_none() => "whoever is furthest behind makes one step\n".to_owned(),
        _ => match at.or(answer["until"].as_f64()) {
            Some(at) if more.is_empty() => format!("all stand still at {} or later\n", shown(at)),
            Some(at) => format!("whoever calls steer(t) stands still at {} or later\n", shown(at)),
            None => "the run goes on\n".to_owned(),
        },
    };
    told + &more
}

/// Returns a line with the instances that are not halted. Empty if there are none.
fn unsteered(answer: &Value) -> String {
    let names = answer["unsteered"].as_array().into_iter().flatten();
    let names: Vec<String> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    HaltRecord::not_held(&names).map(|line| format!("{line}\n")).unwrap_or_default()
}

/// Returns the settings that can be steered, and the changes that were made.
fn listed(answer: &Value) -> String {
    let mut text = String::new();
    for one in answer["steerable"].as_array().into_iter().flatten() {
        let word = |key: &str| one[key].as_str().unwrap_or_default();
        let range = match (one["min"].as_f64(), one["max"].as_f64()) {
            (None, None) => String::new(),
            (min, max) => {
                let bound = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
                format!(", {} … {}", bound(min), bound(max))
            }
        };
        let value = one["value"].as_str().unwrap_or("not set");
        let unit = if word("unit").is_empty() { String::new() } else { format!(" {}", word("unit")) };
        let when = if word("apply") == "restart" { ", once a pass" } else { "" };
        let _ = writeln!(text, "{} = {value}{unit}  ({}{range}{when})", word("name"), word("type"));
    }
    if text.is_empty() {
        text.push_str("no setting of this run can be steered\n");
    }
    for one in answer["changes"].as_array().into_iter().flatten() {
        if let Ok(record) = serde_json::from_value::<ligament_manager::SteeringRecord>(one.clone()) {
            let _ = writeln!(text, "{}", record.describe());
        }
    }
    if let Some(at) = answer["halt"]["at"].as_f64() {
        let _ = writeln!(text, "the run stands still from {} on", in_unit(at, answer["time_unit"].as_str()));
        text.push_str(&unsteered(&answer["halt"]));
    }
    text
}
