//! The part of a grid that one block has: its place, its fields, and the exchange of ghosts with its
//! neighbours.

use crate::error::GridError;
use crate::pieces::{Neighbour, Piece};
use crate::region::Region;
use crate::window::Window;
use ligament_instance::{Error, Instance, OpenExchange, Outgoing};
use ligament_model::{block_range, Blocks, Edges, AXES, GHOSTS_IN, GHOSTS_OUT, MAX_GRID_DIMENSIONS};
use ligament_surface::Encoder;
use ligament_wire::control::{GridEdges, GridInfo};
use ligament_wire::times::ShownTime;
use ligament_wire::{ArrayOrder, DType, Value, ValueRef};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

mod reduction;

/// A field: a number at each point of the grid. Each block keeps its points, and the ghosts around them, in one
/// array. The array has the shape of the block with twice the number of ghosts more along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    unit: String,
    dtype: DType,
    ghosts: usize,
    order: ArrayOrder,
    /// The direction in which the values travel, -1, 0 or 1 along each axis. Without one, they are needed at
    /// all sides.
    direction: Option<Vec<i8>>,
}

impl Field {
    /// Makes the description of a field of doubles in row-major order, without a unit and without ghosts.
    pub fn new(name: impl Into<String>) -> Field {
        Field {
            name: name.into(),
            unit: String::new(),
            dtype: DType::Float64,
            ghosts: 0,
            order: ArrayOrder::RowMajor,
            direction: None,
        }
    }

    /// Sets the number of ghosts beyond the block at each of its sides, along each axis.
    pub fn with_ghosts(self, ghosts: usize) -> Field {
        Field { ghosts, ..self }
    }

    /// Sets the unit.
    pub fn with_unit(self, unit: impl Into<String>) -> Field {
        Field { unit: unit.into(), ..self }
    }

    /// Sets the type of the elements.
    pub fn with_dtype(self, dtype: DType) -> Field {
        Field { dtype, ..self }
    }

    /// Sets the order of the elements in memory. In row-major order, the last axis runs fastest, as in C; in
    /// column-major order the first one, as in Fortran.
    pub fn with_order(self, order: ArrayOrder) -> Field {
        Field { order, ..self }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The unit; empty if there is none.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The number of ghosts.
    pub fn ghosts(&self) -> usize {
        self.ghosts
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns true if a neighbour at this side of a block needs the block's values.
    fn travels_to(&self, side: &[i8]) -> bool {
        let Some(direction) = &self.direction else { return true };
        side.iter().zip(direction).all(|(side, step)| *side == 0 || side == step)
    }

    /// The order of the elements in memory.
    pub fn order(&self) -> ArrayOrder {
        self.order
    }

    fn describe(&self) -> String {
        let Field { name, unit, dtype, ghosts, order, direction } = self;
        let direction = direction.as_ref().map_or(String::new(), |steps| format!(", towards {steps:?}"));
        let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
        // A field without ghosts needs no exchange.
        let order = match order {
            _ if *ghosts == 0 => "",
            ArrayOrder::RowMajor => ", row-major",
            ArrayOrder::ColumnMajor => ", column-major",
        };
        format!("\"{name}\"{unit} ({}, {ghosts} ghosts{order}{direction})", dtype.name())
    }
}

/// The number of a field in its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldId(pub usize);

/// The array of a field. `bytes` is all of it, with the ghosts.
#[derive(Debug)]
pub struct FieldData<'a> {
    pub field: FieldId,
    pub bytes: &'a mut [u8],
}

/// The messages and copies of an exchange of certain fields.
#[derive(Debug)]
struct ExchangePlan {
    /// The description of the fields, by which neighbours see that they exchange the same.
    fields: Arc<str>,
    neighbours: Vec<Neighbour>,
    /// Copies within this block, where the grid is periodic and one block wide: field, source and destination.
    own: Vec<(usize, Region, Region)>,
    /// Copies beyond mirrored edges of the block's own points, in their order.
    mirrored: Vec<(usize, Region, Region)>,
    /// Copies beyond mirrored edges of ghosts along other axes, in their order.
    mirrored_ghosts: Vec<(usize, Region, Region)>,
}

/// An exchange that has begun and not ended.
#[derive(Debug)]
struct Begun {
    /// The fields, and the addresses of their arrays.
    fields: Vec<(FieldId, usize)>,
    time: f64,
}

/// The part of a grid that this block has.
#[derive(Debug)]
pub struct Domain {
    shape: Vec<u64>,
    blocks: Blocks,
    block: usize,
    range: Vec<(u64, u64)>,
    /// The name of the component, for texts that people read.
    component: String,
    fields: Vec<Field>,
    plans: HashMap<Vec<FieldId>, Arc<ExchangePlan>>,
    /// The exchange that has begun and not ended.
    begun: Option<Begun>,
    /// The time of the last exchange.
    time: f64,
    /// The time of the last exchange of each field, if there was one.
    field_times: Vec<Option<f64>>,
    /// Makes the surfaces that taps want, and keeps its memory.
    encoder: RefCell<Encoder>,
}

impl Domain {
    /// Makes the domain of an instance or rank that is a block of a grid.
    ///
    /// # Errors
    /// `Usage` if the model gives the component no grid.
    pub fn new(instance: &Instance) -> Result<Domain, Error> {
        let name = instance.name().to_owned();
        let Some(info) = instance.grid() else {
            let component = component_of(&name);
            return Err(GridError::NoGrid { instance: name, component }.into());
        };
        let valid = |info: &GridInfo| {
            let axes = info.shape.len();
            let counts = info.blocks.iter().map(|count| u64::from(*count));
            let blocks = counts.fold(1, u64::saturating_mul);
            let tiles = info.shape.iter().zip(&info.blocks).all(|(points, count)| u64::from(*count) <= *points);
            (1..=MAX_GRID_DIMENSIONS).contains(&axes)
                && [info.blocks.len(), info.edges.len()] == [axes; 2]
                && tiles
                && u64::from(info.block) < blocks
        };
        if !valid(info) {
            return Err(GridError::Malformed { instance: name }.into());
        }
        let edges = info.edges.iter().map(|edges| match edges {
            GridEdges::Open => Edges::Open,
            GridEdges::Periodic => Edges::Periodic,
            GridEdges::Mirrored => Edges::Mirrored,
        });
        let counts = info.blocks.iter().map(|count| *count as usize).collect();
        let blocks = Blocks { counts, edges: edges.collect() };
        let block = info.block as usize;
        let places = info.shape.iter().zip(&blocks.counts).zip(blocks.place(block));
        let range = places.map(|((points, count), place)| block_range(*points, *count, place)).collect();
        Ok(Domain {
            shape: info.shape.clone(),
            blocks,
            block,
            range,
            component: component_of(&name),
            fields: Vec::new(),
            plans: HashMap::new(),
            begun: None,
            time: 0.0,
            field_times: Vec::new(),
            encoder: RefCell::default(),
        })
    }

    pub(crate) fn encoder(&self) -> &RefCell<Encoder> {
        &self.encoder
    }

    /// The number of points of the whole grid along each axis.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of blocks along each axis.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks.counts
    }

    /// The edges of the grid along each axis.
    pub fn edges(&self) -> &[Edges] {
        &self.blocks.edges
    }

    /// The number of this block. The last axis runs fastest.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Along each axis: the index of this block's first point, and the index after its last point.
    pub fn range(&self) -> &[(u64, u64)] {
        &self.range
    }

    /// Returns true if an edge of the whole grid is at this block's lower or upper side along an axis.
    pub fn at_edge(&self, axis: usize) -> [bool; 2] {
        match (self.range.get(axis), self.shape.get(axis)) {
            (Some((begin, end)), Some(points)) => [*begin == 0, end == points],
            _ => [false; 2],
        }
    }

    /// The name of this block, for texts that people read.
    pub fn block_name(&self) -> String {
        self.name_of(self.block)
    }

    /// The fields, in the order in which they were added.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Adds a field.
    ///
    /// # Errors
    /// `Usage` if the name is taken or empty, or if a block is narrower than the ghosts that its neighbour
    /// needs.
    pub fn add_field(&mut self, field: Field) -> Result<FieldId, Error> {
        if field.name.is_empty() || self.fields.iter().any(|known| known.name == field.name) {
            return Err(GridError::FieldName { field: field.name }.into());
        }
        for (axis, (points, count)) in self.shape.iter().zip(&self.blocks.counts).enumerate() {
            let smallest = points / *count as u64;
            let is_needed = *count > 1 || self.blocks.edges[axis] != Edges::Open;
            if is_needed && field.ghosts as u64 > smallest {
                let (ghosts, axis) = (field.ghosts, AXES[axis]);
                return Err(GridError::WideGhosts { field: field.name, ghosts, points: smallest, axis }.into());
            }
        }
        let lengths = self
            .range
            .iter()
            .map(|(begin, end)| usize::try_from(end - begin).ok()?.checked_add(field.ghosts.checked_mul(2)?));
        let elements = lengths.into_iter().try_fold(1usize, |all, length| all.checked_mul(length?));
        let bytes = elements.and_then(|elements| elements.checked_mul(field.dtype.size()));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(GridError::FieldSize { field: field.name }.into());
        }
        self.fields.push(field);
        self.field_times.push(None);
        Ok(FieldId(self.fields.len() - 1))
    }

    /// Says in which direction the values of a field travel: -1, 0 or 1 along each axis. An exchange then fills
    /// only the ghosts from which a value comes into the block in this direction, and leaves those at other
    /// sides between blocks as they are. Ghosts beyond mirrored edges are filled as those of other fields.
    /// All blocks give the same directions.
    ///
    /// # Errors
    /// `Usage` if there is no such field, if the direction is none of this grid's, or if an exchange has begun.
    pub fn set_direction(&mut self, id: FieldId, direction: &[i32]) -> Result<(), Error> {
        if self.begun.is_some() {
            return Err(GridError::Begun.into());
        }
        let axes = self.shape.len();
        let Some(field) = self.fields.get_mut(id.0) else {
            return Err(GridError::NoField { field: id.0 }.into());
        };
        if direction.len() != axes || direction.iter().any(|step| step.unsigned_abs() > 1) {
            let (field, direction) = (field.name.clone(), direction.to_vec());
            return Err(GridError::Direction { field, direction, axes }.into());
        }
        field.direction = Some(direction.iter().map(|step| *step as i8).collect());
        self.plans.retain(|ids, _| !ids.contains(&id));
        Ok(())
    }

    /// Checks that an array of this shape can be that of a field: the block with its ghosts.
    ///
    /// # Errors
    /// `Usage` if it is another shape.
    pub fn check_shape(&self, field: &Field, shape: &[u64]) -> Result<(), Error> {
        let wide =
            |(begin, end): &(u64, u64)| (end - begin).saturating_add((field.ghosts as u64).saturating_mul(2));
        let expected: Vec<u64> = self.range.iter().map(wide).collect();
        if expected == shape {
            return Ok(());
        }
        Err(GridError::FieldShape { field: field.name.clone(), expected, shape: shape.to_vec() }.into())
    }

    /// Checks that an array can be that of a field that was added.
    ///
    /// # Errors
    /// `Usage` if it is of another type, order or shape.
    pub fn check_array(
        &self,
        id: FieldId,
        dtype: DType,
        order: ArrayOrder,
        shape: &[u64],
    ) -> Result<(), Error> {
        let Some(field) = self.fields.get(id.0) else { return Err(GridError::NoField { field: id.0 }.into()) };
        self.check_shape(field, shape)?;
        // With one axis, or none that is longer than 1, both orders are the same.
        let one_order = shape.iter().filter(|length| **length > 1).count() <= 1;
        if dtype != field.dtype || !(one_order || order == field.order) {
            let (field, expected) = (field.name.clone(), field.describe());
            return Err(GridError::FieldKind { field, expected }.into());
        }
        Ok(())
    }

    /// Returns the shape of the array of a field: the block with its ghosts. It is empty for an unknown field.
    pub fn array_shape(&self, field: FieldId) -> Vec<usize> {
        let Some(field) = self.fields.get(field.0) else { return Vec::new() };
        self.range.iter().map(|(begin, end)| (end - begin) as usize + 2 * field.ghosts).collect()
    }

    /// Returns the number of elements of the array of a field, with its ghosts.
    pub fn elements(&self, field: FieldId) -> usize {
        self.array_shape(field).iter().product()
    }

    /// Fills the ghosts of fields with the points of the neighbouring blocks, at corners too. All blocks must
    /// make the same calls. Where an edge of the grid is periodic or mirrored, the ghosts beyond it are filled,
    /// too; other ghosts beyond edges stay as they are. `time` is the model time of the fields.
    ///
    /// # Errors
    /// `Usage` if an array is of another size than its field, `Unexpected` if a neighbour exchanges other
    /// fields or is at another time; and the errors of `Instance::send` and `Instance::receive`.
    pub fn exchange(
        &mut self,
        instance: &mut Instance,
        time: f64,
        fields: &mut [FieldData<'_>],
    ) -> Result<(), Error> {
        let plan = self.start(instance, time, fields)?;
        self.hear_fields(instance, time, &plan)?;
        let mut arrays = arrays(fields);
        // Where values travel in one direction, more pieces may come from a neighbour than go to it.
        let both = |neighbour: &Neighbour| neighbour.outgoing.len().max(neighbour.incoming.len());
        let pieces = plan.neighbours.iter().map(both).max().unwrap_or(0);
        // A block sends each piece before it receives the piece before: then neither of two neighbours waits
        // for a piece that the other one has not begun to pack.
        for number in 0..=pieces {
            for neighbour in &plan.neighbours {
                if let Some(piece) = neighbour.outgoing.get(number) {
                    self.send_piece(instance, time, &arrays, neighbour, piece)?;
                }
            }
            let Some(earlier) = number.checked_sub(1) else { continue };
            for neighbour in &plan.neighbours {
                if let Some(piece) = neighbour.incoming.get(earlier) {
                    self.receive_piece(instance, (time, &plan), &mut arrays, neighbour, piece)?;
                }
            }
        }
        fill_own(&mut arrays, &plan);
        fill_behind(&mut arrays, &plan);
        self.complete(instance, time, fields);
        Ok(())
    }

    /// Begins an exchange: sends what the neighbours need, and does not wait while the budgets of the channels
    /// last. Meanwhile the code may do work that needs no ghosts, and change its fields: the messages have
    /// copies, and ghosts that need no message are filled here. `end` fills the others.
    ///
    /// # Errors
    /// As `exchange`.
    pub fn begin(
        &mut self,
        instance: &mut Instance,
        time: f64,
        fields: &mut [FieldData<'_>],
    ) -> Result<(), Error> {
        let plan = self.start(instance, time, fields)?;
        let mut arrays = arrays(fields);
        for neighbour in &plan.neighbours {
            for piece in &neighbour.outgoing {
                self.send_piece(instance, time, &arrays, neighbour, piece)?;
            }
        }
        // At the end, the code may have changed the points that these ghosts are copies of.
        fill_own(&mut arrays, &plan);
        instance.grid_progress().open = Some(OpenExchange::Begun);
        let fields = fields.iter().map(|data| (data.field, data.bytes.as_ptr() as usize));
        self.begun = Some(Begun { fields: fields.collect(), time });
        Ok(())
    }

    /// Ends the exchange that `begin` has begun: fills the ghosts of the same fields, with the numbers that
    /// their points had at `begin`.
    ///
    /// # Errors
    /// As `exchange`; `Usage` if no exchange has begun, or one with other fields or arrays.
    pub fn end(&mut self, instance: &mut Instance, fields: &mut [FieldData<'_>]) -> Result<(), Error> {
        let Some(begun) = &self.begun else { return Err(GridError::NotBegun.into()) };
        let ids: Vec<FieldId> = begun.fields.iter().map(|(field, _)| *field).collect();
        if !ids.iter().eq(fields.iter().map(|data| &data.field)) {
            return Err(GridError::OtherFields { begun: self.describe(&ids) }.into());
        }
        for ((id, address), data) in begun.fields.iter().zip(fields.iter()) {
            if *address != data.bytes.as_ptr() as usize {
                return Err(GridError::OtherArray { field: self.fields[id.0].name.clone() }.into());
            }
        }
        let time = begun.time;
        let plan = self.plan_of(fields)?;
        self.begun = None;
        instance.grid_progress().open = Some(OpenExchange::Within);
        self.hear_fields(instance, time, &plan)?;
        let mut arrays = arrays(fields);
        for neighbour in &plan.neighbours {
            for piece in &neighbour.incoming {
                self.receive_piece(instance, (time, &plan), &mut arrays, neighbour, piece)?;
            }
        }
        fill_behind(&mut arrays, &plan);
        self.complete(instance, time, fields);
        Ok(())
    }

    /// Notes that an exchange is at its end.
    fn complete(&mut self, instance: &mut Instance, time: f64, fields: &[FieldData<'_>]) {
        self.time = time;
        fields.iter().for_each(|data| self.field_times[data.field.0] = Some(time));
        instance.grid_progress().open = None;
    }

    /// Shows a field to the taps of the port with the field's name, at the time of the last exchange of the
    /// field. Nothing is joined to this port. While no tap asks for a value, nothing is copied or computed. A
    /// block calls this after an exchange, before the points of the field change, so that the ghosts fit them.
    /// `bytes` is the array of the field, with the ghosts.
    ///
    /// # Errors
    /// `Usage` if the array is of another size than the field, if the field was in no exchange yet, if an
    /// exchange has begun and not ended, if the field has a direction, or if a port cannot have its name.
    pub fn publish(&self, instance: &mut Instance, id: FieldId, bytes: &[u8]) -> Result<(), Error> {
        let Some(field) = self.fields.get(id.0) else { return Err(GridError::NoField { field: id.0 }.into()) };
        nothing_is_open(instance)?;
        let expected = self.elements(id) * field.dtype.size();
        if bytes.len() != expected {
            let field = field.name.clone();
            return Err(GridError::FieldBytes { field, expected, bytes: bytes.len() }.into());
        }
        let Some(time) = self.field_times[id.0] else {
            return Err(GridError::NotExchanged { field: field.name.clone() }.into());
        };
        if field.direction.is_some() {
            return Err(GridError::OneDirection { field: field.name.clone() }.into());
        }
        let window = Window::new(self, field, bytes);
        instance.publish(&field.name, time, &window)
    }

    /// Checks that an exchange can begin, and tells the neighbours which fields follow, if these are others
    /// than before. Returns the plan of the exchange.
    fn start(
        &mut self,
        instance: &mut Instance,
        time: f64,
        fields: &[FieldData<'_>],
    ) -> Result<Arc<ExchangePlan>, Error> {
        nothing_is_open(instance)?;
        if !time.is_finite() {
            return Err(GridError::Time { time }.into());
        }
        let plan = self.plan_of(fields)?;
        instance.grid_progress().open = Some(OpenExchange::Within);
        if is_news(instance, &plan) {
            for neighbour in &plan.neighbours {
                let message = Outgoing::at(time, ValueRef::Str(&plan.fields));
                instance.send(GHOSTS_OUT, &message, Some(neighbour.slot))?;
            }
        }
        Ok(plan)
    }

    /// Checks the arrays of an exchange, and returns its plan.
    fn plan_of(&mut self, fields: &[FieldData<'_>]) -> Result<Arc<ExchangePlan>, Error> {
        for (place, data) in fields.iter().enumerate() {
            let Some(field) = self.fields.get(data.field.0) else {
                return Err(GridError::NoField { field: data.field.0 }.into());
            };
            let expected = self.elements(data.field) * field.dtype.size();
            let name = || field.name.clone();
            if data.bytes.len() != expected {
                return Err(GridError::FieldBytes { field: name(), expected, bytes: data.bytes.len() }.into());
            }
            if fields[..place].iter().any(|earlier| earlier.field == data.field) {
                return Err(GridError::FieldTwice { field: name() }.into());
            }
        }
        let ids: Vec<FieldId> = fields.iter().map(|data| data.field).collect();
        if let Some(plan) = self.plans.get(&ids) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(self.plan(&ids));
        self.plans.insert(ids, Arc::clone(&plan));
        Ok(plan)
    }

    fn plan(&self, ids: &[FieldId]) -> ExchangePlan {
        let directions = self.blocks.directions();
        let back = |direction: &[i8]| -> Vec<i8> { direction.iter().map(|step| -step).collect() };
        // Fields without ghosts have nothing to exchange.
        let exchanged: Vec<(usize, FieldId)> =
            ids.iter().copied().enumerate().filter(|(_, id)| self.fields[id.0].ghosts > 0).collect();
        let travelling = |direction: &[i8]| -> Vec<(usize, FieldId)> {
            let travels = |(_, id): &&(usize, FieldId)| self.fields[id.0].travels_to(direction);
            exchanged.iter().filter(travels).copied().collect()
        };
        let neighbours = self.blocks.neighbours(self.block).into_iter().map(|(block, slot)| {
            // Both blocks list the directions of the sender in the same order.
            let of_sender = |from: usize, to: usize| {
                let leads = move |direction: &&Vec<i8>| self.blocks.neighbour(from, direction) == Some(to);
                directions.iter().filter(leads)
            };
            let regions = |sends: bool| {
                let ends = if sends { (self.block, block) } else { (block, self.block) };
                let regions = of_sender(ends.0, ends.1).flat_map(|direction| {
                    let side = if sends { direction.clone() } else { back(direction) };
                    let region = move |(place, id): &(usize, FieldId)| (*place, self.region(*id, &side, sends));
                    travelling(direction).iter().map(region).collect::<Vec<_>>()
                });
                Piece::cut(regions.collect())
            };
            Neighbour { block, slot: slot as u32, outgoing: regions(true), incoming: regions(false) }
        });
        let to_itself = |direction: &&Vec<i8>| self.blocks.neighbour(self.block, direction) == Some(self.block);
        let own = directions.iter().filter(to_itself).flat_map(|direction| {
            let copy = |(place, id): &(usize, FieldId)| {
                (*place, self.region(*id, direction, true), self.region(*id, &back(direction), false))
            };
            travelling(direction).iter().map(copy).collect::<Vec<_>>()
        });
        let mirrored = |ghosts: bool| {
            let copies = exchanged.iter().flat_map(move |(place, id)| {
                self.mirrored(*id, ghosts).into_iter().map(|(from, to)| (*place, from, to))
            });
            copies.collect()
        };
        let fields = self.describe(ids).into();
        ExchangePlan {
            fields,
            neighbours: neighbours.collect(),
            own: own.collect(),
            mirrored: mirrored(false),
            mirrored_ghosts: mirrored(true),
        }
    }

    /// Returns the points of a field at a side of the block: its own points there, which a neighbour needs, or
    /// the ghosts there.
    fn region(&self, id: FieldId, side: &[i8], own: bool) -> Region {
        let (shape, ghosts) = (self.array_shape(id), self.fields[id.0].ghosts);
        let ranges: Vec<Range<usize>> = shape
            .iter()
            .zip(side)
            .map(|(length, step)| {
                let (begin, end) = (ghosts, length - ghosts);
                match (step, own) {
                    (0, _) => begin..end,
                    (-1, true) => begin..begin + ghosts,
                    (-1, false) => 0..begin,
                    (_, true) => end - ghosts..end,
                    (_, false) => end..*length,
                }
            })
            .collect();
        let field = &self.fields[id.0];
        Region::new(&shape, field.order, field.dtype.size(), &ranges)
    }

    /// Returns the copies that fill the ghosts of a field beyond mirrored edges: those of the block's own
    /// points, or those of its ghosts along other axes. A copy along one axis takes the ghosts along the axes
    /// before it with it, so corners are filled, too.
    fn mirrored(&self, id: FieldId, of_ghosts: bool) -> Vec<(Region, Region)> {
        let (shape, field) = (self.array_shape(id), &self.fields[id.0]);
        let mut copies = Vec::new();
        for axis in (0..shape.len()).filter(|axis| self.blocks.edges[*axis] == Edges::Mirrored) {
            let boxes = boxes_of_plane(&shape, field.ghosts, axis, of_ghosts);
            let [lower, upper] = self.at_edge(axis);
            let (begin, end) = (field.ghosts, shape[axis] - field.ghosts);
            let mut copy = |from: usize, to: usize| {
                let plane = |at: usize, ranges: &[Range<usize>]| {
                    let mut ranges = ranges.to_vec();
                    ranges[axis] = at..at + 1;
                    Region::new(&shape, field.order, field.dtype.size(), &ranges)
                };
                copies.extend(boxes.iter().map(|ranges| (plane(from, ranges), plane(to, ranges))));
            };
            for distance in 0..field.ghosts {
                if lower {
                    copy(begin + distance, begin - 1 - distance);
                }
                if upper {
                    copy(end - 1 - distance, end + distance);
                }
            }
        }
        copies
    }

    /// Hears from the neighbours which fields follow, if these are others than before.
    fn hear_fields(&mut self, instance: &mut Instance, time: f64, plan: &ExchangePlan) -> Result<(), Error> {
        if !is_news(instance, plan) {
            return Ok(());
        }
        for neighbour in &plan.neighbours {
            let message = instance.receive(GHOSTS_IN, Some(neighbour.slot))?;
            let theirs = match &message.data {
                Value::String(theirs) if **theirs == *plan.fields => None,
                Value::String(theirs) => Some(theirs.clone()),
                _ => Some("those of the exchange before".to_owned()),
            };
            if let Some(theirs) = theirs {
                let (own, peer) = (plan.fields.to_string(), self.name_of(neighbour.block));
                return Err(GridError::FieldsDiffer { own, peer, theirs }.into());
            }
            self.check_time(time, message.timestamp, neighbour.block)?;
        }
        instance.grid_progress().fields = Some(Arc::clone(&plan.fields));
        Ok(())
    }

    fn send_piece(
        &self,
        instance: &mut Instance,
        time: f64,
        arrays: &[&mut [u8]],
        neighbour: &Neighbour,
        piece: &Piece,
    ) -> Result<(), Error> {
        let pack = |memory: &mut [u8]| piece.pack(arrays, memory);
        instance.send_filled(GHOSTS_OUT, Some(neighbour.slot), time, (piece.bytes, pack))
    }

    fn receive_piece(
        &self,
        instance: &mut Instance,
        (time, plan): (f64, &ExchangePlan),
        arrays: &mut [&mut [u8]],
        neighbour: &Neighbour,
        piece: &Piece,
    ) -> Result<(), Error> {
        let message = instance.receive(GHOSTS_IN, Some(neighbour.slot))?;
        let peer = || self.name_of(neighbour.block);
        match &message.data {
            Value::Array(array) if array.dtype() == DType::UInt8 && array.shape() == [piece.bytes as u64] => {
                self.check_time(time, message.timestamp, neighbour.block)?;
                piece.unpack(array.data(), arrays);
                Ok(())
            }
            Value::String(theirs) => {
                let (own, theirs) = (plan.fields.to_string(), theirs.clone());
                Err(GridError::FieldsDiffer { own, peer: peer(), theirs }.into())
            }
            _ => Err(GridError::Unexpected { peer: peer() }.into()),
        }
    }

    fn check_time(&self, own: f64, theirs: f64, block: usize) -> Result<(), Error> {
        if own == theirs {
            return Ok(());
        }
        let [own, theirs] = [own, theirs].map(|time| ShownTime(time).to_string());
        Err(GridError::TimesDiffer { own, peer: self.name_of(block), theirs }.into())
    }

    fn describe(&self, ids: &[FieldId]) -> String {
        let all: Vec<String> = ids.iter().filter_map(|id| self.fields.get(id.0)).map(Field::describe).collect();
        all.join(", ")
    }

    /// Returns the name of a block for people.
    fn name_of(&self, block: usize) -> String {
        format!("block {:?} of \"{}\"", self.blocks.place(block), self.component)
    }
}

/// Returns the name of an instance without its indices.
fn component_of(instance: &str) -> String {
    instance.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// Returns true if the neighbours do not know the fields of an exchange.
fn is_news(instance: &mut Instance, plan: &ExchangePlan) -> bool {
    instance.grid_progress().fields.as_ref() != Some(&plan.fields)
}

/// Checks that no exchange has begun that is not at its end, and that none has failed.
fn nothing_is_open(instance: &mut Instance) -> Result<(), GridError> {
    match instance.grid_progress().open {
        None => Ok(()),
        Some(OpenExchange::Begun) => Err(GridError::Begun),
        Some(OpenExchange::Within) => Err(GridError::Failed),
    }
}

/// Returns the boxes of which a plane of an array consists, with all points of its axis: the block's own
/// points, or the ghosts along the other axes.
fn boxes_of_plane(shape: &[usize], ghosts: usize, plane: usize, of_ghosts: bool) -> Vec<Vec<Range<usize>>> {
    let mut inner: Vec<Range<usize>> = shape.iter().map(|length| 0..*length).collect();
    let mut beside = Vec::new();
    for axis in (0..shape.len()).filter(|axis| *axis != plane) {
        for range in [0..ghosts, shape[axis] - ghosts..shape[axis]] {
            let mut ranges = inner.clone();
            ranges[axis] = range;
            beside.push(ranges);
        }
        inner[axis] = ghosts..shape[axis] - ghosts;
    }
    if of_ghosts {
        beside
    } else {
        vec![inner]
    }
}

/// Fills the ghosts that are copies of the block's own points.
fn fill_own(arrays: &mut [&mut [u8]], plan: &ExchangePlan) {
    for (field, from, to) in plan.own.iter().chain(&plan.mirrored) {
        from.copy_to(to, arrays[*field]);
    }
}

/// Fills the ghosts beyond mirrored edges that are copies of other ghosts.
fn fill_behind(arrays: &mut [&mut [u8]], plan: &ExchangePlan) {
    for (field, from, to) in &plan.mirrored_ghosts {
        from.copy_to(to, arrays[*field]);
    }
}

fn arrays<'a>(fields: &'a mut [FieldData<'_>]) -> Vec<&'a mut [u8]> {
    fields.iter_mut().map(|data| &mut *data.bytes).collect()
}
