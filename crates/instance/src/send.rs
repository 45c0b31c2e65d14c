//! Sending: values over the caller's memory, and loans.

use crate::error::Error;
use crate::instance::Instance;
use crate::message::{Loan, Outgoing, Times};
use crate::overlay::{to_wire, value_ref};
use ligament_shm::endpoint::{Contiguous, Nothing};
use ligament_wire::{array_head, ArrayKind, ArrayMeta, ArrayRef, DType, Encoder, HeaderWords, Order, ValueRef};

impl Instance {
    /// Sends a message on a port (and slot of a vector port). Returns as soon as the value is stored: what the
    /// caller does with its memory afterwards is never seen. Blocks only while the conduit's budget is spent.
    /// Nothing happens on a port that is not connected.
    ///
    /// # Errors
    /// `Usage` for a port that is not there or does not send; `OutOfMemory`; `RunEnds`; `Interrupted`.
    #[inline]
    pub fn send(&mut self, port: &str, message: &Outgoing<'_>, slot: Option<u32>) -> Result<(), Error> {
        self.alive()?;
        let (port, slot) = self.sending(port, slot)?;
        self.note_use(port)?;
        if self.unconnected(port, slot) {
            return Ok(());
        }
        let mut header = self.header(message.times());
        if let Some(settings) = message.settings {
            header.set_overlay(self.overlays.number_of(settings));
        }
        if header.overlay() != 0 {
            self.announce_overlay(port, slot, header.overlay())?;
        }
        if let ValueRef::None = message.data {
            let to = &self.table.ports[port].slots[slot];
            let sent = self.endpoint.send(to, header, &Nothing);
            return sent.map_err(|error| self.while_sending(error, port, slot));
        }
        let plan = match self.encoder.plan(&message.data) {
            Ok(plan) => plan,
            Err(error) => return Err(self.unsendable(port, slot, &error.to_string())),
        };
        let to = &self.table.ports[port].slots[slot];
        self.endpoint.send(to, header, &plan).map_err(|error| self.while_sending(error, port, slot))
    }

    /// Sends one array; else as `send`. An array whose elements lie together takes the shortest way.
    #[inline]
    pub fn send_array(
        &mut self,
        port: &str,
        times: Times,
        array: &ArrayRef<'_>,
        slot: Option<u32>,
    ) -> Result<(), Error> {
        if array.strides.is_some() || !array.names.is_empty() || array.unit.is_some() || array.offset != 0 {
            let Times { timestamp, next_timestamp } = times;
            let message = Outgoing { timestamp, next_timestamp, data: ValueRef::Array(*array), settings: None };
            return self.send(port, &message, slot);
        }
        self.alive()?;
        let (port, slot) = self.sending(port, slot)?;
        self.note_use(port)?;
        if self.unconnected(port, slot) {
            return Ok(());
        }
        let header = self.header(times);
        if header.overlay() != 0 {
            self.announce_overlay(port, slot, header.overlay())?;
        }
        match self.plan_head(array.dtype, array.shape, array.order) {
            Ok(bytes) if bytes == array.data.len() => {}
            Ok(bytes) => {
                let text = format!(
                    "{} bytes for an array of shape {:?}, which takes {bytes}",
                    array.data.len(),
                    array.shape
                );
                return Err(self.unsendable(port, slot, &text));
            }
            Err(error) => return Err(self.unsendable(port, slot, &error)),
        }
        let source = Contiguous { head: &self.head, data: array.data };
        let to = &self.table.ports[port].slots[slot];
        self.endpoint.send(to, header, &source).map_err(|error| self.while_sending(error, port, slot))
    }

    /// Has the head for a contiguous array in `self.head`, and says how many bytes its elements take. The array
    /// before was mostly alike, so that there is nothing to do.
    #[inline]
    fn plan_head(&mut self, dtype: DType, shape: &[u64], order: Order) -> Result<usize, String> {
        match self.head_kind {
            Some(kind) if kind.is(dtype, shape, order) => Ok(kind.bytes()),
            _ => self.plan_head_anew(dtype, shape, order),
        }
    }

    #[cold]
    fn plan_head_anew(&mut self, dtype: DType, shape: &[u64], order: Order) -> Result<usize, String> {
        self.head_kind = None;
        array_head(dtype, shape, order, None, &mut self.head).map_err(|error| error.to_string())?;
        let kind = ArrayKind::new(dtype, shape, order).map_err(|error| error.to_string())?;
        self.head_kind = Some(kind);
        Ok(kind.bytes())
    }

    #[cold]
    fn unsendable(&self, port: usize, slot: usize, why: &str) -> Error {
        Error::Usage(format!("what is to be sent on port {}: {why}", self.table.ports[port].describe(slot)))
    }

    /// Memory for an array, to be filled in place and sent without a copy.
    ///
    /// # Errors
    /// `OutOfMemory`; `Usage` for a shape that cannot be.
    pub fn loan(&mut self, dtype: DType, shape: &[u64], order: Order) -> Result<Loan, Error> {
        self.loan_with(dtype, shape, order, None)
    }

    /// As `loan`, with axis names and a unit.
    pub fn loan_with(
        &mut self,
        dtype: DType,
        shape: &[u64],
        order: Order,
        meta: Option<ArrayMeta>,
    ) -> Result<Loan, Error> {
        self.alive()?;
        let bytes = if meta.is_none() {
            self.plan_head(dtype, shape, order).map_err(Error::Usage)? as u64
        } else {
            self.head_kind = None;
            array_head(dtype, shape, order, meta.as_ref(), &mut self.head)
                .map_err(|error| Error::Usage(error.to_string()))?
                .saturating_sub(ligament_wire::align_part(self.head.len() as u64))
        };
        let inner = self
            .endpoint
            .loan(bytes)
            .map_err(|error| Error::during(error, || format!("a loan of {bytes} bytes")))?;
        Ok(Loan { inner, dtype, shape: shape.to_vec(), order, meta })
    }

    /// Sends what a loan holds, without a copy. The loan is gone, also after an error.
    ///
    /// # Errors
    /// As `send`.
    pub fn send_loan(&mut self, port: &str, times: Times, loan: Loan, slot: Option<u32>) -> Result<(), Error> {
        let checked = self.alive().and_then(|()| self.sending(port, slot)).and_then(|(port, slot)| {
            self.note_use(port)?;
            Ok((port, slot))
        });
        let (port, slot) = match checked {
            Ok(found) => found,
            Err(error) => {
                self.endpoint.return_loan(loan.inner);
                return Err(error);
            }
        };
        if self.unconnected(port, slot) {
            self.endpoint.return_loan(loan.inner);
            return Ok(());
        }
        let header = self.header(times);
        if header.overlay() != 0 {
            if let Err(error) = self.announce_overlay(port, slot, header.overlay()) {
                self.endpoint.return_loan(loan.inner);
                return Err(error);
            }
        }
        let body_len = match &loan.meta {
            None => self
                .plan_head(loan.dtype, &loan.shape, loan.order)
                .map(|bytes| ligament_wire::align_part(self.head.len() as u64) + bytes as u64),
            Some(meta) => {
                self.head_kind = None;
                array_head(loan.dtype, &loan.shape, loan.order, Some(meta), &mut self.head)
                    .map_err(|error| error.to_string())
            }
        }
        .expect("it was checked when the loan was given");
        let to = &self.table.ports[port].slots[slot];
        self.endpoint
            .send_loan(to, header, loan.inner, &self.head, body_len)
            .map_err(|error| self.while_sending(error, port, slot))
    }

    /// Takes a loan back unsent.
    pub fn return_loan(&mut self, loan: Loan) {
        self.endpoint.return_loan(loan.inner);
    }

    /// Finds a sending port.
    #[inline]
    fn sending(&self, port: &str, slot: Option<u32>) -> Result<(usize, usize), Error> {
        let index = self.table.find(port)?;
        let here = &self.table.ports[index];
        if !here.operator.sends() {
            return Err(Error::Usage(format!(
                "port \"{port}\" is an {} port, which receives; send on O_I and O_F ports",
                here.operator.name()
            )));
        }
        Ok((index, here.slot(slot)?))
    }

    #[inline]
    fn unconnected(&self, port: usize, slot: usize) -> bool {
        self.table.ports[port].slots.get(slot).is_none_or(|channels| channels.is_empty())
    }

    #[inline]
    fn header(&self, times: Times) -> HeaderWords {
        let mut header = HeaderWords::data(times.timestamp, times.next_timestamp);
        header.set_overlay(self.overlays.number());
        header
    }

    /// Tells the receivers of a slot an overlay, those that do not know it yet.
    fn announce_overlay(&mut self, port: usize, slot: usize, number: u32) -> Result<(), Error> {
        let to = &self.table.ports[port].slots[slot];
        if self.endpoint.knows_overlay(to, number) {
            return Ok(());
        }
        let wire = to_wire(self.overlays.known(number));
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&value_ref(&wire)).map_err(|error| Error::Setting(error.to_string()))?;
        self.endpoint.announce_overlay(to, number, &plan).map_err(|error| self.while_sending(error, port, slot))
    }

    #[cold]
    fn while_sending(&self, error: ligament_shm::ShmError, port: usize, slot: usize) -> Error {
        let here = &self.table.ports[port];
        Error::during(error, || format!("sending on port {}", here.describe(slot)))
    }
}
