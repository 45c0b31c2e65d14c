"""Writes the functions in C++ which the modules call."""

import kinds
from table import Argument

HEAD = """// The calls of the module {name} in C++. Made by faces/libmuscle-fortran/src/generate.py.
#include "{name}_calls.hpp"

using namespace face_fortran;
"""
WORLD = """
#ifdef MUSCLE_ENABLE_MPI
extern "C" int ligament_face_world() { return MPI_Comm_c2f(MPI_COMM_WORLD); }
#endif
"""
GUARDS = {"mpi": "#ifdef MUSCLE_ENABLE_MPI", "serial": "#ifndef MUSCLE_ENABLE_MPI"}


def expression(call):
    return call.expression.replace("$", kinds.cpp_type(call.kind)) if call.kind else call.expression


def function(module, type_, call):
    """The function of a call."""
    own = [] if call.is_static else [Argument("self", type_.name)]
    arguments = [*own, *call.arguments]
    parameters = [one for argument in arguments for one in kinds.parameters(argument)]
    if call.result and kinds.array_of(call.result):
        parameters += kinds.parameters(call.result, is_result=True)
    locals_ = [line for argument in arguments for line in kinds.local(argument, module.prefix)]
    returns, statement = kinds.returned(call.result)
    lines = [f'extern "C" {returns} ligament_face_{type_.name}_{call.c_name}({", ".join(parameters)}) {{',
             f"    return attempt([&]() -> {returns} {{",
             *(f"        {line}" for line in [*locals_, statement.format(expression(call))]), "    });", "}"]
    if call.only:
        lines = [GUARDS[call.only], *lines, "#endif"]
    return "\n".join(lines) + "\n"


def free(module, type_):
    name = f"{module.prefix}_{type_.name}"
    return (f'extern "C" void ligament_face_{type_.name}_free(std::intptr_t number) {{\n'
            f'    attempt([&] {{ Objects<{type_.name}>::all().free(number, "{name}"); }});\n}}\n')


def text(module):
    parts, seen = [HEAD.format(name=module.name)], set()
    if module.flags:
        parts.append(WORLD.lstrip("\n"))
    for type_ in module.types.values():
        parts.append(free(module, type_))
        for call in type_.calls:
            key = (type_.name, call.c_name, call.only)
            if key not in seen:
                seen.add(key)
                parts.append(function(module, type_, call))
    return "\n".join(parts)
