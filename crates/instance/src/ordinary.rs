//! The fast way for ordinary messages. Nearly all messages are ordinary: they hold nothing, or one array
//! like the one before; their port has one conduit and no slots; the phase of the loop does not change; and
//! no settings overlay is in force. A function in this file either does all the work, or changes nothing
//! and leaves the work to the general function of the same name (`send.rs`, `receive.rs`), which also
//! reports errors.

use crate::instance::Instance;
use crate::loan::Loan;
use crate::message::{ArrayMut, Message, MessageTimes};
use crate::ports::{PortName, PortState, PASS_IS_SENT};
use crate::transport::Transport;
use ligament_model::Operator;
use ligament_shm::endpoint::AsBefore;
use ligament_wire::{ArrayKind, ArrayRef, HeaderWords};

/// An array to be sent that is probably like the one before. Bindings of other languages compare their own
/// description of the array in place, so that no part of it is checked or copied if it is alike.
pub trait PlainArray<'a> {
    /// Returns the elements, if they are contiguous and the array is of this kind.
    fn elements(self, kind: &ArrayKind) -> Option<&'a [u8]>;
}

/// Returns true if the elements of an array are contiguous, and the array has neither axis names nor a
/// unit.
pub(crate) fn is_plain(array: &ArrayRef<'_>) -> bool {
    let meta = !array.names.is_empty() || array.unit.is_some();
    array.strides.is_none() && array.offset == 0 && !meta
}

impl<'a> PlainArray<'a> for &ArrayRef<'a> {
    #[inline]
    fn elements(self, kind: &ArrayKind) -> Option<&'a [u8]> {
        let ArrayRef { dtype, shape, order, data, .. } = *self;
        let alike = kind.is(dtype, shape, order) && data.len() == kind.bytes();
        (alike && is_plain(self)).then_some(data)
    }
}

/// The array of a loan, if the loan is a draft.
impl<'a> PlainArray<'a> for &'a Loan {
    #[inline(always)]
    fn elements(self, kind: &ArrayKind) -> Option<&'a [u8]> {
        self.plain_draft().filter(|_| kind.is(self.dtype(), self.shape(), self.order()))
    }
}

/// The body of a message without a value.
const NO_BODY: Option<AsBefore<&[u8]>> = None;

impl Instance {
    /// Makes all messages take the general way, ordinary ones too. Both ways have the same effect; tests
    /// compare one with the other.
    #[doc(hidden)]
    pub fn take_the_general_way(&mut self) {
        self.table.ports.iter_mut().for_each(|port| port.only = None);
        if let Transport::Own(endpoint) = &mut self.endpoint {
            endpoint.set_generally(true);
        }
    }

    /// Returns the index of the port with this name, and its channel, if a message on it may be ordinary
    /// and `operates` returns true for its operator.
    #[inline(always)]
    fn ordinary_port(
        &self,
        port: impl PortName,
        operates: impl Fn(Operator) -> bool,
    ) -> Option<(usize, usize)> {
        let index = self.table.find_quietly(port)?;
        let PortState { only, operator, .. } = self.table.ports[index];
        let in_order = operates(operator) && self.order.goes_on(operator);
        let ordinary = in_order && self.is_alive() && self.overlays.current().is_empty();
        Some((index, only.filter(|_| ordinary)?))
    }

    /// Sends a message without a value. Returns false, and has done nothing, if the message is not
    /// ordinary.
    #[inline(always)]
    pub(crate) fn send_ordinary(&mut self, port: impl PortName, times: MessageTimes) -> bool {
        let Some((port, channel)) = self.ordinary_port(port, Operator::sends) else { return false };
        if !self.goes_on(port, times) {
            return false;
        }
        let Transport::Own(endpoint) = &mut self.endpoint else { return false };
        if endpoint.may_be_tapped() {
            return false;
        }
        let sent = endpoint.send_ordinary(channel, &header(times), NO_BODY);
        self.note_sent(port, times, sent)
    }

    /// Sends an array of the same kind as the previous array on this port. Its elements must be contiguous.
    /// Returns false, and has done nothing, if the kind differs or anything else is not ordinary: see
    /// `send_array`.
    #[inline(always)]
    pub fn send_array_as_before<'a>(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        array: impl PlainArray<'a>,
    ) -> bool {
        let Some((port, channel)) = self.ordinary_port(port, Operator::sends) else { return false };
        let Some(head) = self.table.ports[port].head.as_deref() else { return false };
        let Some(kind) = head.kind() else { return false };
        let Some(data) = array.elements(kind) else { return false };
        if !self.goes_on(port, times) {
            return false;
        }
        let Transport::Own(endpoint) = &mut self.endpoint else { return false };
        if endpoint.may_be_tapped() {
            return false;
        }
        let body = AsBefore { number: head.number(), body_len: head.body_len(), data };
        let sent = endpoint.send_ordinary(channel, &header(times), Some(body));
        self.note_sent(port, times, sent)
    }

    /// Returns true if the times are valid, do not go back, and the port may still send in this pass.
    #[inline(always)]
    fn goes_on(&self, port: usize, times: MessageTimes) -> bool {
        times.are_sound() && times.timestamp >= self.table.ports[port].sent.first
    }

    /// Notes the timestamp of a message, if it was sent. Returns `sent`.
    #[inline(always)]
    fn note_sent(&mut self, port: usize, times: MessageTimes, sent: bool) -> bool {
        if sent {
            // In the final phase, an ordinary message is the only one of its port in this pass.
            let latest = if self.order.is_final() { PASS_IS_SENT } else { times.timestamp };
            self.table.ports[port].sent.first = latest;
        }
        sent
    }

    /// Receives an ordinary message, if it arrives soon. Returns false if not.
    #[inline(always)]
    pub(crate) fn receive_ordinary(&mut self, port: impl PortName, message: &mut Message) -> bool {
        let Some((port, channel)) = self.ordinary_source(port) else { return false };
        let Transport::Own(endpoint) = &mut self.endpoint else { return false };
        let mut header = HeaderWords::default();
        let came = endpoint.receive_ordinary(channel, &mut header, &mut message.data);
        if came {
            MessageTimes { timestamp: message.timestamp, next_timestamp: message.next_timestamp } =
                times(&header);
            message.settings = None;
            self.note_origin(port, 0, message);
        }
        came
    }

    /// Receives an ordinary array into the caller's array, if it arrives soon. Returns `None` if not.
    #[inline(always)]
    pub(crate) fn receive_ordinary_into(
        &mut self,
        port: impl PortName,
        into: &mut ArrayMut<'_>,
    ) -> Option<MessageTimes> {
        let (_, channel) = self.ordinary_source(port)?;
        let Transport::Own(endpoint) = &mut self.endpoint else { return None };
        let ArrayMut { dtype, shape, order, ref mut data } = *into;
        let fits = |kind: &ArrayKind| kind.is(dtype, shape, order);
        let mut header = HeaderWords::default();
        endpoint.receive_ordinary_into(channel, &mut header, fits, data).then(|| times(&header))
    }

    /// Returns the index and the channel of a port, if the next message on it may be received in the
    /// ordinary way.
    #[inline(always)]
    pub(crate) fn ordinary_source(&self, port: impl PortName) -> Option<(usize, usize)> {
        let looping = self.looping;
        let receives = |operator| operator == Operator::S || operator == Operator::FInit && !looping;
        let (port, channel) = self.ordinary_port(port, receives)?;
        (self.table.ports[port].ended == [false] && !self.flags.dont_apply_overlay).then_some((port, channel))
    }
}

#[inline(always)]
fn header(times: MessageTimes) -> HeaderWords {
    HeaderWords::data(times.timestamp, times.next_timestamp)
}

#[inline(always)]
fn times(header: &HeaderWords) -> MessageTimes {
    MessageTimes { timestamp: header.timestamp(), next_timestamp: header.next_timestamp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::{ArrayOrder, DType};

    #[test]
    fn an_array_is_like_the_one_before_only_if_all_of_it_is() {
        let data = [0; 48];
        let usual = ArrayRef {
            dtype: DType::Float64,
            shape: &[2, 3],
            strides: None,
            order: ArrayOrder::RowMajor,
            data: &data,
            offset: 0,
            names: &[],
            unit: None,
        };
        let kind = ArrayKind::new(usual.dtype, usual.shape, usual.order).unwrap();
        assert_eq!(usual.elements(&kind), Some(&data[..]));
        let names = ["x".to_owned(), "y".to_owned()];
        let others = [
            ArrayRef { dtype: DType::UInt64, ..usual },
            ArrayRef { shape: &[3, 2], ..usual },
            ArrayRef { shape: &[6], ..usual },
            ArrayRef { order: ArrayOrder::ColumnMajor, ..usual },
            ArrayRef { strides: Some(&[24, 8]), ..usual },
            ArrayRef { offset: 8, ..usual },
            ArrayRef { data: &data[..40], ..usual },
            ArrayRef { names: &names, ..usual },
            ArrayRef { unit: Some("m"), ..usual },
        ];
        for other in &others {
            assert_eq!(other.elements(&kind), None, "{other:?}");
        }
    }
}
