//! `ligament tap`: prints, draws or saves the latest values of a port while the run goes on.

mod draw;
mod grid;
mod vtk;

use crate::arguments::print;
use ligament_catalogue::{fault, Code, Fault};
use ligament_coupling::values::{as_json, as_npy};
use ligament_manager::find_run;
use ligament_runtime::client::{record_of, PortOf, PortValue, TapEvent, TapSession, DEFAULT_BOX_BYTES};
use ligament_wire::tap::TapSelection;
use ligament_wire::times::in_unit;
use ligament_wire::Value;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pause between two attempts to tap an instance that has not joined the run yet.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Maximum time of one wait for a value.
const VALUE_WAIT: Duration = Duration::from_secs(1);

/// Show the latest values that a port sends, connected or not, while the run goes on.
///
/// The instance copies what is asked for when it sends next, and never waits for whoever looks. Of large arrays
/// ask for a slice, every n-th element, or a histogram. On a terminal arrays are drawn. Ctrl-C ends the tap and
/// not the run.
#[derive(Debug, clap::Args)]
pub(crate) struct Tap {
    /// The run: its directory, its name under ./runs, or `latest`.
    pub run: String,
    /// The port: INSTANCE.PORT, such as macro.state_out, micro[3].out, flow:1.out for a rank, or macro.out[2]
    /// for a slot of a vector port. COMPONENT.FIELD is a field of all blocks of a grid, at one model time.
    pub port: String,
    /// Show one value, and end.
    #[arg(long)]
    pub once: bool,
    /// Show a value no more often than every so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub every: f64,
    /// Of an array, take this, as NumPy would: "0", "::2, 5:10", "-1".
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub slice: Option<String>,
    /// Of an array, take every N-th element along each axis.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub thin: Option<u64>,
    /// Show how many elements are how large, in so many bars [default: 20].
    #[arg(long, value_name = "BARS", num_args = 0..=1, default_missing_value = "20",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub histogram: Option<u32>,
    /// Of a map, take what stands under this key; give it again for maps inside of maps.
    #[arg(long, value_name = "KEY")]
    pub key: Vec<String>,
    /// Save an array in NumPy's format (.npy), a field of a grid for VTK (.pvti), or its surfaces (.vtp), and
    /// end; with an n in braces in the name, go on and count the files.
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    pub save: Option<PathBuf>,
    /// Of a field of a grid, show the surface on which it has this value; give it again for more surfaces.
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true,
          conflicts_with_all = ["slice", "thin", "histogram", "key", "plot"])]
    pub level: Vec<f64>,
    /// Let pictures of a grid take this share of the run's time at most, such as 10%.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%")]
    pub share: f64,
    /// Draw arrays also where the output is no terminal.
    #[arg(long, conflicts_with_all = ["json", "save"])]
    pub plot: bool,
    /// Make room for a value of so many bytes [default: 64 MiB].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub room: Option<u64>,
    /// Give up when no value has come for so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// Print each value as one JSON object on a line of its own.
    #[arg(long)]
    pub json: bool,
}

fn file_name(text: &str) -> Result<PathBuf, Fault> {
    if [".npy", ".vtp", ".pvti"].iter().any(|ending| text.ends_with(ending)) {
        return Ok(text.into());
    }
    Err(fault!(
        BAD_ARGUMENT,
        "\"{text}\": the name ends in .npy for an array in NumPy's format, in .pvti for a field of a grid, \
         and in .vtp for its surfaces"
    ))
}

fn share(text: &str) -> Result<f64, Fault> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / unit);
    share.filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| {
        fault!(BAD_ARGUMENT, "\"{text}\" is no share of the run's time; give more than 0% and up to 100%")
    })
}

/// Shows the values of a port. Returns the exit status.
pub(crate) fn tap(arguments: &Tap) -> i32 {
    match shown(arguments) {
        Ok(()) => crate::DONE,
        Err(error) => {
            let bad_use = [Code::BAD_SLICE, Code::BAD_ARGUMENT, Code::TAP_REFUSED, Code::INSTANCE_UNKNOWN];
            let status = if bad_use.contains(&error.code()) { crate::BAD_USE } else { crate::FAILED };
            crate::fail(arguments.json, &error, status)
        }
    }
}

/// Returns a number of seconds from the command line as a duration. Fails if the number is negative or too
/// large.
fn seconds(given: f64, option: &str) -> Result<Duration, Fault> {
    let time = Duration::try_from_secs_f64(given).ok().filter(|time| *time < Duration::from_secs(1 << 32));
    time.ok_or_else(|| fault!(BAD_ARGUMENT, "{option} {given}: give seconds, 0 or more"))
}

fn shown(arguments: &Tap) -> Result<(), Fault> {
    let port = PortOf::of(&arguments.port)?;
    let wanted = TapSelection {
        keys: arguments.key.clone(),
        cuts: TapSelection::cuts_of(arguments.slice.as_deref().unwrap_or_default())?,
        thin: arguments.thin.unwrap_or(1),
        bars: arguments.histogram.unwrap_or(0),
        levels: Vec::new(),
    };
    let every = seconds(arguments.every, "--every")?;
    let patience = arguments.timeout.map(|given| seconds(given, "--timeout")).transpose()?;
    if grid::is_whole(arguments, &port) {
        return grid::shown(arguments, &port, every, patience);
    }
    let began = Instant::now();
    let mut tapping =
        begun(&arguments.run, &port, &wanted, arguments.room.unwrap_or(DEFAULT_BOX_BYTES), patience)?;
    let count_files = arguments.save.as_ref().is_some_and(|name| name.to_string_lossy().contains("{n}"));
    let only_one = arguments.once || arguments.save.is_some() && !count_files;
    let draws = arguments.plot || std::io::stdout().is_terminal();
    let time_unit = find_run(&arguments.run).and_then(|run| record_of(&run)).ok().and_then(|run| run.time_unit);
    let tapped = TapOutput { port: port.clone(), time_unit, draws };
    let (mut told, mut last) = (0usize, began);
    loop {
        let came = tapping.next(patience.unwrap_or(VALUE_WAIT).min(VALUE_WAIT))?;
        match came {
            TapEvent::Shown(value) => {
                tell(arguments, &tapped, &value, told)?;
                told += 1;
                if only_one {
                    return Ok(());
                }
                tapping.rest(every);
                // The timeout counts from the end of the pause between two values.
                last = Instant::now();
            }
            TapEvent::Nothing => {
                if patience.is_some_and(|patience| last.elapsed() >= patience) {
                    return Err(fault!(
                        TIMED_OUT,
                        "{port} has sent nothing for {} s",
                        patience.unwrap_or_default().as_secs_f64()
                    ));
                }
            }
            TapEvent::Over(why) if told == 0 => {
                return Err(fault!(TAP_REFUSED, "{port} has sent nothing since it is looked at: {why}"))
            }
            TapEvent::Over(why) => {
                if !arguments.json {
                    crate::say(&why);
                }
                return Ok(());
            }
        }
    }
}

/// Begins to tap the port. Waits until the instance has joined the run.
fn begun(
    run: &str,
    port: &PortOf,
    wanted: &TapSelection,
    room: u64,
    patience: Option<Duration>,
) -> Result<TapSession, Fault> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        match TapSession::of(run, port, wanted, room) {
            Err(why)
                if why.code() == Code::TAP_TOO_EARLY && until.is_none_or(|until| Instant::now() < until) =>
            {
                std::thread::sleep(RETRY_PAUSE);
            }
            other => return other,
        }
    }
}

/// The tapped port, and how its values are printed.
struct TapOutput {
    port: PortOf,
    /// The unit of model times, if the model says it.
    time_unit: Option<String>,
    draws: bool,
}

/// Checks that a file is not for a field of a grid.
fn check_npy(name: &Path) -> Result<(), Fault> {
    if name.extension().is_some_and(|ending| ending == "npy") {
        return Ok(());
    }
    Err(fault!(
        BAD_ARGUMENT,
        "{} is for a field of a whole grid; name its component, without the index of a block: COMPONENT.FIELD",
        name.display()
    ))
}

/// Prints, draws or saves one value.
fn tell(arguments: &Tap, tapped: &TapOutput, shown: &PortValue, number: usize) -> Result<(), Fault> {
    let TapOutput { port, time_unit, draws } = tapped;
    if let Some(name) = &arguments.save {
        check_npy(name)?;
        let Value::Array(array) = &shown.value else {
            return Err(fault!(
                NOT_SHOWN,
                "{port} sends no array, so there is nothing to save as .npy; use --json"
            ));
        };
        let name = PathBuf::from(name.to_string_lossy().replace("{n}", &number.to_string()));
        crate::picture::write_file(&name, |out| out.write_all(&as_npy(array)))?;
    }
    let PortValue { timestamp, next_timestamp, slot, number, ref value, .. } = *shown;
    if arguments.json {
        let about = serde_json::json!({
            "ok": true,
            "port": port.to_string(),
            "timestamp": timestamp,
            "next_timestamp": next_timestamp,
            "slot": slot,
            "message": number,
        });
        let about = about.to_string();
        print(&format!("{},\"value\":{}}}\n", about.trim_end_matches('}'), as_json(value)));
        return Ok(());
    }
    let slot = slot.filter(|_| port.slot.is_none()).map(|slot| format!(", slot {slot}")).unwrap_or_default();
    let bars = arguments.histogram.is_some();
    let time = in_unit(timestamp, time_unit.as_deref());
    print(&format!("{port} at {time}{slot} (message {number}): {}\n", draw::in_words(value, bars)));
    if *draws {
        print(&draw::drawn(value, bars));
    }
    Ok(())
}
