//! The options of an instance, as flags whose bits are the same in all languages.

/// Options of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// If true, the overlay of a received message is not applied. The code gets it with the message, in
    /// `Message::settings`. This is for components that serve several other components with different
    /// settings.
    pub dont_apply_overlay: bool,
    /// True if the code saves its state by `save_snapshot` and the calls that belong to it.
    pub uses_checkpoint_api: bool,
    /// True if the code keeps nothing from one pass of the reuse loop to the next.
    pub keeps_no_state_for_next_use: bool,
    /// True if the code keeps something from one pass to the next, but can do without it.
    pub state_not_required_for_next_use: bool,
}

impl Flags {
    const DONT_APPLY_OVERLAY: u64 = 1;
    const USES_CHECKPOINT_API: u64 = 2;
    const KEEPS_NO_STATE_FOR_NEXT_USE: u64 = 4;
    const STATE_NOT_REQUIRED_FOR_NEXT_USE: u64 = 8;

    /// Returns the flags with these bits, which are the same in all languages and in MUSCLE 3.
    ///
    /// # Errors
    /// The bits that no flag has.
    pub fn from_bits(bits: u64) -> Result<Flags, u64> {
        let has = |flag| bits & flag != 0;
        match bits & !15 {
            0 => Ok(Flags {
                dont_apply_overlay: has(Flags::DONT_APPLY_OVERLAY),
                uses_checkpoint_api: has(Flags::USES_CHECKPOINT_API),
                keeps_no_state_for_next_use: has(Flags::KEEPS_NO_STATE_FOR_NEXT_USE),
                state_not_required_for_next_use: has(Flags::STATE_NOT_REQUIRED_FOR_NEXT_USE),
            }),
            unknown => Err(unknown),
        }
    }
}
