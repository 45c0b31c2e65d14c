//! Sending: values in the caller's own memory, and loans.

use crate::error::{Error, ErrorKind, SendError};
use crate::instance::{Instance, LogLevel};
use crate::loan::{Loan, LoanMemory};
use crate::message::{MessageTimes, Outgoing};
use crate::ordinary::is_plain;
use crate::overlay::{to_wire, value_ref};
use crate::ports::{PortName, PortState};
use crate::preamble::Preamble;
use crate::transport::Transport;
use ligament_catalogue::{fault, Fault};
use ligament_model::{Operator, Settings};
use ligament_shm::endpoint::{Contiguous, EmptySource, Filled, Source};
use ligament_shm::ShmError;
use ligament_wire::times::ShownTime;
use ligament_wire::{ArrayKind, ArrayMeta, ArrayOrder, ArrayRef, DType, Encoder, HeaderWords, Value, ValueRef};
use std::any::Any;
use std::sync::Arc;

/// The port and slot of a message that is about to be sent, by their indices, and its header.
pub(crate) struct Ready {
    port: usize,
    slot: usize,
    header: HeaderWords,
}

impl Instance {
    /// Sends a message on a port (and slot of a vector port). Returns as soon as the value is stored, so
    /// that the caller may change its memory afterwards. Blocks only while the conduit's budget is spent.
    /// Does nothing if the port is not connected.
    ///
    /// # Errors
    /// `Usage` if there is no such port, if the port does not send, or if the message is larger than the
    /// model allows. `OutOfMemory`, `RunEnds`, `Interrupted`.
    #[inline]
    pub fn send(
        &mut self,
        port: impl PortName,
        message: &Outgoing<'_>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        let nothing = matches!(message.data, ValueRef::None);
        let ordinary = nothing && slot.is_none() && message.settings.is_none();
        if ordinary && self.send_ordinary(port, message.times()) {
            Ok(())
        } else {
            self.send_generally(port, message, slot)
        }
    }

    #[inline(never)]
    fn send_generally(
        &mut self,
        port: impl PortName,
        message: &Outgoing<'_>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        if self.may_be_tapped() {
            self.show(port, slot, message.times(), &message.data);
        }
        let Some(ready) = self.prepare(port, slot, message.times(), message.settings)? else { return Ok(()) };
        self.check_part(ready.port, shape_of(&message.data))?;
        self.send_ready(ready, message)
    }

    /// Sends a message that the library itself has made on a port without slots.
    pub(crate) fn send_own(&mut self, port: usize, message: &Outgoing<'_>) -> Result<(), Error> {
        match self.prepare_own(port, message.times(), &message.data)? {
            Some(ready) => self.send_ready(ready, message),
            None => Ok(()),
        }
    }

    /// Prepares a message that the library itself has made on a port without slots, and shows it to taps.
    /// Returns `None` if nothing is connected to the port.
    pub(crate) fn prepare_own(
        &mut self,
        port: usize,
        times: MessageTimes,
        data: &ValueRef<'_>,
    ) -> Result<Option<Ready>, Error> {
        if self.may_be_tapped() {
            let name = self.table.ports[port].name.clone();
            self.show(&*name, None, times, data);
        }
        self.prepare_at(port, 0, times, None)
    }

    /// Sends a prepared message, with a value of its own, on some of the channels of its port.
    pub(crate) fn send_own_to(
        &mut self,
        ready: &Ready,
        to: &[usize],
        data: &ValueRef<'_>,
    ) -> Result<(), Error> {
        let plan = match self.encoder.plan(data) {
            Ok(plan) => plan,
            Err(error) => return Err(self.unsendable(ready.port, ready.slot, &error.into())),
        };
        let sent = self.endpoint.send(to, ready.header, &plan);
        sent.map_err(|error| self.while_sending(error, ready.port, ready.slot))
    }

    fn send_ready(&mut self, ready: Ready, message: &Outgoing<'_>) -> Result<(), Error> {
        let Ready { port, slot, header } = ready;
        if self.table.ports[port].chains.is_some() {
            self.send_through_filters(port, slot, header, &message.data)?;
            return self.note_sending(Ok(()), port, slot);
        }
        if let ValueRef::None = message.data {
            let sent = pass_on(&mut self.endpoint, &mut self.table.ports[port], slot, header, &EmptySource);
            return self.note_sending(sent, port, slot);
        }
        let plan = match self.encoder.plan(&message.data) {
            Ok(plan) => plan,
            Err(error) => return Err(self.unsendable(port, slot, &error.into())),
        };
        let sent = pass_on(&mut self.endpoint, &mut self.table.ports[port], slot, header, &plan);
        self.note_sending(sent, port, slot)
    }

    /// Sends one array; otherwise as `send`. An array with contiguous elements takes less time, and one of
    /// the same kind as the previous array takes the least.
    pub fn send_array(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        array: ArrayRef<'_>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        if slot.is_none() && self.send_array_as_before(port, times, &array) {
            return Ok(());
        }
        if is_plain(&array) {
            return self.send_array_generally(port, times, array, slot);
        }
        let MessageTimes { timestamp, next_timestamp } = times;
        let data = ValueRef::Array(array);
        self.send_generally(port, &Outgoing { timestamp, next_timestamp, data, settings: None }, slot)
    }

    #[inline(never)]
    fn send_array_generally(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        array: ArrayRef<'_>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        if self.may_be_tapped() {
            self.show(port, slot, times, &ValueRef::Array(array));
        }
        let Some(ready) = self.prepare(port, slot, times, None)? else { return Ok(()) };
        let Ready { port, slot, header } = ready;
        self.check_part(port, Some(array.shape))?;
        if self.table.ports[port].chains.is_some() {
            self.send_through_filters(port, slot, header, &ValueRef::Array(array))?;
            return self.note_sending(Ok(()), port, slot);
        }
        let here = &mut self.table.ports[port];
        let head = here.head.get_or_insert_with(Box::default);
        match head.plan(array.dtype, array.shape, array.order, &mut self.heads) {
            Ok(bytes) if bytes == array.data.len() => {}
            Ok(bytes) => {
                let why = fault!(
                    UNFIT_ARRAY,
                    "{} bytes for an array of shape {:?}, which takes {bytes}",
                    array.data.len(),
                    array.shape
                );
                return Err(self.unsendable(port, slot, &why));
            }
            Err(error) => return Err(self.unsendable(port, slot, &error.into())),
        }
        let source = Contiguous { head: head.bytes(), number: head.number(), data: array.data };
        let sent = match &mut here.filtered {
            None => self.endpoint.send(&here.slots[slot], header, &source),
            Some(filtered) => filtered.send(&mut self.endpoint, slot, header, &source),
        };
        self.note_sending(sent, port, slot)
    }

    /// Sends `bytes` bytes as an array of `u8`, which `fill` writes straight into the memory that the receiver
    /// reads. `fill` gets memory of this length with arbitrary contents, and writes the same if it is called
    /// again.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_filled(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        timestamp: f64,
        (bytes, fill): (usize, impl Fn(&mut [u8])),
    ) -> Result<(), Error> {
        let times = MessageTimes { timestamp, next_timestamp: None };
        let (dtype, shape, order) = (DType::UInt8, [bytes as u64], ArrayOrder::RowMajor);
        let index = self.table.find(port)?;
        // Taps and filters read the value, so it has to be in memory before.
        if self.may_be_tapped() || self.table.ports[index].chains.is_some() {
            let mut data = vec![0; bytes];
            fill(&mut data);
            return self.send_array(port, times, ArrayRef::from_slice(&data, &shape, order), slot);
        }
        let Some(Ready { port, slot, header }) = self.prepare(port, slot, times, None)? else { return Ok(()) };
        self.check_part(port, Some(&shape))?;
        let here = &mut self.table.ports[port];
        let head = here.head.get_or_insert_with(Box::default);
        if let Err(error) = head.plan(dtype, &shape, order, &mut self.heads) {
            return Err(self.unsendable(port, slot, &error.into()));
        }
        let source = Filled { head: head.bytes(), number: head.number(), len: bytes, fill };
        let sent = match &mut here.filtered {
            None => self.endpoint.send(&here.slots[slot], header, &source),
            Some(filtered) => filtered.send(&mut self.endpoint, slot, header, &source),
        };
        self.note_sending(sent, port, slot)
    }

    #[cold]
    pub(crate) fn unsendable(&self, port: usize, slot: usize, why: &Fault) -> Error {
        let port = self.table.ports[port].describe(slot);
        let fault = fault!(UNFIT_ARRAY, "the value for port {port}: {why}").caused_by(why);
        Error::other(ErrorKind::Usage, fault)
    }

    /// Returns memory for an array, which the caller fills in place. A loan of more than 64 KiB is sent
    /// without a copy. A smaller one is copied, which is faster (`loan.rs` gives the reason).
    ///
    /// # Errors
    /// `OutOfMemory`. `Usage` if the shape is not possible.
    #[inline]
    pub fn loan(&mut self, dtype: DType, shape: &[u64], order: ArrayOrder) -> Result<Loan, Error> {
        self.alive()?;
        let Some(mut loan) = self.spare.alike(dtype, shape, order) else {
            return self.loan_with(dtype, shape, order, None);
        };
        if loan.lent().is_none() {
            loan.fill(self.memory_to_lend(loan.bytes())?);
        }
        Ok(loan)
    }

    /// Does the same as `loan`, with axis names and a unit.
    #[inline(never)]
    pub fn loan_with(
        &mut self,
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        meta: Option<ArrayMeta>,
    ) -> Result<Loan, Error> {
        self.alive()?;
        let unfit = |error: ligament_wire::WireError| Error::other(ErrorKind::Usage, error);
        let kind = ArrayKind::new(dtype, shape, order).map_err(unfit)?;
        if let Some(meta) = &meta {
            Preamble::default().plan_with(dtype, shape, order, meta).map_err(unfit)?;
        }
        let bytes = kind.bytes() as u64;
        if self.endpoint.drafts(bytes) {
            if let Some(loan) = self.spare.with_room(&kind, meta.as_ref()) {
                return Ok(loan);
            }
        }
        Ok(Loan::new(self.memory_to_lend(bytes)?, kind, meta))
    }

    #[inline]
    fn memory_to_lend(&mut self, bytes: u64) -> Result<LoanMemory, Error> {
        self.endpoint.loan(bytes).map_err(|error| Error::during(error, || format!("a loan of {bytes} bytes")))
    }

    /// Returns a handle that keeps the pages of a loan mapped, even after the send. This is for languages
    /// in which views of the loan may still exist then. Code that writes to such a view damages a message,
    /// but does not crash.
    pub fn loan_pages(&self, loan: &Loan) -> Arc<dyn Any + Send + Sync> {
        self.endpoint.loan_pages(loan)
    }

    /// Sends the array in a loan. The loan is gone afterwards, even after an error.
    ///
    /// # Errors
    /// As `send`.
    #[inline]
    pub fn send_loan(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        loan: Loan,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        self.send_loan_under(port, times, loan, slot, None)
    }

    /// Does the same as `send_loan`, with the settings overlay that the message belongs to (see
    /// `Outgoing::settings`).
    #[inline]
    pub fn send_loan_under(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        loan: Loan,
        slot: Option<u32>,
        settings: Option<&Settings>,
    ) -> Result<(), Error> {
        if slot.is_none() && settings.is_none() && self.send_array_as_before(port, times, &loan) {
            self.return_loan(loan);
            return Ok(());
        }
        self.send_loan_generally(port, times, loan, slot, settings)
    }

    #[inline(never)]
    fn send_loan_generally(
        &mut self,
        port: impl PortName,
        times: MessageTimes,
        mut loan: Loan,
        slot: Option<u32>,
        settings: Option<&Settings>,
    ) -> Result<(), Error> {
        if self.may_be_tapped() {
            self.show(port, slot, times, &ValueRef::Array(loan.array()));
        }
        let Ready { port, slot, header } = match self.prepare(port, slot, times, settings) {
            Ok(Some(ready)) => ready,
            nowhere_or_error => {
                self.return_loan(loan);
                return nowhere_or_error.map(|_| ());
            }
        };
        if let Err(error) = self.check_part(port, Some(loan.shape())) {
            self.return_loan(loan);
            return Err(error);
        }
        if self.table.ports[port].chains.is_some() {
            let sent = self.send_through_filters(port, slot, header, &ValueRef::Array(loan.array()));
            self.return_loan(loan);
            sent?;
            return self.note_sending(Ok(()), port, slot);
        }
        let (dtype, shape, order) = (loan.dtype(), loan.shape(), loan.order());
        let here = &mut self.table.ports[port];
        let planned_head = here.head.get_or_insert_with(Box::default);
        let planned = match loan.meta() {
            None => planned_head.plan(dtype, shape, order, &mut self.heads).map(|_| ()),
            Some(meta) => planned_head.plan_with(dtype, shape, order, meta),
        };
        planned.expect("it was checked when the loan was given");
        let (head, body_len) = ((planned_head.bytes(), planned_head.number()), planned_head.body_len());
        let sent = match &mut here.filtered {
            None => self.endpoint.send_loan(&here.slots[slot], header, &mut loan, head, body_len),
            Some(filtered) => {
                let source = Contiguous { head: head.0, number: head.1, data: loan.bytes_mut() };
                let sent = filtered.send(&mut self.endpoint, slot, header, &source);
                self.endpoint.return_loan(&mut loan);
                sent
            }
        };
        self.spare.put(loan);
        self.note_sending(sent, port, slot)
    }

    /// Takes a loan back without sending it.
    #[inline]
    pub fn return_loan(&mut self, mut loan: Loan) {
        self.endpoint.return_loan(&mut loan);
        self.spare.put(loan);
    }

    /// Does the work that every send needs before the value: finds the port, notes its use and the time,
    /// and sends the receivers the settings overlay and the slot, which must arrive before the message.
    /// Returns `None` if the port is not connected, so that there is nothing to send.
    fn prepare(
        &mut self,
        port: impl PortName,
        slot: Option<u32>,
        times: MessageTimes,
        settings: Option<&Settings>,
    ) -> Result<Option<Ready>, Error> {
        self.alive()?;
        let has_slot = slot.is_some();
        let (port, slot) = self.sending(port, slot)?;
        let ready = self.prepare_at(port, slot, times, settings)?;
        if ready.is_some() && has_slot && self.table.ports[port].resizable.is_some() {
            self.mark_slot(port, slot)?;
        }
        Ok(ready)
    }

    /// Does the same for a port and slot by their indices.
    fn prepare_at(
        &mut self,
        port: usize,
        slot: usize,
        times: MessageTimes,
        settings: Option<&Settings>,
    ) -> Result<Option<Ready>, Error> {
        self.note_use(port)?;
        self.check_times(port, slot, times)?;
        if self.unconnected(port, slot) {
            return Ok(None);
        }
        let times =
            if self.table.ports[port].clocked.is_some() { self.clocked_times(port, times)? } else { times };
        let here = &self.table.ports[port];
        if self.order.sends_once(here.operator) && here.sent.is_complete(slot) {
            return Err(SendError::SecondFinal { port: here.describe(slot), at: times.timestamp }.into());
        }
        self.note_final(port, slot)?;
        self.note_time(port, slot, times.timestamp)?;
        self.compare_with_scales(port, times)?;
        let overlay = match settings {
            Some(settings) => self.overlays.number_of(settings),
            None => self.overlays.number(),
        };
        if overlay != 0 {
            self.announce_overlay(port, slot, overlay)?;
        }
        let mut header = HeaderWords::data(times.timestamp, times.next_timestamp);
        header.set_overlay(overlay);
        Ok(Some(Ready { port, slot, header }))
    }

    /// Returns the indices of a port and slot, if the port sends.
    #[inline(always)]
    fn sending(&self, port: impl PortName, slot: Option<u32>) -> Result<(usize, usize), Error> {
        let index = self.table.find(port)?;
        let here = &self.table.ports[index];
        if !here.operator.sends() {
            return Err(here.receives_only());
        }
        if here.carries_events() {
            return Err(here.carries_no_messages("insert_events"));
        }
        Ok((index, here.slot(slot)?))
    }

    /// Fails if a message cannot have these times.
    #[inline(always)]
    fn check_times(&self, port: usize, slot: usize, times: MessageTimes) -> Result<(), Error> {
        if times.are_sound() {
            Ok(())
        } else {
            Err(self.unsendable(port, slot, &times.fault().into()))
        }
    }

    /// Compares the first step between two messages with the scales that the model gives the component.
    /// This finds a code that counts in days although the model does not say so.
    #[inline]
    fn compare_with_scales(&mut self, port: usize, times: MessageTimes) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        match times.next_timestamp {
            Some(next) if !here.sent.compared && here.operator == Operator::OI => {
                here.sent.compared = true;
                self.warn_of_scales(port, next - times.timestamp)
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn warn_of_scales(&mut self, port: usize, step: f64) -> Result<(), Error> {
        /// Factor beyond which a difference is reported. A code may send more often than once in each step,
        /// but units differ by more than this.
        const FACTOR: f64 = 10.0;
        let [least, most] = ["scale.time_step", "scale.total_time"].map(|name| self.known_number(name));
        let why = match (least, most) {
            (Some(least), _) if step > 0.0 && step < least / FACTOR => {
                format!("is {}", ShownTime(least))
            }
            (_, Some(most)) if step > most * FACTOR => format!("is no more than {}", ShownTime(most)),
            _ => return Ok(()),
        };
        let text = format!(
            "port \"{}\": messages of {} are {} apart, and its time step {why} by the scales of the model: if \
             the code counts in another unit than the model, write that unit as time_unit under \"ligament:\" \
             into the model file",
            self.table.ports[port].name,
            self.name(),
            ShownTime(step)
        );
        self.log(LogLevel::Warning, &text)
    }

    /// Reports a second `O_F` message of a code that does not use the reuse loop.
    #[inline]
    fn note_final(&mut self, port: usize, slot: usize) -> Result<(), Error> {
        let here = &self.table.ports[port];
        if here.sent.is_silent(slot) {
            return Ok(());
        }
        match self.order.sent_again(here.operator) {
            None => Ok(()),
            Some(deviation) => {
                let text = format!("port {}: {} {deviation}", here.describe(slot), self.name());
                self.log(LogLevel::Warning, &text)
            }
        }
    }

    /// Notes the timestamp of a message. A timestamp that goes back is reported once for each port, and the
    /// message is sent: MUSCLE 3 allows any order, and a code that repeats a step has a reason to go back.
    #[inline]
    fn note_time(&mut self, port: usize, slot: usize, timestamp: f64) -> Result<(), Error> {
        let here = &mut self.table.ports[port];
        match here.sent.note(slot, timestamp) {
            None => Ok(()),
            Some(before) => {
                let (timestamp, before) = (ShownTime(timestamp), ShownTime(before));
                let text = format!(
                    "port {}: {} sends timestamp {timestamp} after {before} in the same pass of the loop; \
                     receivers may count on times that do not go back",
                    here.describe(slot),
                    self.name()
                );
                self.log(LogLevel::Warning, &text)
            }
        }
    }

    /// Turns the result of a send into the result of the call. An `O_F` message that was sent is noted as
    /// the only one of its pass.
    #[inline]
    fn note_sending(&mut self, sent: Result<(), ShmError>, port: usize, slot: usize) -> Result<(), Error> {
        if let Err(error) = sent {
            return Err(self.while_sending(error, port, slot));
        }
        let here = &mut self.table.ports[port];
        if self.order.sends_once(here.operator) {
            here.sent.complete(slot);
        }
        if here.clocked.is_some() {
            self.note_sample(port);
        }
        Ok(())
    }

    #[inline(always)]
    fn unconnected(&self, port: usize, slot: usize) -> bool {
        self.table.ports[port].slots.get(slot).is_none_or(|channels| channels.is_empty())
    }

    /// Sends an overlay to the receivers of a slot that do not know it yet.
    pub(crate) fn announce_overlay(&mut self, port: usize, slot: usize, number: u32) -> Result<(), Error> {
        // A filter may let go what it has held for a slot that a resizable port has no more.
        let to = self.table.ports[port].channels_at(slot);
        if self.endpoint.knows_overlay(to, number) {
            return Ok(());
        }
        let wire = to_wire(self.overlays.known(number));
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&value_ref(&wire)).map_err(|error| Error::other(ErrorKind::Usage, error))?;
        self.endpoint.announce_overlay(to, number, &plan).map_err(|error| self.while_sending(error, port, slot))
    }

    #[cold]
    pub(crate) fn while_sending(&self, error: ShmError, port: usize, slot: usize) -> Error {
        let here = &self.table.ports[port];
        Error::during(error, || format!("sending on port {} of {}", here.describe(slot), self.name()))
    }
}

/// Sends a message on a slot, directly or through the port's filter `last`.
#[inline]
fn pass_on(
    endpoint: &mut Transport,
    port: &mut PortState,
    slot: usize,
    header: HeaderWords,
    source: &impl Source,
) -> Result<(), ShmError> {
    match &mut port.filtered {
        None => endpoint.send(&port.slots[slot], header, source),
        Some(filtered) => filtered.send(endpoint, slot, header, source),
    }
}

/// Returns the shape of a value that is an array.
fn shape_of<'a>(value: &'a ValueRef<'_>) -> Option<&'a [u64]> {
    match value {
        ValueRef::Array(array) => Some(array.shape),
        ValueRef::Owned(Value::Array(array)) => Some(array.shape()),
        _ => None,
    }
}
