//! The command line of `ligament`: the subcommands with their arguments and help texts, and the call of the
//! given subcommand.

use crate::complain;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use ligament_catalogue::fault;
use ligament_launch::terminal_text::escaped;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Couples simulation codes into one multiscale model.
#[derive(Debug, Parser)]
#[command(name = "ligament", version)]
struct Arguments {
    /// Print colours: on a terminal (auto), always, or never.
    #[arg(long, value_name = "WHEN", value_parser = crate::colour::parser(), default_value = "auto",
        global = true)]
    color: ligament_runtime::Colours,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a model: on this machine, on all nodes of the current job, or on listed machines.
    ///
    /// Starts every instance, shows how far each one is, and ends with a summary. All that the run does is in
    /// its run directory. Ctrl-C ends the run in order; a second Ctrl-C at once. If its terminal goes away the
    /// run goes on, and `ligament attach` shows it again.
    Run(Box<Run>),
    /// Show a run again that was started or submitted before, here or elsewhere.
    ///
    /// Waits for a run that is still in its queue, and says how one went that is over. Ctrl-C leaves the run
    /// alone; many may be attached to one. The exit status is that of the run.
    Attach(crate::attach::Attach),
    /// Run a model as a job of a batch system (Slurm), at one site or several, and show its progress.
    ///
    /// Writes the job's script into the run directory, submits it, waits in the queue, and then shows the run
    /// as if it were here. Ctrl-C ends only the showing; `ligament attach` comes back to it.
    Submit(Box<crate::submit::Submit>),
    /// End a submitted run, in its queue or while it runs; end any other run as `stop` does.
    Cancel(crate::job::Cancel),
    /// Write, check and list site files, measure links between sites, install Ligament at a site.
    #[command(subcommand)]
    Site(crate::site::SiteCommand),
    /// Join a run as one of its domains, and start instances here until the run ends.
    ///
    /// Started on each machine of a run over several domains, by `ligament run` or by hand.
    Agent(Agent),
    /// The agents of a run's job at one of its sites.
    #[command(hide = true)]
    Agents(Box<crate::agents::SiteAgents>),
    /// Join connections of domains that cannot reach each other. A relay cannot read what passes.
    ///
    /// For a login node. FILE has the relay's address and key: it is made by the first start, and runs are
    /// given it with `--relay`, or by a site's `relays:`. Serves any number of runs until it is ended (Ctrl-C);
    /// started again, it goes on.
    Relay(crate::relay::Relay),
    /// Copy files and directories to another site, or from it.
    ///
    /// The other end is started by ssh, and the files go over a path of several encrypted streams if one of its
    /// ports, or a relay, can be reached. A file gets its name when it is whole; a copy that was cut goes on
    /// when it is called again.
    Cp(Box<crate::copying::Copy>),
    /// Mirror a directory to another site while it is written.
    ///
    /// A file appears there when whoever writes it has closed it, whole or not at all. Ctrl-C ends it; called
    /// again, it goes on.
    Sync(Box<crate::copying::Sync>),
    /// The other end of `cp` and `sync`.
    #[command(hide = true)]
    ServeFiles,
    /// An end of a link that `site check` measures.
    #[command(hide = true)]
    ServeLink,
    /// The way on from a machine where ssh may not lead on itself.
    #[command(hide = true)]
    LeadOn(crate::lead_on::LeadOn),
    /// Report every problem of a model, without running it.
    Check(Check),
    /// Show components, ports and conduits of a model, as text or as a picture.
    ///
    /// In the picture a component stands to the left of those that it starts. Filled signs send and open ones
    /// receive; round ones are within the loop (O_I, S), square ones before and after it (F_INIT, O_F).
    Graph(Graph),
    /// Show the scale separation map of a model: times and lengths of its components.
    ///
    /// Scales stand under `ligament: scales:` in the model file. In the picture each box reaches from the step
    /// to the whole, in time and in space; both axes are logarithmic.
    Scales(Scales),
    /// Predict the time of a run, the traffic of its conduits, and the gain of more cores.
    ///
    /// The costs come from an earlier run (--from), a file (--costs), or both. The run is then played with
    /// these costs; nothing is started.
    Predict(crate::predict::Predict),
    /// Show the order of the operators of all components, unrolled.
    ///
    /// Tasks of one round can run side by side. Each component makes two steps in a pass, unless its
    /// scales say that it makes one only.
    Tasks(Tasks),
    /// Convert a model in xMML 0.4, a cxa file of MUSCLE 2, or a configuration of preCICE, to a model file.
    ///
    /// Errors name their lines. The result goes to the standard output. Configurations of preCICE are read by
    /// the package ligament-precice, which must be installed.
    Convert(crate::convert::Convert),
    Play(crate::play::PlayCommand),
    Replay(crate::replay::ReplayCommand),
    /// Write a starter: a directory with a code, or a model.
    ///
    /// `ligament new submodel --language c NAME`, `ligament new macro …`, `ligament new model NAME`. The
    /// starter compiles and passes its test (`make test`) as it is. Nothing is overwritten.
    New(crate::new::New),
    Study(crate::study::Study),
    #[command(hide = true)]
    PlayPart(crate::play::PlayPart),
    /// The recorder of a case.
    #[command(hide = true)]
    RecordPart(crate::play::RecordPart),
    /// Runs the sources, sinks and mappers of a model that come with Ligament.
    #[command(hide = true)]
    ShippedPart,
    /// Takes the place of an instance that had ended before the checkpoint from which a run resumes.
    #[command(hide = true)]
    EndedPart,
    /// Show the state of a run: who computes, and who waits for whom.
    Status(Status),
    View(crate::view::ViewCommand),
    Tap(crate::tap::Tap),
    /// List runs: begin, duration, end.
    Runs(crate::runs::Runs),
    /// Show the log of a run, or the output of one instance.
    Logs(Logs),
    /// Show the working directory of an instance, or one of its files, on any machine.
    Peek(Peek),
    /// Report who waited for whom and for how long; write a trace.
    ///
    /// The trace has the activities of every instance; ui.perfetto.dev and chrome://tracing show it. For runs
    /// that are over, have failed, or are under way.
    Timeline(Timeline),
    /// Draw what each instance did when: compute, wait, send, receive.
    Profile(Profile),
    /// End a run.
    Stop(Stop),
    Steer(Box<crate::steer::Steer>),
    Checkpoint(crate::checkpoint::CheckpointCommand),
    /// Start an instance by hand, for example in a debugger.
    ///
    /// Without a command, prints the environment that the instance needs, as `export` lines for a shell.
    Join(Join),
    /// Print paths and flags of library and headers, for compilers and build systems.
    ///
    /// Compile a program with `cc code.c $(ligament config --cflags --libs)`; let CMake find the package with
    /// `cmake -Dligament_DIR=$(ligament config --cmake)`. Without an option, shows everything.
    Config(Config),
    /// Explain the code of an error: its meaning and remedy; without a code, list all.
    ///
    /// Messages end with their code: `(ligament explain no-such-port)`.
    Explain(Explain),
    /// Print a script that completes this command's arguments in a shell.
    ///
    /// For bash: `source <(ligament completions bash)`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a directory.
    #[command(hide = true)]
    ManPages {
        /// The directory, such as share/man/man1; it is made if it is not there.
        directory: PathBuf,
    },
    /// Print the names of runs, or of the instances of one, for shells that complete them.
    #[command(hide = true)]
    Names {
        /// The run.
        run: Option<String>,
    },
    /// Print the version.
    Version,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Model files in yMMSL; later ones add to earlier ones.
    #[arg(required_unless_present = "resume", value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Set a setting, over those of the model; may be given several times.
    #[arg(short, long = "setting", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Go on from the last checkpoint of this run, or from checkpoint N; without MODEL, with that run's model.
    #[arg(long, value_name = "RUN[@N]")]
    pub resume: Option<String>,
    /// If an instance, a machine or a link dies, go on from the last checkpoint in a run of its own, at most
    /// this many times [default: `restarts` of the model, or 0].
    #[arg(long, value_name = "N")]
    pub restarts: Option<u32>,
    /// The run directory [default: runs/<model>-<time>].
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Do not start this instance: it will be started by hand, with `ligament join`.
    #[arg(long, value_name = "INSTANCE")]
    pub manual: Vec<String>,
    /// Record all that passes between these instances (or all instances of a component) and the run, for
    /// `ligament replay`. The files are in `records` below the run directory.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub record: Vec<String>,
    /// Which model to run, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Make the changes of this run again that `ligament steer` made in it, at the same model times.
    #[arg(long, value_name = "RUN")]
    pub steered: Option<String>,
    /// Let the run go on by itself, without this terminal, as soon as it is up; `ligament attach` shows it.
    #[arg(short, long)]
    pub detach: bool,
    /// Show the run in a browser, as `ligament view --open` does; with `=steer`, to steer it, too. The page
    /// stays for as long as the run goes on, or somebody looks.
    #[arg(long, value_name = "look|steer", num_args = 0..=1, require_equals = true,
        default_missing_value = "look", value_parser = crate::view::role)]
    pub open: Option<ligament_live::Role>,
    /// Show nothing but errors and warnings.
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the record of the run as JSON at the end (with --detach: where it is, at its begin), and nothing
    /// else.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub ignore: crate::check::Ignore,
    #[command(flatten)]
    pub sharing: crate::places::ShareOptions,
    #[command(flatten, next_help_heading = "Over several domains")]
    pub spreading: crate::spread_options::SpreadOptions,
    #[command(flatten)]
    pub hosts: crate::places::Hosts,
    #[command(flatten)]
    pub places: crate::places::Places,
    #[command(flatten)]
    pub limits: crate::limits::Limits,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Agent {
    /// The invitation to the run: a file that only you can read; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub join: PathBuf,
    /// Which domain this is, from 1 on [default: from SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK, plus 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub domain: Option<u32>,
    /// The domain of the first of several tasks.
    #[arg(long, hide = true, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub first: u32,
    /// Cores for instances [default: all that this process may use].
    #[arg(long, value_name = "N")]
    pub cores: Option<u32>,
    /// The cores that the batch system has given the job on this machine.
    #[arg(long, hide = true, conflicts_with = "cores")]
    pub cores_of_job: bool,
    /// The directory where instances have their files. They are brought to the run directory at the end
    /// [default: the run directory itself if it is to be seen from here; else TMPDIR].
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub listening: crate::spread_options::ListenOptions,
    #[command(flatten)]
    pub relaying: crate::relay::RelayOptions,
    #[command(flatten)]
    pub linking: crate::spread_options::LinkOptions,
    /// For how long the head may be cut off before this domain ends.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "60s")]
    pub patience: std::time::Duration,
    /// Show nothing but errors and warnings.
    #[arg(short, long)]
    pub quiet: bool,
    /// End when whoever reads what this prints is gone: what starts agents says so to them.
    #[arg(long, hide = true)]
    pub launched: bool,
    /// A signal to this says that the job ends which it is a part of.
    #[arg(long, hide = true)]
    pub of_job: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Model files in yMMSL; later ones add to earlier ones.
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Set a setting, over those of the model; may be given several times.
    #[arg(short, long = "setting", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Which model to check, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Do not look for executables: the model is for another machine.
    #[arg(long)]
    pub elsewhere: bool,
    #[command(flatten)]
    pub ignore: crate::check::Ignore,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    pub shown: crate::check::ModelSource,
    /// Draw it into this file, as .svg or .png.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show each nested model as one box.
    #[arg(long, conflicts_with = "all")]
    pub folded: bool,
    /// Show each component, however many there are; without it, alike ones share a box where there are more
    /// than 40.
    #[arg(long)]
    pub all: bool,
    /// Print boxes and arrows as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Scales {
    /// Model files in yMMSL; later ones add to earlier ones.
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Which model to show, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Draw it into this file, as .svg or .png.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print boxes and arrows as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    pub shown: crate::check::ModelSource,
    /// The number of steps of each pass to show at most.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub steps: u64,
    /// Draw it into this file, as .svg or .png.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the tasks as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// The run: its directory, its name under ./runs, or `latest`; or an instance of the latest run.
    #[arg(default_value = "latest")]
    pub run: String,
    /// Show what this instance printed, instead of the run's log.
    pub instance: Option<String>,
    /// Go on showing what is added, until the run ends.
    #[arg(short, long)]
    pub follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Peek {
    /// The run: its directory, its name under ./runs, or `latest`.
    pub run: String,
    /// The instance.
    pub instance: String,
    /// The file to show: a file, or a directory, below the instance's working directory [default: that
    /// directory].
    pub file: Option<String>,
    /// Show only the last lines of the file.
    #[arg(short = 'n', long, value_name = "N")]
    pub lines: Option<u64>,
    /// Show only the last bytes of the file.
    #[arg(short = 'c', long, value_name = "N", conflicts_with = "lines")]
    pub bytes: Option<u64>,
    /// Go on showing what is added to the file, until the run ends.
    #[arg(short, long)]
    pub follow: bool,
    /// Print a directory as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Timeline {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// The file to write the trace to [default: trace.json in the run directory].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print who waited for whom as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Profile {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// The file to write the picture to, as .svg or .png [default: profile.svg in the run directory].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the times as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Join {
    /// The run: its directory, its name under ./runs, or `latest`.
    pub run: String,
    /// The instance to be; the run must have been started with `--manual INSTANCE`, or its program says
    /// `execution_model: manual`.
    pub instance: String,
    /// The command to become, with the environment set and in the instance's working directory.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    /// The flags to compile with.
    #[arg(long)]
    pub cflags: bool,
    /// The flags to link with, which also let the program find the library when it starts.
    #[arg(long)]
    pub libs: bool,
    /// The directory of the CMake package, for `ligament_DIR`.
    #[arg(long)]
    pub cmake: bool,
    /// The directory of the pkg-config file, for `PKG_CONFIG_PATH`.
    #[arg(long)]
    pub pkg_config: bool,
    /// The directory below which all is installed.
    #[arg(long)]
    pub prefix: bool,
    /// The directory of the headers.
    #[arg(long)]
    pub includedir: bool,
    /// The directory of the library.
    #[arg(long)]
    pub libdir: bool,
    /// The library's own file, for languages that load it by themselves.
    #[arg(long)]
    pub library: bool,
    /// The directory of the Fortran module's sources.
    #[arg(long)]
    pub fortran: bool,
    /// The file of the classes for Java.
    #[arg(long)]
    pub jar: bool,
    /// The directory of the crate for Rust, for `cargo add --path`.
    #[arg(long)]
    pub rust: bool,
    /// The version of Ligament.
    #[arg(long)]
    pub version: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The code, such as no-such-port.
    #[arg(value_parser = Codes, hide_possible_values = true)]
    pub code: Option<String>,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A parser for the argument `CODE`. It accepts any text, and offers the error codes of the catalogue to shells
/// that complete arguments.
#[derive(Clone)]
struct Codes;

impl clap::builder::TypedValueParser for Codes {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        let codes = ligament_catalogue::entries().iter().map(|entry| entry.code.name());
        Some(Box::new(codes.map(clap::builder::PossibleValue::new)))
    }
}

/// The definition of the whole command line.
#[cfg(test)]
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

/// Carries out the command line `arguments`. The first argument is the name of the command. Returns the exit
/// status: 0 done, 1 the run failed, 2 bad use or a bad model, 130 interrupted.
pub(crate) fn carry_out(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let matches = crate::reference::grouped(Arguments::command()).try_get_matches_from(arguments);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return error.exit_code();
        }
    };
    crate::colour::choose(arguments.color);
    let status = match arguments.command {
        Command::Run(run) => crate::run::run(&run),
        Command::Attach(attach) => crate::attach::attach(&attach),
        Command::Submit(submit) => crate::submit::submit(&submit),
        Command::Cancel(cancel) => crate::job::cancel(&cancel),
        Command::Site(site) => crate::site::site(&site),
        Command::Agent(agent) => crate::agent::agent(&agent),
        Command::Agents(agents) => crate::agents::agents(&agents),
        Command::Relay(relay) => crate::relay::relay(&relay),
        Command::Cp(copy) => crate::copying::cp(&copy),
        Command::Sync(sync) => crate::copying::sync(&sync),
        Command::ServeFiles => crate::copying::serve(),
        Command::ServeLink => crate::site::serve_link(),
        Command::LeadOn(arguments) => crate::lead_on::lead_on(&arguments),
        Command::Check(check) => crate::check::check(&check),
        Command::Graph(graph) => crate::graph::graph(&graph),
        Command::Tasks(tasks) => crate::tasks::tasks(&tasks),
        Command::Scales(scales) => crate::scales::scales(&scales),
        Command::Convert(convert) => crate::convert::convert(&convert),
        Command::Predict(predict) => crate::predict::predict(&predict),
        Command::Play(play) => crate::play::play(&play),
        Command::Replay(replay) => crate::replay::replay(&replay),
        Command::New(new) => crate::new::new(&new),
        Command::Study(study) => crate::study::study(&study),
        Command::PlayPart(part) => crate::play::part(&part),
        Command::RecordPart(part) => crate::play::record_part(&part),
        Command::ShippedPart => crate::shipped::part(),
        Command::EndedPart => crate::shipped::ended_part(),
        Command::Status(status) => crate::client::status(&status),
        Command::View(view) => crate::view::view(&view),
        Command::Tap(tap) => crate::tap::tap(&tap),
        Command::Runs(runs) => crate::runs::runs(&runs),
        Command::Names { run } => crate::runs::names(run.as_deref()),
        Command::Logs(logs) => crate::logs::logs(&logs),
        Command::Peek(peek) => crate::peek::peek(&peek),
        Command::Timeline(timeline) => crate::timeline::timeline(&timeline),
        Command::Profile(profile) => crate::timeline::profile(&profile),
        Command::Stop(stop) => crate::client::stop(&stop),
        Command::Steer(steer) => crate::steer::steer(&steer),
        Command::Checkpoint(checkpoint) => crate::checkpoint::checkpoint(&checkpoint),
        Command::Join(join) => crate::client::join(&join),
        Command::Config(config) => crate::config::config(&config),
        Command::Explain(explain) => crate::explain::explain(&explain),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "ligament", &mut script);
            print(&crate::runs::with_names(shell, &String::from_utf8_lossy(&script)));
            crate::DONE
        }
        Command::ManPages { directory } => {
            crate::reference::write_man_pages(crate::reference::grouped(Arguments::command()), &directory)
        }
        Command::Version => {
            print(&format!("ligament {}\n", env!("CARGO_PKG_VERSION")));
            crate::DONE
        }
    };
    match status {
        crate::DONE if OUTPUT_LOSS.load(Ordering::Relaxed) => crate::FAILED,
        status => status,
    }
}

/// True if output was lost, for example on a full disk. The command must then fail, because its output is part
/// of its work.
static OUTPUT_LOSS: AtomicBool = AtomicBool::new(false);

/// Prints a text to the standard output. A reader that has closed the pipe (`| head`) is no error. Any other
/// loss of output is reported once, and the command then ends with an error.
pub(crate) fn print(text: &str) {
    use std::io::IsTerminal;
    // Only a terminal interprets control characters, so a text for a file or a pipe stays unchanged.
    if std::io::stdout().is_terminal() {
        print_as_it_is(&escaped(text))
    } else {
        print_as_it_is(text)
    }
}

/// Prints a text as [`print`] does, and keeps its control characters. They are colours that this program has
/// added.
pub(crate) fn print_as_it_is(text: &str) {
    use std::io::{ErrorKind, Write};
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) else { return };
    if error.kind() != ErrorKind::BrokenPipe && !OUTPUT_LOSS.swap(true, Ordering::Relaxed) {
        complain(&fault!(
            OUTPUT_LOST,
            "the standard output cannot be written: {error}; give it another file, or make room"
        ));
    }
}
