"""One structured grid over the instances, or the ranks, of a component."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy

from ._errors import UsageError
from ._instance import Instance
from ._ligament import _Domain, _fault


class Domain(_Domain):
    """The part of a grid that this instance or rank has: one block.

    The model says under ``ligament: grids:`` how many points the grid has, and into how many blocks it is
    divided. Each block keeps the numbers of a field in an array with ghosts: points around its own, which
    belong to its neighbours. `exchange` fills them.

    Args:
        instance: The instance.

    Raises:
        UsageError: The model gives the component no grid.
    """

    def __new__(cls, instance: Instance) -> "Domain":
        return super().__new__(cls, instance)

    def __init__(self, instance: Instance) -> None:
        self._fields: list[tuple[int, int, numpy.ndarray]] = []
        self._begun: list[tuple[int, numpy.ndarray]] = []

    @property
    def range(self) -> tuple[slice, ...]:
        """This block's points, as a slice of the whole grid along each axis."""
        return tuple(slice(begin, end) for begin, end in self._range())

    def at_edge(self, axis: int) -> tuple[bool, bool]:
        """True if an edge of the whole grid is at the lower, and at the upper side of this block."""
        if not 0 <= axis < len(self.shape):
            raise UsageError(_fault("bad-argument", f"this grid has no axis {axis}; they are numbered from 0"))
        begin, end = self._range()[axis]
        return begin == 0, end == self.shape[axis]

    def field(
        self,
        name: str,
        array: numpy.ndarray | None = None,
        *,
        ghosts: int = 1,
        unit: str = "",
        dtype: Any = None,
        order: str = "C",
    ) -> numpy.ndarray:
        """Adds a field, and returns its array.

        Args:
            name: The name, the same in all blocks.
            array: The array of the field: writable and contiguous, with the shape of the block and twice
                `ghosts` more along each axis. None makes a new one of zeros.
            ghosts: How many points beyond the block there are at each side.
            unit: The unit of the numbers.
            dtype: Their type; that of `array`, or float64.
            order: "C" or "F", the order in memory of a new array.

        Raises:
            UsageError: The name is taken, a block is narrower than its neighbour's ghosts, or the array does
                not fit.
        """
        if order not in ("C", "F"):
            raise UsageError(_fault("bad-argument", f"an order is \"C\" or \"F\", and not {order!r}"))
        if ghosts < 0:
            raise UsageError(_fault("bad-field", f"the field \"{name}\" cannot have {ghosts} ghosts"))
        if isinstance(array, numpy.ma.MaskedArray):
            text = f"the array of the field \"{name}\" has a mask, which no neighbour gets; give its data"
            raise UsageError(_fault("bad-field", text))
        if array is not None:
            self._check_field(name, array)
            if any(numpy.may_share_memory(array, known) for _, _, known in self._fields):
                text = f"the array of the field \"{name}\" shares memory with another field's"
                raise UsageError(_fault("bad-field", text))
            is_row_major = bool(array.flags.c_contiguous)
            kind = array.dtype if dtype is None else numpy.dtype(dtype)
            if kind != array.dtype:
                text = f"the array of the field \"{name}\" has the type {array.dtype}, and its dtype is {kind}"
                raise UsageError(_fault("bad-field", text))
            expected = tuple(s.stop - s.start + 2 * ghosts for s in self.range)
            if array.shape != expected:
                text = (f"the array of the field \"{name}\" has the shape {array.shape}, and the block with "
                        f"its ghosts has {expected}")
                raise UsageError(_fault("bad-field", text))
        else:
            is_row_major, kind = order != "F", numpy.dtype("float64" if dtype is None else dtype)
        number, shape = self._add_field(name, ghosts, kind, unit, is_row_major)
        if array is None:
            array = numpy.zeros(shape, kind, "C" if is_row_major else "F")
        self._fields.append((number, ghosts, array))
        return array

    def set_direction(self, array: numpy.ndarray, direction: Sequence[int]) -> None:
        """Says in which direction the values of a field travel, as in a lattice Boltzmann code.

        An exchange then fills only the ghosts from which a value comes into the block in this direction, and
        leaves those at other sides between blocks as they are. All blocks give the same directions.

        Args:
            array: The array of the field.
            direction: -1, 0 or 1 along each axis.

        Raises:
            UsageError: The direction is none of this grid's, or an exchange has begun.
        """
        number = next(number for number, _, _ in self._known([array]))
        steps = [operator.index(step) for step in direction]
        if any(abs(step) > 1 for step in steps):
            text = f"the direction of a field is {steps}; give -1, 0 or 1 for each axis of the grid"
            raise UsageError(_fault("bad-field", text))
        self._set_direction(number, steps)

    def interior(self, array: numpy.ndarray) -> numpy.ndarray:
        """The block's own points of a field's array, without the ghosts: a view."""
        ghosts = next(ghosts for _, ghosts, known in self._known([array]))
        return array[tuple(slice(ghosts, length - ghosts) for length in array.shape)]

    def exchange(self, time: float, *arrays: numpy.ndarray) -> None:
        """Fills the ghosts of fields with the points of the neighbouring blocks, at corners too.

        All blocks make the same calls. Beyond a periodic or mirrored edge of the grid, ghosts are filled too;
        beyond other edges they stay as they are.

        Args:
            time: The model time of the fields.
            arrays: The arrays that `field` returned.

        Raises:
            UnexpectedError: A neighbour exchanges other fields, or is at another time.
            UsageError: An array is no field's.
        """
        self._exchange(time, [(number, array) for number, _, array in self._known(arrays)])

    def begin(self, time: float, *arrays: numpy.ndarray) -> None:
        """Begins an exchange: sends, and waits for nobody as long as the budgets of the conduits last.

        The code can compute what needs no ghosts before `end`.
        """
        begun = [(number, array) for number, _, array in self._known(arrays)]
        self._begin(time, begun)
        self._begun = begun

    def end(self) -> None:
        """Ends the exchange that `begin` has begun: fills the ghosts."""
        self._end(self._begun)
        self._begun = []

    def publish(self, array: numpy.ndarray) -> None:
        """Shows a field to the taps of the port with the field's name, at the time of its last exchange.

        Nothing is joined to this port, and while nobody looks nothing is copied or computed. A block calls this
        after an exchange, before the points of the field change, so that the ghosts fit them.

        Args:
            array: The array that `field` returned.

        Raises:
            UsageError: The field was in no exchange yet, an exchange has begun and not ended, or a port of the
                component has the field's name.
        """
        for number, _, known in self._known([array]):
            self._publish(number, known)

    def sum(self, numbers: Any) -> float:
        """The exact sum of all numbers that all blocks give, rounded once: it does not depend on the blocks."""
        return self._reduced("sum", numbers)

    def min(self, numbers: Any) -> float:
        """The smallest of all numbers that all blocks give; nan if one of them is nan."""
        return self._reduced("min", numbers)

    def max(self, numbers: Any) -> float:
        """The largest of all numbers that all blocks give; nan if one of them is nan."""
        return self._reduced("max", numbers)

    def _reduced(self, how: str, numbers: Any) -> float:
        return self._reduce(how, doubles(numbers))

    def _known(self, arrays: Any) -> list[tuple[int, int, numpy.ndarray]]:
        found = []
        for array in arrays:
            field = next((field for field in self._fields if field[2] is array), None)
            if field is None:
                text = ("this array is no field's of the domain; write into the array that field() returned "
                        "(u[...] = new, not u = new)")
                raise UsageError(_fault("bad-field", text))
            found.append(field)
        return found


def doubles(numbers: Any) -> numpy.ndarray:
    """Numbers for a reduction as an array of doubles that are equal to them."""
    if isinstance(numbers, numpy.ma.MaskedArray):
        text = "some numbers are masked; give those that count: numbers.compressed()"
        raise UsageError(_fault("bad-argument", text))
    given = numpy.asarray(numbers)
    if given.dtype.kind not in "fiub" or given.dtype.itemsize > 8 or not _are_exact(given):
        text = f"numbers of the type {given.dtype} cannot all be made doubles; convert them first"
        raise UsageError(_fault("bad-argument", text))
    return numpy.ascontiguousarray(given, "float64")


def _are_exact(numbers: numpy.ndarray) -> bool:
    """True if all numbers are equal to doubles."""
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return True
    return -(2**53) <= int(numbers.min()) and int(numbers.max()) <= 2**53
