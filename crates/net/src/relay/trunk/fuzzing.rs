//! A fuzz target: arbitrary messages about circuits from the other relay of a trunk.

use super::circuits::{Circuits, MAX_MESSAGE_BYTES};

/// Reads bytes as messages and credit until one breaks the rules. Some of the bytes make this end pass data
/// on, or send.
pub(crate) fn circuits(bytes: &[u8]) {
    let mut here = Circuits::new(false);
    let mut rest = bytes;
    while let Some((&[number, what, length], more)) = rest.split_first_chunk::<3>() {
        let number = u32::from(number % 4);
        let (said, more) = more.split_at(usize::from(length).min(more.len()));
        rest = more;
        let outcome = match what % 8 {
            0 => here.credit(number, u64::from(length) << (what / 8)),
            1 => {
                let front = here.front(number).map_or(0, <[u8]>::len);
                here.took(number, front.min(usize::from(length)));
                Ok(())
            }
            2 => {
                let room = here.room(number);
                assert!(room < MAX_MESSAGE_BYTES);
                if room > 0 {
                    here.send(number, &vec![7; room.min(said.len() + 1)]);
                }
                Ok(())
            }
            3 => {
                here.break_off(number);
                Ok(())
            }
            kind => {
                let message = [&[kind - 3], said].concat();
                here.begin(number, message.len() as u64).and_then(|()| here.deliver(number, message).map(drop))
            }
        };
        if outcome.is_err() {
            return;
        }
        here.forget_if_over(number);
        here.credit_due(number);
    }
}
