"""The kinds of arguments and results: how Fortran declares them, and how they pass to C++ and back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A kind that passes by value. `{P}` is the prefix of the module."""

    fortran: str
    interoperable: str
    cpp: str
    converted: str = "{}"


NUMBERS = {
    "logical": Number("logical", "logical(c_bool)", "bool", "logical({}, c_bool)"),
    "int": Number("integer", "integer(c_int)", "int"),
    "int1": Number("integer({P}_int1)", "integer(c_int8_t)", "std::int8_t"),
    "int2": Number("integer({P}_int2)", "integer(c_int16_t)", "std::int16_t"),
    "int4": Number("integer({P}_int4)", "integer(c_int32_t)", "std::int32_t"),
    "int8": Number("integer({P}_int8)", "integer(c_int64_t)", "std::int64_t"),
    "size": Number("integer({P}_size)", "integer(c_size_t)", "std::size_t"),
    "real4": Number("real({P}_real4)", "real(c_float)", "float"),
    "real8": Number("real({P}_real8)", "real(c_double)", "double"),
    "operator": Number("integer(YMMSL_Operator)", "integer(c_int)", "int"),
    "communicator": Number("integer", "integer(c_int)", "int"),
}
# Arrays of one or two dimensions: the kind of an element, the dimensions, and the type in C++.
ARRAYS = {
    "int8array": ("int8", 1, "std::vector<std::int64_t>"),
    "real8array": ("real8", 1, "std::vector<double>"),
    "real8array2": ("real8", 2, "std::vector<std::vector<double>>"),
    "sizes": ("size", 1, "std::vector<std::size_t>"),
    "bytes": ("byte", 1, "std::vector<char>"),
}
TEXTS = ("character", "words", "names")
# The value of an optional argument that is not given.
DEFAULTS = {"communicator": "ligament_face_world()", "PortsDescription": "-1"}


def cpp_type(kind):
    """The type in C++ of a kind that a `$` of the table stands for."""
    if kind == "character":
        return "std::string"
    return ARRAYS[kind][2] if kind in ARRAYS else NUMBERS[kind].cpp


def is_object(kind):
    """True for a type of the modules, which passes as its number."""
    return kind[0].isupper() and kind != "InstanceFlags"


def prefix_of(kind, prefix):
    return "YMMSL" if kind == "Settings" else prefix


def element(kind, prefix):
    """The declaration of an array's element in a module, in an interface, and in C++."""
    if kind == "byte":
        return "character(len=1)", "character(kind=c_char)", "char"
    number = NUMBERS[kind]
    return number.fortran.format(P=prefix), number.interoperable, number.cpp


def array_of(argument):
    """The kind of the elements and the number of dimensions, or None if this is no array."""
    if argument.dimensions and argument.kind != "names":
        return argument.kind, argument.dimensions
    return ARRAYS[argument.kind][:2] if argument.kind in ARRAYS else None


def colons(dimensions):
    return ",".join(":" * dimensions)


# ---- Fortran


def index_names(argument):
    return [f"index_name_{number}" for number in range(1, argument.dimensions + 1)]


def dummies(argument):
    """The names of the arguments of a procedure for one of the table."""
    if argument.kind == "words":
        return []
    return index_names(argument) if argument.kind == "names" else [argument.name]


def declarations(argument, prefix, intent="in"):
    """The declarations of an argument in a procedure."""
    optional = ", optional" if argument.is_optional else ""
    kind, name = argument.kind, argument.name
    if kind == "words":
        return []
    if kind in ("character", "names"):
        return [f"character(len=*), intent(in) :: {one}" for one in dummies(argument)]
    if array := array_of(argument):
        return [f"{element(array[0], prefix)[0]}, intent({intent}) :: {name}({colons(array[1])})"]
    if kind == "InstanceFlags":
        return [f"type({prefix}_{kind}), intent(in){optional} :: {name}"]
    if is_object(kind):
        return [f"class({prefix_of(kind, prefix)}_{kind}), intent(in){optional} :: {name}"]
    return [f"{NUMBERS[kind].fortran.format(P=prefix)}, intent(in){optional} :: {name}"]


def optional_value(argument):
    """A variable, its declaration and its statements, for an optional argument."""
    kind, name = argument.kind, argument.name
    given = f"{name}%to_int()" if kind == "InstanceFlags" else f"{name}%ptr" if is_object(kind) else name
    declared = "integer(c_intptr_t)" if is_object(kind) else "integer(c_int)"
    statements = [f"{name}_or_not = {DEFAULTS.get(kind, '0')}", f"if (present({name})) {name}_or_not = {given}"]
    return f"{name}_or_not", f"{declared} :: {name}_or_not", statements


def passed(argument):
    """The expression that a procedure passes to C++ for an argument that is always there."""
    kind, name = argument.kind, argument.name
    if kind == "words":
        return ["command_words()", "int(len(command_words()), c_size_t)"]
    if kind == "names":
        text = "".join(f"{one} // c_null_char // " for one in index_names(argument)) + "''"
        return [text, f"len({text}, c_size_t)"]
    if kind == "character":
        return [name, f"int(len({name}), c_size_t)"]
    if array := array_of(argument):
        value = NUMBERS["logical"].converted.format(name) if array[0] == "logical" else name
        if argument.dimensions:
            return [value, f"shape({name}, c_size_t)", f"{array[1]}_c_size_t"]
        return [value, f"shape({name}, c_size_t)" if array[1] == 2 else f"size({name}, kind=c_size_t)"]
    return [f"{name}%ptr" if is_object(kind) else NUMBERS[kind].converted.format(name)]


def interface(argument, intent="in"):
    """The arguments of the function in C++, each with its declaration in Fortran."""
    kind, name = argument.kind, argument.name
    if kind in TEXTS:
        return [(name, "character(kind=c_char), intent(in) :: {}(*)"),
                (f"{name}_size", "integer(c_size_t), value :: {}")]
    if array := array_of(argument):
        elements = (name, element(array[0], "")[1] + f", intent({intent}) :: {{}}(*)")
        shape = (f"{name}_shape", "integer(c_size_t), intent(in) :: {}(*)")
        if argument.dimensions:
            return [elements, shape, (f"{name}_rank", "integer(c_size_t), value :: {}")]
        return [elements, shape if array[1] == 2 else (f"{name}_size", "integer(c_size_t), value :: {}")]
    if is_object(kind):
        return [(name, "integer(c_intptr_t), value :: {}")]
    return [(name, (NUMBERS["int" if kind == "InstanceFlags" else kind].interoperable) + ", value :: {}")]


# ---- C++


def parameters(argument, is_result=False):
    """The parameters of the function in C++ for an argument."""
    kind, name = argument.kind, argument.name
    const = "" if is_result else "const "
    if kind in TEXTS:
        return [f"char const *{name}_text", f"std::size_t {name}_size"]
    if array := array_of(argument):
        elements = f"{element(array[0], '')[2]} {const}*{name}_elements"
        if argument.dimensions:
            return [elements, f"std::size_t const *{name}_shape", f"std::size_t {name}_rank"]
        return [elements, f"std::size_t const *{name}_shape" if array[1] == 2 else f"std::size_t {name}_size"]
    if is_object(kind):
        return [f"std::intptr_t {name}_number"]
    return [f"{NUMBERS['int' if kind == 'InstanceFlags' else kind].cpp} {name}"]


def local(argument, prefix):
    """The statement in C++ that makes the argument as the table's expression uses it."""
    kind, name = argument.kind, argument.name
    if kind == "character":
        return [f"std::string const {name}({name}_text, {name}_size);"]
    if kind in TEXTS:
        return [f"auto const {name} = words_of({name}_text, {name}_size);"]
    if argument.dimensions:
        return [f"Array<{element(kind, '')[2]} const> const {name}{{{name}_elements, "
                f"{{{name}_shape, {name}_shape + {name}_rank}}}};"]
    if kind == "real8array2":
        return [f"auto const {name} = rows_of({name}_elements, {name}_shape);"]
    if kind in ARRAYS:
        return [f"{cpp_type(kind)} const {name}({name}_elements, {name}_elements + {name}_size);"]
    if not is_object(kind):
        return []
    found = f'Objects<{kind}>::all().get({name}_number, "{prefix_of(kind, prefix)}_{kind}")'
    if argument.is_optional:
        return [f"auto const {name}_held = {name}_number == -1 ? nullptr : {found};",
                f"{kind} *const {name} = {name}_held.get();"]
    return [f"auto const {name}_held = {found};", f"{kind} &{name} = *{name}_held;"]


def returned(result):
    """The type that the function in C++ returns, and its statement around the table's expression."""
    if result is None:
        return "void", "{};"
    kind, name = result.kind, result.name
    if kind == "character":
        return "void", "outcome().text = {};"
    if kind == "characters":
        return "void", "outcome().texts = {};"
    if result.dimensions:
        shape = f"{{{{{name}_shape, {name}_shape + {name}_rank}}}}"
        return "void", f"give_elements({{}}, Array<{element(kind, '')[2]}>{{{{{name}_elements, {shape}}}}});"
    if kind in ARRAYS:
        return "void", f"give({{}}, {name}_elements, {name}_{'shape' if ARRAYS[kind][1] == 2 else 'size'});"
    if is_object(kind):
        return "std::intptr_t", f"return Objects<{kind}>::all().add({{}});"
    return NUMBERS[kind].cpp, "return {};"


