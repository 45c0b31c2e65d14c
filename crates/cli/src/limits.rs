//! The options of `ligament run` that replace limits under `ligament:` in the model.

use ligament_catalogue::{fault, Fault};
use ligament_model::{parse_bytes, At, LigamentOptions, WaitMode};

/// Limits of one run.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Limits of this run, in place of the model's")]
pub(crate) struct Limits {
    /// Memory for all messages on this machine.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Bytes on their way in each conduit that has no budget of its own.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub budget: Option<u64>,
    /// Memory that one reader's live views may keep before `receive` copies.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub reader_pinned: Option<u64>,
    /// How large a message may be, on each conduit that has no message size of its own.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub message_size: Option<u64>,
    /// How large manager.log may get before it begins anew.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub log: Option<u64>,
    /// How much is kept of what each instance prints.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub output: Option<u64>,
    /// The most instances that the model may have.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub instances: Option<u64>,
    /// How instances wait for messages.
    #[arg(long, value_name = "HOW", value_parser = clap::builder::PossibleValuesParser::new(WaitMode::NAMES))]
    pub wait: Option<String>,
}

impl Limits {
    /// Returns the arguments that give the same limits to another command.
    pub fn words(&self) -> Vec<String> {
        let sizes = [
            ("memory", self.memory),
            ("budget", self.budget),
            ("reader-pinned", self.reader_pinned),
            ("message-size", self.message_size),
            ("log", self.log),
            ("output", self.output),
            ("instances", self.instances),
        ];
        let sizes = sizes.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
        sizes.chain(self.wait.iter().map(|wait| format!("--wait={wait}"))).collect()
    }

    /// Returns the limits in the form that a model file gives them.
    pub fn options(&self) -> LigamentOptions {
        LigamentOptions {
            memory: self.memory,
            budget: self.budget,
            reader_pinned: self.reader_pinned,
            message_size: self.message_size,
            log: self.log,
            output: self.output,
            instances: self.instances,
            wait: self.wait.as_deref().and_then(WaitMode::from_name),
            wait_at: At { file: Some("--wait".into()), line: 0, column: 0 },
            ..LigamentOptions::default()
        }
    }
}

fn size(text: &str) -> Result<u64, Fault> {
    parse_bytes(text)
        .ok_or_else(|| fault!(WORD_OF_THE_COMMAND_LINE, "write a number of bytes, such as 64MiB or 4GiB"))
}
