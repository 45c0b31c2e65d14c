"""Models: the graph of a model file, made by a script or read from files."""

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import NamedTuple, Self

from ._enums import Operator, operator_name
from ._errors import ModelError
from ._ligament import Problem, _Model


class Size(NamedTuple):
    """The size of a model after its expansion."""

    instances: int
    channels: int


class Model(_Model):
    """A model: components with ports, joined by conduits, and settings.

    Args:
        name: The model's name.

    >>> ring = Model("ring")
    >>> for i in range(3):
    ...     ring.add(f"node{i}", program="./node", ports={"S": ["left"], "O_I": ["right"]})
    >>> for i in range(3):
    ...     ring.connect(f"node{i}.right", f"node{(i + 1) % 3}.left")
    >>> ring.settings["steps"] = 10
    >>> ring.save("ring.ymmsl")
    """

    def __new__(cls, name: str = "model") -> Self:
        return super().__new__(cls, name)

    def __init__(self, name: str = "model") -> None:
        pass

    @classmethod
    def load(cls, *paths: str | PathLike[str]) -> Self:
        """Reads a model from a yMMSL file. Further files are added to it.

        Raises:
            ModelError: The files cannot be read as a model; `problems` lists all problems.
        """
        model = cls()
        problems = [problem for problem in model._load([fspath(path) for path in paths]) if problem.is_error]
        if problems:
            raise ModelError("\n".join(map(str, problems)), tuple(problems))
        return model

    def add(
        self,
        name: str,
        program: str | PathLike[str] | Iterable[str] | None = None,
        ports: Mapping[Operator | str, Iterable[str] | str] | None = None,
        multiplicity: int | Iterable[int] = (),
        implementation: str | None = None,
    ) -> None:
        """Adds a component.

        Args:
            name: The component's name.
            program: The executable of the component, or a list of executable and arguments. Leave it out if
                `run` gets a Python function for the component, or if `implementation` names a program.
            ports: The ports by operator. Without them, those that conduits name are used.
            multiplicity: The number of instances, or the shape of their set.
            implementation: The name of a program that `add_program` has added, or that the file has.
"""
        if program is not None:
            if implementation is not None:
                raise ModelError(f'"{name}": give either a program or the name of an implementation, not both')
            if isinstance(program, (str, PathLike)):
                program = [fspath(program)]
            executable, *arguments = [str(word) for word in program]
            implementation = f"{name}_program"
            self._add_program(implementation, executable, arguments)
        declared = []
        for operator, names in (ports or {}).items():
            names = [names] if isinstance(names, str) else names
            declared += [(operator_name(operator), port.removesuffix("[]")) for port in names]
        shape = [multiplicity] if isinstance(multiplicity, int) else list(multiplicity)
        self._add(name, implementation, declared, shape)

    def add_program(
        self,
        name: str,
        executable: str | PathLike[str] | None = None,
        args: Iterable[str] = (),
        *,
        script: str | None = None,
        env: Mapping[str, str] | None = None,
        virtual_env: str | PathLike[str] | None = None,
        modules: Iterable[str] | None = None,
        base_env: str | None = None,
        execution_model: str | None = None,
    ) -> None:
        """Adds a program, which components can name as their implementation. The keywords are those of a model
        file."""
        self._add_program(
            name,
            None if executable is None else fspath(executable),
            [str(argument) for argument in args],
            script,
            None if env is None else dict(env),
            None if virtual_env is None else fspath(virtual_env),
            None if modules is None else list(modules),
            base_env,
            execution_model,
        )

    def check(
        self, *, given: Iterable[str] | None = None, files: bool = True, ignore: Iterable[str] = ()
    ) -> list[Problem]:
        """Returns all problems of the model, as `ligament check` reports them; an empty list if there is none.

        Args:
            given: The components that get a Python function, and so need no program. None: no component needs a
                program.
            files: True if the executables must be on this machine.
            ignore: Features of the model that a run cannot use yet, and that become warnings: "checkpoints",
                "resume", "wait". With "deadlocks", foreseen deadlocks become warnings, too.
"""
        problems, _ = self._check(None if given is None else list(given), files, list(ignore))
        return problems

    def instances(self) -> list[str]:
        """Returns the names of all instances of a run of this model.

        Raises:
            ModelError: The model has errors.
        """
        return self._expanded()[0]

    def size(self) -> Size:
        """Returns the numbers of instances and channels of a run of this model.

        Raises:
            ModelError: The model has errors.
        """
        instances, channels = self._expanded()
        return Size(len(instances), channels)

    def _expanded(self) -> tuple[list[str], int]:
        problems, size = self._check(None, False, [])
        if size is None:
            raise ModelError("\n".join(map(str, problems)), tuple(problems))
        return size

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the model to a yMMSL file (v0.2)."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_yaml())

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.components)} components, {len(self.conduits)} conduits>"
