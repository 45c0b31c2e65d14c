"""Holds the language of the sources to the glossary: one noun for one thing, units in names, short lines,
comments whose subject is a noun. `EXCEPTIONS` has every exception, by name. As a program, this file lists its
findings for each crate."""

import collections
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GLOSSARY = ROOT / "docs" / "concepts" / "glossary.md"
MAX_COLUMNS = 112
MAX_TERMS = 50
# Modules that may define a type of one name, if the glossary does not have it.
MAX_MODULES_OF_A_TYPE = 2
MAX_COMMENTS_WITHOUT_A_NOUN = 40

EXCEPTIONS = {
    # `Source` is a trait of two layers for things that can be sent; the sources of a model are another thing.
    "types": {"Source"},
    # A house of a town, in a model of a test.
    "names": {"House"},
    # The name is prescribed by the C header.
    "constants": {"LIG_ABI_MINOR"},
    # Tables, one row in a line; models, programs, and scripts of shells and browsers that tests quote whole.
    "columns": {
        "bindings/c/tests/test_coupled.py", "bindings/cpp/tests/test_cpp.py", "conformance/operations.toml",
        "tests/end_to_end/test_commands.py", "tests/end_to_end/test_unexpected.py",
        "tests/faults/expected.toml",
        "tests/filters/models.py", "tests/filters/test_own.py", "tests/live/test_door.py",
        "tests/live/test_live.py", "tests/live/test_steering_page.py", "tests/live/test_tap.py",
        "tests/models/test_packages.py", "tests/models/test_schema.py", "tests/new/test_from.py",
        "tests/shipped/test_python.py", "tests/shipped/test_shipped.py",
    },
}

# A type, a module or a constant is a noun of the field, not what has happened to it.
RIDDLES = set("""
    abroad above across again agreed another around asked asks became brought built came cargo carried coming
    crowd did drawn ear everyone far few found given glance gone got guest heard house kept lack largest late
    least left lent longest looked lost made many most news often over parting passed pays plenty ran rarely
    said seen seldom sent shortest shown slowest smallest soon standing taken tell there thinned together told
    trouble wanted what whole widest without words worst
""".split())
# A constant for a limit is called MAX or MIN.
SUPERLATIVES = set("fewest largest least longest most often rarely shortest smallest soon".split())

# A constant of time or size ends with one of these.
UNITS = ("_NS", "_US", "_MS", "_S", "_MINUTES", "_HOURS", "_DAYS", "_BYTES", "_KIB", "_MIB", "_BITS", "_WORDS",
         "_LINES", "_PAGES",
         "_COLUMNS", "_CHARS", "_PX", "_HZ", "_PERCENT", "_PER_S", "_SIZE", "_LEN", "_OFFSET", "_AT", "_SHIFT")
COUNTED = re.compile(r"^(MAX|MIN|TAG)_|_PER_|_(COUNT|LIMIT|POLLS)$|^POLLS_")

SUBJECTLESS = re.compile(r"^\s*(?://[/!]?|#|!)\s*(What|Whether|Who|Where|As long as|Those|Nobody|How many)\b")
# An alias that is indented belongs to a trait, such as `type Error`.
TYPE = re.compile(r"^(?:\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([^)]*\))? )?type) "
                  r"(\w+)")
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+)\s*[;{]")
CONSTANT = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:const|static) (\w+): "
                      r"*(usize|[iu](?:8|16|32|64|128)|f32|f64|Nanos)\b *= *(.*)")
MEASURE = re.compile(
    r"\b(bytes?|[KMG]iB|milliseconds?|ms|nanoseconds?|ns|microseconds?|seconds?|minutes?|hours?)\b")
MEASURED_VALUE = re.compile(r"<< *(10|20|30)\b|\bSECOND\b|\bMINUTE\b|\bMILLISECOND\b|size_of")
# The names of types, modules and constants, by the ending of the file. Constants are in capitals.
NAMES = {
    "rs": (TYPE.pattern, MODULE.pattern, r"\s*(?:pub(?:\([^)]*\))? )?(?:const|static) ([A-Z]\w*):"),
    "py": (r"class (\w+)", r"([A-Z_][A-Z0-9_]*(?:, [A-Z_][A-Z0-9_]*)*) = "),
    "ts": (r"(?:export )?(?:abstract )?(?:class|interface|type|enum|const) ([A-Z]\w*)", ),
    "c": (r"\s*(?:typedef )?(?:struct|class|enum class|enum|union) (\w+)(?= ?(?:final )?[:{])", r"\} (\w+);",
          r"\s*#define (\w+)", r"\s*(?:static |inline )*(?:const|constexpr) [\w:<> *]+? ([A-Z][A-Z0-9_]+)\b",
          r"\s*namespace (\w+)", r"\s*enum \{ ?([A-Z]\w+)"),
    "java": (r"\s*(?:\w+ )*(?:class|interface|record|enum) (\w+)",
             r"\s*(?:\w+ )*static final [\w<>\[\]]+ ([A-Z_0-9]+)"),
    "f90": (r"(?i)\s*type(?:,[\w ,()]+)? *(?:::)? *(\w+)\s*$", r"(?i)\s*module (\w+)\s*$",
            r"(?i).*\bparameter\b.*:: *(\w+)"),
}
NAMES.update(tsx=NAMES["ts"], pyi=NAMES["py"], h=NAMES["c"], hpp=NAMES["c"], cpp=NAMES["c"])
BOOLEAN_ARM = re.compile(r"^\s*(?:true|false) =>|\bmatch [^{]*\{ *(?:true|false) =>")

TEXTS = "rs py h c hpp cpp f90 tsx ts java md sh toml yml ymmsl".split()


def files(*suffixes, under=""):
    """Tracked files with one of these endings, without generated ones."""
    listed = subprocess.run(["git", "ls-files", under or "."], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout
    found = [name for name in listed.splitlines() if name.rsplit(".", 1)[-1] in suffixes]
    return [name for name in found if "/built/" not in name and (ROOT / name).is_file()]


def lines(name):
    return enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1)


def sources():
    """Rust sources of the crates, without those of their tests."""
    return [name for name in files("rs", under="crates") if "/src/" in name]


def glossary():
    """The names of types that the glossary has."""
    return set(re.findall(r"`([A-Z]\w+)`", GLOSSARY.read_text()))


def shared_types():
    """The places of types whose names are defined in too many modules."""
    places = collections.defaultdict(list)
    for name in sources():
        for number, line in lines(name):
            if found := TYPE.match(line):
                places[found[1]].append((name, number))
    many = {word for word, where in places.items() if len({name for name, _ in where}) > MAX_MODULES_OF_A_TYPE}
    return [f"{name}:{number}: {word}" for word in sorted(many - glossary() - EXCEPTIONS["types"])
            for name, number in places[word]]


def names(name):
    """The names of types, modules and constants that a file defines, with their lines. The file's own name is
    on line 0."""
    yield 0, Path(name).stem
    patterns = [re.compile(pattern) for pattern in NAMES[name.rsplit(".", 1)[-1]]]
    for number, line in lines(name):
        for match in filter(None, (pattern.match(line) for pattern in patterns)):
            yield from ((number, word) for word in match[1].split(", "))


def is_riddle(name):
    """True if a name does not say what it stands for."""
    parts = set(name.lower().split("_")) if name.isupper() else set()
    return name.lower().strip("_") in RIDDLES or bool(parts & SUPERLATIVES)


def riddles():
    """Types, modules, constants and files whose names do not say what they are, in all languages."""
    return [f"{name}:{number}: {word}" for name in files(*NAMES) for number, word in names(name)
            if is_riddle(word) and word not in EXCEPTIONS["names"]]


def constants_without_unit():
    """Numeric constants of time or size whose names do not give the unit. A `Duration` gives it by its type."""
    found = []
    for name in files("rs", under="crates"):
        comment = ""
        for number, line in lines(name):
            if line.lstrip().startswith("//"):
                comment += line
                continue
            match = CONSTANT.match(line)
            measured = match and (match[2] == "Nanos" or MEASURED_VALUE.search(match[3])
                                  or MEASURE.search(comment))
            comment = ""
            if measured and not match[1].endswith(UNITS) and not COUNTED.search(match[1]):
                if match[1] not in EXCEPTIONS["constants"]:
                    found.append(f"{name}:{number}: {match[1]}")
    return found


def long_lines(exceptions=EXCEPTIONS["columns"]):
    """Lines of code, comments and prose that are too long. Rows of tables, and text in fences in pages, may be
    longer."""
    found = []
    for name in files(*TEXTS):
        fence, page = False, name.endswith(".md")
        if name in exceptions or name.startswith("tests/models/broken"):
            continue
        for number, line in lines(name):
            fence ^= line.lstrip().startswith("```")
            if len(line) > MAX_COLUMNS and not (page and (fence or line.lstrip().startswith("|"))):
                found.append(f"{name}:{number}: {len(line)} columns")
    return found


def subjectless_comments():
    """Comments that do not begin with their subject."""
    found = []
    for name in files("rs", "py", "h", "c", "hpp", "cpp", "f90", "ts", "tsx", "java", "sh", "toml"):
        for number, line in lines(name):
            if SUBJECTLESS.match(line):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    return found


def boolean_matches():
    """Uses of `match` where `if` says it."""
    return [f"{name}:{number}: {line.strip()[:80]}" for name in files("rs") for number, line in lines(name)
            if BOOLEAN_ARM.search(line)]


def test_the_glossary_has_few_words():
    rows = [line for line in GLOSSARY.read_text().splitlines() if re.match(r"\| (?!word|---)", line)]
    assert 20 <= len(rows) <= MAX_TERMS


def test_one_type_name_stands_for_one_thing():
    assert not shared_types()


def test_names_are_nouns_of_the_field():
    assert not riddles()


@pytest.mark.parametrize("file, text, name", [
    ("a.rs", "pub(crate) struct Told {", "Told"),
    ("a.rs", "    static MOST: u32 = 1;", "MOST"),
    ("a.py", "LONGEST_LINE, LIMIT = 1, 2", "LONGEST_LINE"),
    ("a.py", "class Shown(Base):", "Shown"),
    ("a.ts", "export interface Looked {", "Looked"),
    ("a.tsx", "const MOST_LINES = 8;", "MOST_LINES"),
    ("a.c", "enum { MOST = 256, PIECE = 1 };", "MOST"),
    ("a.h", "#define LIG_SLEEP_MOST_S 0.1", "LIG_SLEEP_MOST_S"),
    ("a.cpp", "struct Came : Handler {", "Came"),
    ("a.java", "    private static final BigInteger LARGEST = BigInteger.ONE;", "LARGEST"),
    ("a.f90", "   integer, parameter :: longest = 5", "longest"),
])
def test_names_are_found_in_each_language(file, text, name, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / file).write_text(text + "\n")
    assert (1, name) in names(file)
    assert is_riddle(name)


def test_constants_of_time_and_size_say_their_unit():
    assert not constants_without_unit()


def test_no_line_is_too_long():
    assert not long_lines()


def test_comments_begin_with_what_they_are_about():
    found = subjectless_comments()
    assert len(found) <= MAX_COMMENTS_WITHOUT_A_NOUN, f"{len(found)} comments: {found[:20]}"


def test_two_ways_are_an_if():
    assert not boolean_matches()


def test_every_exception_is_needed():
    known = {word for name in sources() for _, line in lines(name) for p in (TYPE, MODULE,
                                                                             CONSTANT) if (m := p.match(line))
             for word in [m[1]]}
    known |= {word for name in files("py") for _, word in names(name)}
    for kind in ("types", "names", "constants"):
        assert EXCEPTIONS[kind] <= known, f"{kind}: {sorted(EXCEPTIONS[kind] - known)}"
    long = {line.split(":")[0] for line in long_lines(exceptions=())}
    assert EXCEPTIONS["columns"] <= long, sorted(EXCEPTIONS["columns"] - long)


def main(words):
    """Lists the findings for all folders or for those named, and their number."""
    for check in (shared_types, riddles, constants_without_unit, long_lines, subjectless_comments,
                  boolean_matches):
        found = [line for line in check() if not words or line.startswith(tuple(words))]
        print(f"{check.__name__}: {len(found)}")
        if words:
            print("".join(f"  {line}\n" for line in found), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
