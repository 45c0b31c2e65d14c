"""Reads `precice-config.xml`: which participants exchange which data on which meshes, and how a window is
computed. Whatever it has and this module does not is named with its line."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from .errors import Error

# Elements without a meaning here: Ligament logs, measures times, and joins programs itself.
WITHOUT_MEANING = {"log", "profiling", "m2n:sockets", "m2n:mpi", "m2n:mpi-multiple-ports"}
# Elements that write files. They are left out with a warning.
LEFT_OUT = {"export:vtk", "export:vtu", "export:vtp", "export:csv", "watch-point", "watch-integral"}


@dataclass
class Element:
    """An element of the file, with its line."""

    name: str
    attributes: dict
    line: int
    children: list = field(default_factory=list)

    def all(self, *names):
        return [child for child in self.children if child.name in names]


@dataclass(frozen=True)
class Mapping:
    """Nearest-neighbour mapping from one mesh to another. `direction` is `read` or `write`."""

    direction: str
    source: str
    target: str
    constraint: str


@dataclass(frozen=True)
class Exchange:
    """Data on a mesh that one participant sends to another."""

    data: str
    mesh: str
    sender: str
    receiver: str
    initialize: bool


@dataclass
class Role:
    """The meshes and data that one participant provides, receives, writes and reads."""

    provided: set = field(default_factory=set)
    received: dict = field(default_factory=dict)
    written: list = field(default_factory=list)
    read: list = field(default_factory=list)
    mappings: list = field(default_factory=list)


@dataclass
class Configuration:
    """A whole configuration."""

    path: Path
    vectors: dict  # data → true if it is a vector
    dimensions: dict  # mesh → number of coordinates
    roles: dict
    exchanges: list
    scheme: str
    first: str | None
    settings: dict
    warnings: list

    @property
    def implicit(self):
        return self.scheme.endswith("implicit")

    def key(self, exchange):
        """The name of the ports of an exchange. Data that go to several participants on one mesh share it."""
        others = {(one.mesh, one.sender) for one in self.exchanges if one.data == exchange.data}
        name = exchange.data if len(others) == 1 else f"{exchange.data}_{exchange.mesh}_{exchange.sender}"
        return identifier(name)

    def width(self, data, mesh):
        """The number of components of data on a mesh."""
        return self.dimensions[mesh] if self.vectors[data] else 1

    def mapping(self, participant, direction, source, target):
        """The mapping of a participant between two meshes; `None` for a mesh and itself."""
        if source == target:
            return None
        for mapping in self.roles[participant].mappings:
            if (mapping.direction, mapping.source, mapping.target) == (direction, source, target):
                return mapping
        raise Error(f"{self.path}: \"{participant}\" needs a {direction} mapping from \"{source}\" to "
                    f"\"{target}\", and has none; add <mapping:nearest-neighbor direction=\"{direction}\" …>")


def identifier(name):
    """A name as a model can have it."""
    name = re.sub(r"\W", "_", name)
    return name if name[:1].isalpha() else f"d_{name}"


def elements(path):
    """The root element of a file."""
    root = Element("", {}, 0)
    stack = [root]
    parser = expat.ParserCreate()

    def start(name, attributes):
        element = Element(name, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    try:
        parser.Parse(Path(path).read_bytes(), True)
    except OSError as error:
        raise Error(f"{path} cannot be read: {error.strerror}") from error
    except expat.ExpatError as error:
        raise Error(f"{path}:{error.lineno}: {expat.ErrorString(error.code)}") from error
    return root.children[0]


class Reader:
    """Reads elements and collects what is wrong with them."""

    def __init__(self, path):
        self.path, self.problems, self.warnings = Path(path), [], []

    def problem(self, element, text):
        self.problems.append(f"{self.path}:{element.line}: {text}")

    def unknown(self, element, known):
        """Names the children that are not known."""
        for child in element.children:
            if child.name in LEFT_OUT:
                self.warnings.append(f"{self.path}:{child.line}: <{child.name}> is left out: no file is "
                                     "written; sinks of the model write data")
            elif child.name not in known and child.name not in WITHOUT_MEANING:
                self.problem(child, f"<{child.name}> in <{element.name}> is not there in Ligament's face of "
                                    "preCICE; take it out, or write the model by hand")

    def need(self, element, name):
        """An attribute that must be there."""
        if name not in element.attributes:
            self.problem(element, f"<{element.name}> has no \"{name}\"")
        return element.attributes.get(name, "")

    def number(self, element, name="value", kind=float):
        """A number in an attribute, above 0."""
        text = self.need(element, name)
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < float("inf"):
            self.problem(element, f"\"{name}\" of <{element.name}> is \"{text}\"; a number above 0 is wanted")
            return kind(1)
        return value

    def finish(self):
        if self.problems:
            raise Error("\n".join(self.problems))


def read(path):
    """Reads a configuration. Raises `Error` with a line for each problem."""
    root = elements(path)
    reader = Reader(path)
    if root.name != "precice-configuration":
        reader.problem(root, f"<{root.name}> is no <precice-configuration>")
        reader.finish()
    # Version 2 had an element more around all of these.
    top = next(iter(root.all("solver-interface")), root)
    schemes = [child for child in top.children if child.name.startswith("coupling-scheme:")]
    reader.unknown(top, {"data:scalar", "data:vector", "mesh", "participant", *(one.name for one in schemes)})
    data = top.all("data:scalar", "data:vector")
    vectors = {reader.need(one, "name"): one.name == "data:vector" for one in data}
    dimensions = {}
    for mesh in top.all("mesh"):
        reader.unknown(mesh, {"use-data"})
        given = mesh.attributes.get("dimensions") or top.attributes.get("dimensions") or "0"
        if given not in ("1", "2", "3"):
            reader.problem(mesh, "a mesh has \"dimensions\" 1, 2 or 3")
        dimensions[reader.need(mesh, "name")] = int(given) if given.isdigit() else 0
    roles = {reader.need(one, "name"): role(reader, one) for one in top.all("participant")}
    if len(schemes) != 1:
        where = schemes[1] if schemes else root
        reader.problem(where, f"there are {len(schemes)} coupling schemes, and one is wanted; several "
                              "participants go into one <coupling-scheme:multi>")
        reader.finish()
    configuration = Configuration(Path(path), vectors, dimensions, roles, [], "", None, {}, reader.warnings)
    read_scheme(reader, schemes[0], configuration)
    reader.finish()
    return configuration


def role(reader, element):
    reader.unknown(element, {"provide-mesh", "receive-mesh", "write-data", "read-data",
                             "mapping:nearest-neighbor"})
    role = Role()
    role.provided = {reader.need(one, "name") for one in element.all("provide-mesh")}
    role.received = {reader.need(one, "name"): reader.need(one, "from") for one in element.all("receive-mesh")}
    pair = lambda one: (reader.need(one, "name"), reader.need(one, "mesh"))  # noqa: E731
    role.written = [pair(one) for one in element.all("write-data")]
    role.read = [pair(one) for one in element.all("read-data")]
    for one in element.all("mapping:nearest-neighbor"):
        constraint = reader.need(one, "constraint")
        if constraint not in ("consistent", "conservative"):
            reader.problem(one, f"the constraint \"{constraint}\" is not there; consistent and "
                                "conservative are")
        role.mappings.append(Mapping(reader.need(one, "direction"), reader.need(one, "from"),
                                     reader.need(one, "to"), constraint))
    return role


MEASURES = {"absolute-convergence-measure": "absolute", "relative-convergence-measure": "relative",
            "residual-relative-convergence-measure": "residual_relative"}
ACCELERATIONS = {"acceleration:constant": "constant", "acceleration:aitken": "aitken",
                 "acceleration:IQN-ILS": "iqn-ils", "acceleration:IQN-IMVJ": "iqn-imvj"}
SCHEMES = {"serial-explicit": "serial-explicit", "parallel-explicit": "parallel-explicit",
           "serial-implicit": "serial-implicit", "parallel-implicit": "parallel-implicit",
           "multi": "parallel-implicit"}


def read_scheme(reader, element, configuration):
    """Reads the coupling scheme into the settings of `ligament.mappers.implicit`."""
    name = element.name.split(":")[1]
    if name not in SCHEMES:
        reader.problem(element, f"the scheme \"{name}\" is not there; {', '.join(SCHEMES)} are")
        return
    reader.unknown(element, {"participants", "participant", "max-time", "max-time-windows", "time-window-size",
                             "min-iterations", "max-iterations", "exchange", *MEASURES, *ACCELERATIONS})
    configuration.scheme = SCHEMES[name]
    settings = configuration.settings
    settings["scheme"] = configuration.scheme
    for one in element.all("exchange"):
        configuration.exchanges.append(exchange(reader, one, configuration))
    for one in element.all("participants"):
        configuration.first = reader.need(one, "first")
    read_times(reader, element, settings)
    if configuration.scheme.startswith("serial"):
        first = [configuration.key(one) for one in configuration.exchanges if one.sender == configuration.first]
        settings["first"] = " ".join(dict.fromkeys(first))
    if configuration.implicit:
        settings["no_convergence"] = "warn"
        settings["acceleration"] = "none"
        read_measures(reader, element, configuration)
        for one in element.all(*ACCELERATIONS):
            read_acceleration(reader, one, configuration)


def exchange(reader, element, configuration):
    sent = Exchange(*(reader.need(element, name) for name in ("data", "mesh", "from", "to")),
                    element.attributes.get("initialize") in ("true", "1", "yes", "on"))
    for name, known in ((sent.data, configuration.vectors), (sent.mesh, configuration.dimensions),
                        (sent.sender, configuration.roles), (sent.receiver, configuration.roles)):
        if name not in known:
            reader.problem(element, f"<exchange> names \"{name}\", and there are {', '.join(known)}")
    return sent


def read_times(reader, element, settings):
    for one in element.all("time-window-size"):
        if one.attributes.get("method", "fixed") != "fixed":
            reader.problem(one, "the method \"first-participant\" is not there; give a \"value\"")
        settings["window"] = reader.number(one)
    for one in element.all("max-time"):
        settings["until"] = reader.number(one)
    for one in element.all("max-time-windows"):
        until = reader.number(one, kind=int) * settings.get("window", 1.0)
        settings["until"] = min(settings.get("until", until), until)
    for one in element.all("max-iterations", "min-iterations"):
        settings[one.name.replace("-", "_")] = reader.number(one, kind=int)
    for name in ("window", "until"):
        if name not in settings:
            reader.problem(element, "the scheme needs <time-window-size> and <max-time> or <max-time-windows>")
            return


def key_of(reader, element, configuration):
    """The ports of the data that an element names."""
    data, mesh = element.attributes.get("data") or reader.need(element, "name"), reader.need(element, "mesh")
    for one in configuration.exchanges:
        if (one.data, one.mesh) == (data, mesh):
            return configuration.key(one)
    reader.problem(element, f"no <exchange> has the data \"{data}\" on the mesh \"{mesh}\"")
    return None


def read_measures(reader, element, configuration):
    limits = []
    for one in element.all(*MEASURES):
        for name in {"suffices", "strict"} & one.attributes.keys():
            if one.attributes[name] not in ("false", "0", "no", "off"):
                reader.problem(one, f"\"{name}\" is not there: all measures must hold")
        limit = reader.number(one, "limit")
        limits.append(f"{key_of(reader, one, configuration)} {MEASURES[one.name]} {limit!r}")
    # Each kind of data that goes to several participants is one of the coupling.
    configuration.settings["limits"] = ", ".join(dict.fromkeys(limits))
    if not limits:
        reader.problem(element, "an implicit scheme needs a convergence measure")


def read_acceleration(reader, element, configuration):
    settings = configuration.settings
    settings["acceleration"] = ACCELERATIONS[element.name]
    known = {"data", "relaxation", "initial-relaxation", "preconditioner", "filter", "max-used-iterations",
             "time-windows-reused", "imvj-restart-mode"}
    reader.unknown(element, known)
    names = [key_of(reader, one, configuration) for one in element.all("data")]
    if names and None not in names:
        settings["accelerated_by"] = " ".join(dict.fromkeys(names))
    for one in element.all("relaxation", "initial-relaxation"):
        settings["relaxation"] = reader.number(one)
    for one in element.all("preconditioner"):
        kinds = {"residual-sum": "residual-sum", "residual": "residual", "value": "value"}
        if one.attributes.get("type") not in kinds:
            reader.problem(one, f"the preconditioner \"{one.attributes.get('type')}\" is not there; "
                                f"{', '.join(kinds)} are")
        settings["scaling"] = kinds.get(one.attributes.get("type"), "none")
    for one in element.all("filter"):
        kind = one.attributes.get("type", "").lower()
        if kind not in ("qr1", "qr2", "qr3"):
            reader.problem(one, f"the filter \"{one.attributes.get('type')}\" is not there; QR1, "
                                "QR2 and QR3 are")
        # QR3 decides as QR2 does, and saves it some work.
        settings["filter"] = "qr1" if kind == "qr1" else "qr2"
        settings["filter_limit"] = reader.number(one, "limit") if "limit" in one.attributes else 1e-16
    for one in element.all("max-used-iterations"):
        settings["max_columns"] = reader.number(one, kind=int)
    for one in element.all("time-windows-reused"):
        value = one.attributes.get("value", "")
        if not value.isdigit():
            reader.problem(one, f"\"value\" is \"{value}\"; a whole number is wanted")
        settings["reused_windows"] = int(value) if value.isdigit() else 0
    for one in element.all("imvj-restart-mode"):
        if "chunk-size" in one.attributes:
            settings["restart_windows"] = reader.number(one, "chunk-size", int)
