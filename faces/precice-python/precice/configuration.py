"""Reads `precice-config.xml`: which participants exchange which data on which meshes, and how a window is
computed. Elements and attributes that this module does not have are named with their lines."""

import re
import stat
import sys
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from xml.parsers import expat

from . import radial
from .errors import Error

# Elements without a meaning here: Ligament logs, measures times, and joins programs itself.
WITHOUT_MEANING = {"log", "profiling", "m2n:sockets", "m2n:mpi", "m2n:mpi-multiple-ports"}
# Elements that write files. They are left out with a warning.
LEFT_OUT = {"export:vtk", "export:vtu", "export:vtp", "export:csv", "watch-point", "watch-integral"}
# The attributes of each element that are read, or without effect (docs/faces/precice.md).
_MEASURE, _DATA, _MAPPING = "data mesh limit", "name waveform-degree", "direction from to constraint"
ATTRIBUTES = {name: frozenset(words.split()) for name, words in {
    "precice-configuration": "experimental wait-in-finalize sync-mode",
    "solver-interface": "dimensions experimental",
    "data:scalar": _DATA, "data:vector": _DATA, "mesh": "name dimensions", "use-data": "name",
    "participant": "name control", "provide-mesh": "name",
    "receive-mesh": "name from safety-factor geometric-filter api-access direct-access",
    "write-data": "name mesh", "read-data": "name mesh", "data": "name mesh",
    "mapping:nearest-neighbor": _MAPPING, "mapping:nearest-projection": _MAPPING,
    "mapping:rbf": _MAPPING + " polynomial",
    "mapping:rbf-global-direct": _MAPPING + " polynomial",
    "mapping:rbf-global-iterative": _MAPPING + " polynomial solver-rtol",
    "mapping:rbf-pum-direct": _MAPPING + " polynomial vertices-per-cluster relative-overlap project-to-input",
    **{f"basis-function:{name}": "support-radius shape-parameter" for name in radial.FUNCTIONS},
    "participants": "first second",
    "max-time": "value", "max-time-windows": "value", "time-window-size": "value method",
    "max-iterations": "value", "min-iterations": "value", "exchange": "data mesh from to initialize substeps",
    "absolute-convergence-measure": _MEASURE, "relative-convergence-measure": _MEASURE,
    "residual-relative-convergence-measure": _MEASURE, "relaxation": "value", "initial-relaxation": "value",
    "preconditioner": "type", "filter": "type limit", "max-used-iterations": "value",
    "time-windows-reused": "value", "imvj-restart-mode": "type chunk-size",
}.items()}
# The most that a file has: a person writes it, and other files cost much time and memory.
MAX_FILE_BYTES, MAX_ELEMENTS, MAX_DEPTH = 1 << 20, 10_000, 32
# The characters of a problem and the names in a list that are shown.
MAX_PROBLEM_CHARS, MAX_NAMES = 1000, 20
# Whole numbers are smaller: the mapper counts with 32 bits.
NUMBER_LIMIT = 1 << 31
# Values with which other attributes change nothing, if they are not those of "false".
HARMLESS = {"freeze-after": ("-1",)}
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


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
    """Mapping from one mesh to another: by `basis`, or to the nearest neighbour if it is `None`, or to the
    nearest place on a cell if `projects`. `direction` is `read` or `write`."""

    direction: str
    source: str
    target: str
    constraint: str
    basis: radial.Basis | None
    projects: bool = False

    def with_cells(self):
        """The mesh whose cells a projection needs."""
        return self.target if self.constraint == "conservative" else self.source


@dataclass(frozen=True)
class Exchange:
    """Data on a mesh that one participant sends to another. `substeps` is false if only the values at the end
    of a window count."""

    data: str
    mesh: str
    sender: str
    receiver: str
    initialize: bool
    substeps: bool


@dataclass
class Role:
    """The meshes and data that one participant provides, receives, writes and reads."""

    provided: set = field(default_factory=set)
    received: dict = field(default_factory=dict)
    # The received meshes whose points the program asks for.
    accessed: set = field(default_factory=set)
    written: list = field(default_factory=list)
    read: list = field(default_factory=list)
    mappings: list = field(default_factory=list)

    def has(self, mesh):
        return mesh in self.provided or mesh in self.received

    def maps(self, direction, source, target):
        """True if there is a mapping between two meshes."""
        return any((one.direction, one.source, one.target) == (direction, source, target)
                   for one in self.mappings)


@dataclass
class Configuration:
    """A whole configuration."""

    path: Path
    vectors: dict  # data → true if it is a vector
    dimensions: dict  # mesh → number of coordinates
    roles: dict
    exchanges: list
    scheme: str
    firsts: list  # the participants that compute first in a serial scheme
    settings: dict
    warnings: list
    window_samples: int = 1

    @property
    def implicit(self):
        return self.scheme.endswith("implicit")

    def key(self, exchange):
        """The name of the ports of an exchange. Data that go to several participants on one mesh share it."""
        others = {(one.mesh, one.sender) for one in self.exchanges if one.data == exchange.data}
        name = exchange.data if len(others) == 1 else f"{exchange.data}_{exchange.mesh}_{exchange.sender}"
        return identifier(name)

    def needs_cells(self, mesh):
        """True if a mapping of a participant projects on a mesh."""
        return any(one.projects and one.with_cells() == mesh
                   for role in self.roles.values() for one in role.mappings)

    def initializes(self, exchange):
        """True if data have values at the beginning that their sender has written. They are 0 otherwise."""
        return any(one.initialize for one in self.exchanges if self.key(one) == self.key(exchange))

    @property
    def clocks(self):
        """The participants that receive no data, each with the one that sends it a number for each window: a
        participant sees the windows from what it receives."""
        senders, receivers = ([getattr(one, end) for one in self.exchanges] for end in ("sender", "receiver"))
        alone = [name for name in dict.fromkeys(senders) if name not in receivers]
        return {name: receivers[senders.index(name)] for name in alone}

    def clock_key(self, name):
        """The name of the ports of the number that a participant of `clocks` receives."""
        key, others = f"clock_{identifier(name)}", {self.key(one) for one in self.exchanges}
        while key in others:
            key += "_"
        return key

    def written_mesh(self, exchange):
        """The mesh on which the sender writes the data of an exchange; `None` if there is none."""
        return next(iter(self.written_meshes(exchange)), None)

    def written_meshes(self, exchange):
        """The meshes on which the sender writes data that are joined to those of an exchange."""
        role = self.roles[exchange.sender]
        return [mesh for data, mesh in role.written if data == exchange.data
                and (mesh == exchange.mesh or role.maps("write", mesh, exchange.mesh))]

    def read_places(self, exchange):
        """The meshes and data on which the receiver reads the data of an exchange."""
        role = self.roles[exchange.receiver]
        return [(mesh, data) for data, mesh in role.read if data == exchange.data
                and (mesh == exchange.mesh or role.maps("read", exchange.mesh, mesh))]

    def samples(self, exchange):
        """The number of samples of data in each window, at equal distances. The last one is at its end."""
        # Receivers on one mesh get the same message.
        has_substeps = any(one.substeps for one in self.exchanges if self.key(one) == self.key(exchange))
        return self.window_samples if has_substeps else 1

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
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if name[:1].isalpha() else f"d_{name}"


def text_of(path):
    """The text of a file. Raises `Error` if it is no regular file in UTF-8, or has more than
    `MAX_FILE_BYTES`."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise Error(f"{path} cannot be read: it is no regular file")
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Error(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise Error(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB, which no configuration needs; name a "
                    "configuration of preCICE")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Error(f"{path}:{line}: this is no text in UTF-8; save it as UTF-8") from error


def elements(path):
    """The root element of a file. Raises `Error` for what is no XML, has entities, or is too large."""
    text = text_of(path)
    root = Element("", {}, 0)
    stack, count, has_doctype = [root], 0, False
    # The text is UTF-8 whatever its first line says.
    parser = expat.ParserCreate("utf-8")

    def refuse(line, what):
        raise Error(f"{path}:{line}: {what}")

    def start(name, attributes):
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            refuse(parser.CurrentLineNumber, f"the file has more than {MAX_ELEMENTS} elements")
        if len(stack) > MAX_DEPTH:
            refuse(parser.CurrentLineNumber, f"<{shortened(name)}> is in more than {MAX_DEPTH} elements")
        element = Element(name, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def see_doctype(*_):
        nonlocal has_doctype
        has_doctype = True

    # A short file with entities can stand for a very long text.
    def refuse_entity(*_):
        refuse(parser.CurrentLineNumber, "the file declares an entity; write its text where it is used")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    parser.StartDoctypeDeclHandler = see_doctype
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise Error(f"{path}:{error.lineno}: {expat.ErrorString(error.code)}") from error
    # Without this, an entity of a DTD, which is not read, would be an empty text.
    found = re.search(r"&(?!#|(?:lt|gt|amp|apos|quot);)", text) if has_doctype else None
    if found:
        refuse(text.count("\n", 0, found.start()) + 1, "this entity is not declared here; write its text")
    return root.children[0]


def shortened(text):
    """A text on one line, without what exceeds `MAX_PROBLEM_CHARS`."""
    text = re.sub(r"[\r\n]+", " ", text[:MAX_PROBLEM_CHARS + 1])
    return text if len(text) <= MAX_PROBLEM_CHARS else f"{text[:MAX_PROBLEM_CHARS]}…"


def listed(names):
    """The first names of several."""
    more = len(names) - MAX_NAMES
    shown = ", ".join(islice(names, MAX_NAMES))
    return f"{shown} and {more} more" if more > 0 else shown or "none"


class Reader:
    """Reads elements and collects what is wrong with them."""

    def __init__(self, path):
        self.path, self.problems, self.warnings = Path(path), [], []
        # The ids of elements whose children have been looked at, or do not count.
        self._looked_at = set()

    def problem(self, element, text):
        self.problems.append(f"{self.path}:{element.line}: {shortened(text)}")

    def warning(self, element, text):
        self.warnings.append(f"{self.path}:{element.line}: {shortened(text)}")

    def unknown(self, element, known):
        """Names the children that are not known."""
        self._looked_at.add(id(element))
        for child in element.children:
            if child.name in known:
                continue
            self.skip(child)
            if child.name in LEFT_OUT:
                self.warning(child, f"<{child.name}> is left out: no file is written; sinks of the model write "
                                    "data")
            elif child.name not in WITHOUT_MEANING:
                self.problem(child, f"<{child.name}> in <{element.name}> is not there in Ligament's face of "
                                    "preCICE; take it out, or write the model by hand")

    def skip(self, element):
        """Names nothing in an element, which is named itself or has no meaning here."""
        self._looked_at.add(id(element))
        for child in element.children:
            self.skip(child)

    def within_leaves(self, element):
        """Names elements in elements that can have none."""
        if id(element) not in self._looked_at:
            self.unknown(element, ())
        for child in element.children:
            self.within_leaves(child)

    def unread(self, element):
        """Names the attributes of an element, and of those in it, that would change nothing."""
        for child in element.children:
            self.unread(child)
        known = ATTRIBUTES.get(element.name)
        for name, value in element.attributes.items():
            if known is None or name in known or name.startswith("xmlns"):
                continue
            if value.lower() not in HARMLESS.get(name, FALSE):
                self.problem(element, f"\"{name}\" of <{element.name}> is not there in Ligament's face of "
                                      "preCICE; take it out")

    def need(self, element, name):
        """An attribute that must be there."""
        if not element.attributes.get(name):
            self.problem(element, f"<{element.name}> has no \"{name}\"")
        return element.attributes.get(name, "")

    def named(self, element, attribute, known):
        """An attribute with one of the names that are known."""
        name = self.need(element, attribute)
        if name and name not in known:
            self.problem(element, f"<{element.name}> names \"{name}\", and there are {listed(known)}")
        return name

    def names(self, elements):
        """The names of elements, each with its element; no two are the same in a model."""
        found, in_model = {}, {}
        for one in elements:
            name = self.need(one, "name")
            other = in_model.setdefault(identifier(name), name)
            if name and other in found:
                self.problem(one, f"the names \"{other}\" and \"{name}\" of two <{one.name}> are both "
                                  f"{identifier(name)} in a model; give one of them another name")
            if name in found:
                self.skip(one)
                continue
            found[name] = one
        return found

    def flag(self, element, name, otherwise="false"):
        """A word for true or false in an attribute; `otherwise` if it is not there."""
        word = element.attributes.get(name, otherwise).lower()
        if word not in TRUE + FALSE:
            self.problem(element, f"\"{name}\" of <{element.name}> is \"{word}\"; true or false is wanted")
        return word in TRUE

    def only(self, element, *names):
        """The child of one of these names in a list, which is empty if there is none."""
        found = element.all(*names)
        for one in found[1:]:
            self.problem(one, f"<{one.name}> comes after <{found[0].name}> on line {found[0].line}; one is "
                              "wanted")
        return found[:1]

    def number(self, element, name="value", kind=float):
        """A number above 0 in an attribute."""
        text = self.need(element, name)
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < (NUMBER_LIMIT if kind is int else float("inf")):
            wanted = f"a whole number from 1 to {NUMBER_LIMIT - 1}" if kind is int else "a number above 0"
            self.problem(element, f"\"{name}\" of <{element.name}> is \"{text}\"; {wanted} is wanted")
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
    reader.unread(root)
    # Version 2 had an element more around all of these.
    top = next(iter(root.all("solver-interface")), root)
    if top is not root:
        reader.unknown(root, {"solver-interface"})
    schemes = [child for child in top.children if child.name.startswith("coupling-scheme:")]
    reader.unknown(top, {"data:scalar", "data:vector", "mesh", "participant", *(one.name for one in schemes)})
    data = reader.names(top.all("data:scalar", "data:vector"))
    vectors = {name: one.name == "data:vector" for name, one in data.items()}
    dimensions = {}
    for name, mesh in reader.names(top.all("mesh")).items():
        reader.unknown(mesh, {"use-data"})
        given = mesh.attributes.get("dimensions") or top.attributes.get("dimensions")
        if given not in ("1", "2", "3"):
            reader.problem(mesh, "a mesh has \"dimensions\" 1, 2 or 3")
        dimensions[name] = int(given) if given in ("1", "2", "3") else 0
    participants = reader.names(top.all("participant"))
    roles = {name: role(reader, one, vectors, dimensions, participants) for name, one in participants.items()}
    if not schemes:
        reader.problem(root, "there is no coupling scheme; add <coupling-scheme:multi>, for example")
        reader.finish()
    configuration = Configuration(Path(path), vectors, dimensions, roles, [], "", [], {}, reader.warnings)
    for one in schemes:
        read_scheme(reader, one, configuration)
    check_schemes(reader, schemes, configuration)
    reader.within_leaves(root)
    reader.finish()
    check_meshes(reader, participants, roles)
    check_data(reader, participants, configuration, schemes)
    reader.finish()
    return configuration


def role(reader, element, data, meshes, participants):
    """Reads a participant."""
    reader.unknown(element, {"provide-mesh", "receive-mesh", "write-data", "read-data",
                             *MAPPINGS})
    role = Role()
    role.provided = {reader.named(one, "name", meshes) for one in element.all("provide-mesh")}
    role.received = {reader.named(one, "name", meshes): reader.named(one, "from", participants)
                     for one in element.all("receive-mesh")}
    # The second name is that of older versions of preCICE 3.
    role.accessed = {one.attributes.get("name") for one in element.all("receive-mesh")
                     if reader.flag(one, "api-access") or reader.flag(one, "direct-access")}
    role.written, role.read = ([(reader.named(one, "name", data), reader.named(one, "mesh", meshes))
                                for one in element.all(name)] for name in ("write-data", "read-data"))
    role.mappings = [mapping(reader, one, meshes) for one in element.all(*MAPPINGS)]
    return role


NEAREST, PROJECTION = "mapping:nearest-neighbor", "mapping:nearest-projection"
MAPPINGS = (NEAREST, PROJECTION, "mapping:rbf", "mapping:rbf-global-direct",
            "mapping:rbf-global-iterative", "mapping:rbf-pum-direct")


def mapping(reader, element, meshes):
    """Reads a mapping."""
    constraint = reader.need(element, "constraint")
    if constraint not in ("consistent", "conservative"):
        reader.problem(element, f"the constraint \"{constraint}\" is not there; consistent and "
                                "conservative are")
    direction = reader.need(element, "direction")
    if direction not in ("read", "write"):
        reader.problem(element, f"the direction \"{direction}\" is not there; read and write are")
    ends = (reader.named(element, end, meshes) for end in ("from", "to"))
    basis = None if element.name in (NEAREST, PROJECTION) else read_basis(reader, element, constraint)
    return Mapping(direction, *ends, constraint, basis, element.name == PROJECTION)


def read_basis(reader, element, constraint):
    """Reads the function and the polynomial of a mapping by radial basis functions."""
    polynomial = element.attributes.get("polynomial", "separate")
    if polynomial not in ("separate", "on", "off"):
        reader.problem(element, f"\"polynomial\" is \"{polynomial}\"; separate, on or off is wanted")
    if (polynomial, constraint) == ("off", "conservative"):
        reader.warning(element, "without a polynomial, a conservative mapping does not keep the sum")
    names = {f"basis-function:{name}": name for name in radial.FUNCTIONS}
    reader.unknown(element, names)
    found = reader.only(element, *names)
    if not found:
        reader.problem(element, f"<{element.name}> needs a basis function: {', '.join(names)}")
        return None
    (one,), lengths = found, {}
    for attribute in ("support-radius", "shape-parameter"):
        lengths[attribute] = reader.number(one, attribute) if attribute in one.attributes else None
    name = names[one.name]
    known = [attribute for attribute, functions in
             (("support-radius", radial.COMPACT), ("shape-parameter", radial.SHAPED)) if name in functions]
    given = [attribute for attribute, value in lengths.items() if value is not None]
    if given not in ([[attribute] for attribute in known] or [[]]):
        reader.problem(one, f"<{one.name}> has {' and '.join(given) or 'no length'}; "
                            f"{' or '.join(known) or 'none'} is wanted")
    return radial.Basis(name, *lengths.values(), polynomial)


def check_meshes(reader, participants, roles):
    """Names meshes that a participant uses and does not have."""
    for name, role in roles.items():
        element = participants[name]
        for one in element.all("receive-mesh"):
            mesh, provider = one.attributes["name"], one.attributes["from"]
            if mesh not in roles[provider].provided:
                reader.problem(one, f"\"{provider}\" does not provide the mesh \"{mesh}\"; name the "
                                    "participant that has <provide-mesh> for it")
        used = [(one, one.attributes["mesh"]) for one in element.all("write-data", "read-data")]
        used += [(one, one.attributes[end]) for one in element.all(*MAPPINGS) for end in ("from", "to")]
        for one, mesh in used:
            if not role.has(mesh):
                reader.problem(one, f"\"{name}\" has no mesh \"{mesh}\"; add <provide-mesh> or <receive-mesh>")


def check_data(reader, participants, configuration, schemes):
    """Names data that are read and never come, and data that are sent and never written or mapped."""
    for name, role in configuration.roles.items():
        received = [one for one in configuration.exchanges if one.receiver == name]
        come = {}
        for one in received:
            for place in configuration.read_places(one):
                come.setdefault(place, {})[one.mesh, one.sender] = f"\"{one.mesh}\" from \"{one.sender}\""
        for one in participants[name].all("read-data"):
            data, mesh = one.attributes["name"], one.attributes["mesh"]
            if data not in {other.data for other in received}:
                reader.problem(one, f"\"{name}\" reads \"{data}\", and no <exchange> brings it")
            elif len(come.get((mesh, data), ())) > 1:
                ways = " and on ".join(come[mesh, data].values())
                reader.problem(one, f"\"{name}\" reads \"{data}\" on \"{mesh}\", and it comes on {ways}; one "
                                    "of them is wanted")
            elif (mesh, data) not in come:
                sources = listed(dict.fromkeys(f"\"{other.mesh}\"" for other in received if other.data == data))
                reader.problem(one, f"\"{name}\" reads \"{data}\" on \"{mesh}\", and it comes on {sources}; "
                                    "add <mapping:nearest-neighbor direction=\"read\" …> between the meshes")
    elements = (element for scheme in schemes for element in scheme.all("exchange"))
    for element, one in zip(elements, configuration.exchanges, strict=True):
        for name in (one.sender, one.receiver):
            if not configuration.roles[name].has(one.mesh):
                reader.problem(element, f"\"{name}\" has no mesh \"{one.mesh}\"; add <provide-mesh> or "
                                        "<receive-mesh>")
        local = [mesh for data, mesh in configuration.roles[one.sender].written if data == one.data]
        joined = configuration.written_meshes(one)
        if not local:
            reader.problem(element, f"\"{one.sender}\" sends \"{one.data}\", and has no <write-data> for "
                                    "it")
        elif len(joined) > 1:
            meshes = " and on ".join(f"\"{mesh}\"" for mesh in joined)
            reader.problem(element, f"\"{one.sender}\" writes \"{one.data}\" on {meshes}, and each of them "
                                    f"goes to \"{one.mesh}\"; one of them is wanted")
        elif not joined:
            reader.problem(element, f"\"{one.sender}\" sends \"{one.data}\" on \"{one.mesh}\", and writes it "
                                    f"on \"{local[0]}\"; add <mapping:nearest-neighbor direction=\"write\" …> "
                                    "between the meshes")


MEASURES = {"absolute-convergence-measure": "absolute", "relative-convergence-measure": "relative",
            "residual-relative-convergence-measure": "residual_relative"}
ACCELERATIONS = {"acceleration:constant": "constant", "acceleration:aitken": "aitken",
                 "acceleration:IQN-ILS": "iqn-ils", "acceleration:IQN-IMVJ": "iqn-imvj"}
_NEWTON = {"data", "initial-relaxation", "preconditioner", "filter", "max-used-iterations",
           "time-windows-reused"}
PARTS = {"constant": {"data", "relaxation"}, "aitken": {"data", "initial-relaxation"}, "iqn-ils": _NEWTON,
         "iqn-imvj": {*_NEWTON, "imvj-restart-mode"}}
SCHEMES = {"serial-explicit": "serial-explicit", "parallel-explicit": "parallel-explicit",
           "serial-implicit": "serial-implicit", "parallel-implicit": "parallel-implicit",
           "multi": "parallel-implicit"}


# The schemes that can stand beside each other: all of one kind.
SEVERAL = ({"serial-explicit"}, {"parallel-explicit"})
TIMES = {"window": "time window", "until": "end"}


def read_scheme(reader, element, configuration):
    """Reads the coupling scheme into the settings of `ligament.mappers.implicit`."""
    name = element.name.split(":")[1]
    if name not in SCHEMES:
        reader.problem(element, f"the scheme \"{name}\" is not there; {', '.join(SCHEMES)} are")
        reader.skip(element)
        return
    if configuration.scheme and {configuration.scheme, SCHEMES[name]} not in SEVERAL:
        reader.problem(element, f"<{element.name}> stands beside a scheme that is {configuration.scheme}; "
                                "several schemes are all parallel-explicit, or all serial-explicit, and "
                                "participants that iterate go into one <coupling-scheme:multi>")
        reader.skip(element)
        return
    configuration.scheme = SCHEMES[name]
    known = {"participant" if name == "multi" else "participants", "max-time", "max-time-windows",
             "time-window-size", "exchange"}
    if configuration.implicit:
        known |= {"min-iterations", "max-iterations", *MEASURES, *ACCELERATIONS}
    reader.unknown(element, known)
    settings = configuration.settings
    settings["scheme"] = configuration.scheme
    for one in element.all("exchange"):
        configuration.exchanges.append(exchange(reader, one, configuration))
    pairs = [[reader.named(one, place, configuration.roles) for place in ("first", "second")]
             for one in reader.only(element, "participants")]
    members = [name for pair in pairs for name in pair]
    if name == "multi":
        members = [reader.named(one, "name", configuration.roles) for one in element.all("participant")]
    check_members(reader, element, members)
    read_times(reader, element, settings)
    if configuration.scheme.startswith("serial"):
        if not pairs:
            reader.problem(element, "a serial scheme needs <participants first=… second=…>")
        configuration.firsts += [first for first, _ in pairs if first not in configuration.firsts]
    if configuration.implicit:
        settings["no_convergence"] = "warn"
        settings["acceleration"] = "none"
        read_measures(reader, element, configuration)
        for one in reader.only(element, *ACCELERATIONS):
            read_acceleration(reader, one, configuration)


def check_schemes(reader, schemes, configuration):
    """Says who computes first in all schemes. Names participants that would be first and second."""
    if not configuration.scheme.startswith("serial"):
        return
    for scheme in schemes:
        for one in scheme.all("participants"):
            second = one.attributes.get("second")
            if second in configuration.firsts and second != one.attributes.get("first"):
                reader.problem(one, f"\"{second}\" computes second here and first in another scheme, which is "
                                    "not there; let it be first, or second, in all schemes")
    first = [configuration.key(one) for one in configuration.exchanges if one.sender in configuration.firsts]
    first += [configuration.clock_key(name) for name, sender in configuration.clocks.items()
              if sender in configuration.firsts]
    configuration.settings["first"] = " ".join(dict.fromkeys(first))


def check_members(reader, scheme, members):
    """Names exchanges with a participant that is not in the scheme, and members twice."""
    for one in {name for name in members if name and members.count(name) > 1}:
        reader.problem(scheme, f"<{scheme.name}> names the participant \"{one}\" twice")
    for one in scheme.all("exchange"):
        for end in ("from", "to"):
            name = one.attributes.get(end)
            if members and name and name not in members:
                reader.problem(one, f"\"{end}\" of <exchange> is \"{name}\", which is not in the scheme; add "
                                    "it to the participants of the scheme")
        if one.attributes.get("from") == one.attributes.get("to"):
            reader.problem(one, "<exchange> goes from a participant to itself")


def exchange(reader, element, configuration):
    known = {"data": configuration.vectors, "mesh": configuration.dimensions, "from": configuration.roles,
             "to": configuration.roles}
    return Exchange(*(reader.named(element, *one) for one in known.items()),
                    reader.flag(element, "initialize"), reader.flag(element, "substeps", "true"))


def read_times(reader, element, settings):
    """Reads the times of a scheme. Those of several schemes are the same."""
    others = {name: settings.pop(name) for name in ("window", "until") if name in settings}
    for one in reader.only(element, "time-window-size"):
        if one.attributes.get("method", "fixed") != "fixed":
            reader.problem(one, "the method \"first-participant\" is not there; give a \"value\"")
        settings["window"] = reader.number(one)
    for one in reader.only(element, "max-time"):
        settings["until"] = reader.number(one)
    for one in reader.only(element, "max-time-windows"):
        until = reader.number(one, kind=int) * settings.get("window", 1.0)
        settings["until"] = min(settings.get("until", until), until)
    for name in ("max-iterations", "min-iterations"):
        for one in reader.only(element, name):
            # The greatest number is unlimited if it is -1.
            if (name, one.attributes.get("value")) != ("max-iterations", "-1"):
                settings[name.replace("-", "_")] = reader.number(one, kind=int)
    for name in ("window", "until"):
        if name not in settings:
            reader.problem(element, "the scheme needs <time-window-size> and <max-time> or <max-time-windows>")
            return
        if others.get(name, settings[name]) != settings[name]:
            reader.problem(element, f"the {TIMES[name]} is {settings[name]!r} here and {others[name]!r} in the "
                                    "scheme before; give all schemes the same")


def key_of(reader, element, attribute, configuration):
    """The ports of the data that an attribute of an element names."""
    data, mesh = reader.need(element, attribute), reader.need(element, "mesh")
    for one in configuration.exchanges:
        if (one.data, one.mesh) == (data, mesh):
            return configuration.key(one)
    reader.problem(element, f"no <exchange> has the data \"{data}\" on the mesh \"{mesh}\"")
    return None


def read_measures(reader, element, configuration):
    limits = []
    for one in element.all(*MEASURES):
        limit = reader.number(one, "limit")
        limits.append(f"{key_of(reader, one, 'data', configuration)} {MEASURES[one.name]} {limit!r}")
    settings = configuration.settings
    if not limits and "max_iterations" in settings and configuration.exchanges:
        # Without a measure, each window has its greatest number of iterations.
        limits = [f"{configuration.key(configuration.exchanges[0])} absolute {sys.float_info.max!r}"]
        settings["min_iterations"] = settings["max_iterations"]
    elif not limits:
        reader.problem(element, "an implicit scheme needs a convergence measure or <max-iterations>")
    # Each kind of data that goes to several participants is one of the coupling.
    settings["limits"] = ", ".join(dict.fromkeys(limits))
    settings.setdefault("max_iterations", NUMBER_LIMIT - 1)


def read_acceleration(reader, element, configuration):
    settings = configuration.settings
    settings["acceleration"] = ACCELERATIONS[element.name]
    reader.unknown(element, PARTS[settings["acceleration"]])
    names = [key_of(reader, one, "name", configuration) for one in element.all("data")]
    if names and None not in names:
        settings["accelerated_by"] = " ".join(dict.fromkeys(names))
    for one in reader.only(element, "relaxation", "initial-relaxation"):
        settings["relaxation"] = reader.number(one)
    for one in reader.only(element, "preconditioner"):
        kinds, kind = ("residual-sum", "residual", "value"), reader.need(one, "type")
        if kind not in kinds:
            reader.problem(one, f"the preconditioner \"{kind}\" is not there; {', '.join(kinds)} are")
        settings["scaling"] = kind
    for one in reader.only(element, "filter"):
        kind = one.attributes.get("type", "").lower()
        if kind not in ("qr1", "qr2", "qr3"):
            reader.problem(one, f"the filter \"{one.attributes.get('type')}\" is not there; QR1, "
                                "QR2 and QR3 are")
        # QR3 decides as QR2 does, and saves it some work.
        settings["filter"] = "qr1" if kind == "qr1" else "qr2"
        settings["filter_limit"] = reader.number(one, "limit") if "limit" in one.attributes else 1e-16
    for one in reader.only(element, "max-used-iterations"):
        settings["max_columns"] = reader.number(one, kind=int)
    for one in reader.only(element, "time-windows-reused"):
        value = reader.need(one, "value")
        if value.isdecimal() and len(value) < 10:
            settings["reused_windows"] = int(value)
        else:
            reader.problem(one, f"\"value\" is \"{value}\"; a whole number is wanted")
    for one in reader.only(element, "imvj-restart-mode"):
        if one.attributes.get("type", "RS-LS") != "RS-LS":
            reader.problem(one, f"the mode \"{one.attributes['type']}\" is not there; RS-LS is")
        if "chunk-size" in one.attributes:
            settings["restart_windows"] = reader.number(one, "chunk-size", int)
