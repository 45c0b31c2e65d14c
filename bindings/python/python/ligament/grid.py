"""A simulation on a grid that is put together from modules.

A module declares parameters, fields and functions. In Python it is a class; in C and Fortran it is a shared
object. `run` makes the fields, calls the functions of all modules in an order that follows from what they read
and write, and exchanges the ghosts of neighbouring blocks in between.
"""

import inspect
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from ._errors import UsageError
from ._grid import doubles
from ._instance import Instance
from ._ligament import _Block, _driver_arguments, _fault, _Modules

__all__ = ["Block", "run"]

# The attributes that a class may declare, beside its name.
_PARTS = ("parameters", "fields", "functions")


class Block:
    """A block of the grid, as a function of a module gets it. It is valid until the function returns."""

    def __init__(self, half: _Block) -> None:
        self._half = half

    def field(self, name: str) -> numpy.ndarray:
        """The array of a field with its ghosts. Write into it: ``u[...] = new``.

        Raises:
            UsageError: The function does not declare that it reads or writes the field.
        """
        array, _ = self._half._field(name)
        return array.view()

    def interior(self, name: str) -> numpy.ndarray:
        """The block's own points of a field, without the ghosts: a view.

        Raises:
            UsageError: As `field`.
        """
        array, ghosts = self._half._field(name)
        return array[tuple(slice(ghosts, length - ghosts) for length in array.shape)]

    def parameter(self, name: str) -> float | int | bool:
        """The value of a parameter of the module.

        Raises:
            UsageError: The module declares no such parameter.
        """
        return self._half._parameter(name)

    @property
    def step(self) -> int:
        """The number of the step: 0 in the bin ``initial``, then from 1."""
        return self._half._time()[0]

    @property
    def time(self) -> float:
        """The model time of the fields at the beginning of the step, s."""
        return self._half._time()[1]

    @property
    def time_step(self) -> float:
        """The length of the step, s."""
        return self._half._time()[2]

    @property
    def number(self) -> int:
        """The number of this block, from 0; the last axis runs fastest."""
        return self._half._place()[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points of the whole grid along each axis."""
        return tuple(self._half._place()[1])

    @property
    def range(self) -> tuple[slice, ...]:
        """This block's points, as a slice of the whole grid along each axis."""
        return tuple(slice(begin, end) for begin, end in self._half._place()[2])

    def sum(self, numbers: Any) -> float:
        """The exact sum of all numbers that all blocks give, rounded once. All blocks make the same calls."""
        return self._half._reduce("sum", doubles(numbers))

    def min(self, numbers: Any) -> float:
        """The smallest of all numbers that all blocks give; nan if one of them is nan."""
        return self._half._reduce("min", doubles(numbers))

    def max(self, numbers: Any) -> float:
        """The largest of all numbers that all blocks give; nan if one of them is nan."""
        return self._half._reduce("max", doubles(numbers))


def run(modules: Iterable[Any], arguments: Sequence[str] | None = None) -> None:
    """Runs a simulation that is put together from modules, as an instance of a run, until it is over.

    Args:
        modules: Classes or objects with `parameters`, `fields` and `functions`, and paths of shared objects. A
            relative path begins at the folder of the program.
        arguments: The arguments of the program; None takes those of ``sys.argv``. With ``--plan``, the order of
            the functions and the reason of each exchange are printed, and the program takes part in no run;
            ``--json`` does the same in JSON. With ``--poison``, a function is found out that reads or writes
            what it does not declare.

    Raises:
        UsageError: The modules do not go together, or one of them fails.
    """
    plans, as_json, poisons = _driver_arguments(list(sys.argv[1:] if arguments is None else arguments))
    program = _Modules([_given(module) for module in modules])
    if plans or as_json:
        print(program._plan(as_json), end="")
        return
    program._run(Instance(), poisons, _memory, Block)


def _given(module: Any) -> tuple[str | None, tuple[str, str, Any] | None]:
    """A module as the compiled half takes it."""
    if isinstance(module, str | os.PathLike):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        folder = os.path.dirname(os.path.abspath(main)) if main else os.getcwd()
        return os.path.join(folder, os.fspath(module)), None
    made = module() if inspect.isclass(module) else module
    kind = type(made)
    origin = f"{kind.__module__}.{kind.__qualname__}"
    if not any(hasattr(made, part) for part in _PARTS):
        text = f"{module!r} is no module: it is a path, or a class with {', '.join(_PARTS)}"
        raise UsageError(_fault("bad-module", text))
    declaration = {"name": getattr(made, "name", kind.__name__)}
    declaration |= {part: getattr(made, part) for part in _PARTS if hasattr(made, part)}
    try:
        # A key on each line, indented by one space for each level: errors tell the keys that lead to a line.
        text = json.dumps(declaration, indent=1, ensure_ascii=False, default=_number)
    except (TypeError, ValueError) as error:
        text = f"the declaration of the module {origin} is not made of texts, numbers and dictionaries: {error}"
        raise UsageError(_fault("bad-module", text)) from error
    return None, (text, origin, made)


def _number(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    if isinstance(value, numpy.generic):
        return value.item()
    raise TypeError(f"{value!r} is of the type {type(value).__name__}")


def _memory(shape: list[int], dtype: str, order: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the bytes of an array of zeros, and the array. A view cannot be resized, so the memory stays."""
    kind = numpy.dtype(dtype)
    count = int(numpy.prod(shape))
    owner = numpy.zeros(count * kind.itemsize, "uint8")
    return owner, owner.view(kind).reshape(shape, order=order)
