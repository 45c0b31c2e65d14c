"""A configuration as lines of words between tabs, for the face in C++: the setting `precice_plan`."""

from .configuration import identifier
from .errors import Error

SEPARATOR = "\t"


def mapping_words(mapping):
    """The words of a mapping. That to the nearest neighbour has an empty function."""
    basis = mapping.basis
    words = [mapping.direction, mapping.source, mapping.target, mapping.constraint]
    if basis is None:
        return [*words, "nearest-projection" if mapping.projects else "", 0.0, 0.0, ""]
    return [*words, basis.function, basis.radius or 0.0, basis.shape or 0.0, basis.polynomial]


def lines(configuration):
    """The words of each line."""
    yield "scheme", configuration.scheme
    yield from (("first", name) for name in configuration.firsts)
    for name, is_vector in configuration.vectors.items():
        yield "data", name, "vector" if is_vector else "scalar"
    for name, dimensions in configuration.dimensions.items():
        yield "mesh", name, dimensions, identifier(name), "cells" if configuration.needs_cells(name) else ""
    for name, role in configuration.roles.items():
        yield "participant", name
        yield from (("provide", name, mesh) for mesh in sorted(role.provided))
        yield from (("receive", name, mesh, provider, "access" if mesh in role.accessed else "")
                    for mesh, provider in role.received.items())
        yield from (("write", name, *one) for one in role.written)
        yield from (("read", name, *one) for one in role.read)
        yield from (("map", name, *mapping_words(one)) for one in role.mappings)
    for one in configuration.exchanges:
        yield ("exchange", configuration.key(one), one.data, one.mesh, one.sender, one.receiver,
               "initialize" if configuration.initializes(one) else "", configuration.samples(one))
    for name, sender in configuration.clocks.items():
        yield "clock", configuration.clock_key(name), sender, name


def plan(configuration):
    """The text of the setting."""
    made = [[str(word) for word in words] for words in lines(configuration)]
    for words in made:
        for word in words:
            if SEPARATOR in word or "\n" in word:
                raise Error(f"{configuration.path}: the name {word!r} has a tab or a line break; give it "
                            "another name")
    return "\n".join(SEPARATOR.join(words) for words in made)
