"""The catalogue of failures is complete: every message that the sources can say has a code, and every message of the
catalogue is said somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/reference/errors.md"
SOURCES = sorted(
    path
    for glob in ["crates/{}/src/**/*.rs".format(crate) for crate in
                 ("instance", "shm", "wire", "agent", "carrier", "path", "net", "manager", "launch", "runtime", "cli",
                  "capi")]
    + ["crates/model/src/settings.rs", "crates/model/src/identity.rs", "bindings/python/src/*.rs", "bindings/python/python/ligament/*.py"]
    for path in ROOT.glob(glob)
    # What is wrong with a site or case file has codes as what is wrong with a model has; nobody hears what is there for
    # fuzzing.
    if path.name not in ("tests.rs", "fuzzing.rs")
    # What stands in the files of a starter is no message.
    and not any(map(path.match, ("cli/src/new/languages.rs", "cli/src/new/contents.rs", "cli/src/new/starters/*.rs",
                                     "launch/src/site/read.rs", "runtime/src/play/case.rs",
                                     "runtime/src/play/values.rs")))
)
# A text in the sources, and what stands before it.
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
# What becomes part of a message that has a code of its own: "malformed data …: 3 bytes follow the value".
WITHIN = re.compile(
    r"(?:Malformed|malformed|tree|layout|array|wrong|bad|damaged|cut_short|expected|unexpected)\((?:[^()\"]*,\s*)?"
    r"(?:format!\()?\s*$|\bwhat: (?:format!\()?\s*$|expect\(\s*$|assert\w*!\([^\"]*$|panic!\(\s*$|unreachable!\(\s*$|"
    r"\bdoc = \s*$|value_name = \s*$|next_help_heading = \s*$|description = \s*$|\bcontains\(\s*$"
)
# What is said and is no error: lines of the log and of the view, parts of sentences, words for machines.
NO_ERRORS = {line for line in (Path(__file__).with_name("no-errors.txt")).read_text().splitlines() if line}


def plain(text):
    """A text of the sources as the catalogue writes it."""
    said = re.sub(r"\\\n\s*", "", text).replace('\\"', '"').replace("\\n", " ").strip()
    return re.sub(r"\{[^{}]*\}", "…", said)


def said_in(path):
    """What a source can say: every text of three words and more that is not within another message, and no markup."""
    source = path.read_text().split("#[cfg(test)]")[0]
    if path.suffix == ".rs":
        source = re.sub(r"^\s*//.*$|\s//[^\n\"]*$|'\"'", "", source, flags=re.M)
    else:
        source = re.sub(r'"""(?:.|\n)*?"""|#.*$', "", source, flags=re.M)
    for match in TEXT.finditer(source):
        text = plain(match.group(1))
        words = re.findall(r"[A-Za-z]{2,}", text)
        if text.startswith("<") and "/" in text:
            continue
        if len(words) >= 3 and " " in text and not WITHIN.search(source[max(0, match.start() - 120): match.start()]):
            yield text


def rows():
    """Code and messages of each entry."""
    found = re.findall(r"^\| `([a-z0-9-]+)` \| (.*?) \| .* \|$", PAGE.read_text(), re.M)
    return [(code, messages.split("<br>")) for code, messages in found]


def covers(message, text):
    """Whether a text begins as a message of the catalogue does."""
    pattern = ".*".join(re.escape(piece) for piece in message.split("…"))
    return re.match(pattern, text) is not None


MESSAGES = [message for _, messages in rows() for message in messages]
TEXTS = {text for path in SOURCES for text in said_in(path)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_message_has_a_code(path):
    missing = sorted(
        text for text in set(said_in(path)) - NO_ERRORS if not any(covers(message, text) for message in MESSAGES)
    )
    assert not missing, (
        "give each an entry in docs/reference/errors.md; what is no error belongs into tests/docs/no-errors.txt:\n"
        + "\n".join(missing)
    )


@pytest.mark.parametrize("code, messages", rows(), ids=[code for code, _ in rows()])
def test_every_message_of_the_catalogue_is_said(code, messages):
    sources = " ".join(plain(path.read_text()) for path in SOURCES)
    unsaid = [
        message for message in messages
        if not any(covers(message, text) for text in TEXTS)
        and not all(piece.strip() in sources for piece in message.split("…"))
    ]
    assert not unsaid, f"nothing says, for {code}: {unsaid}"


def test_what_is_no_error_is_said_too_and_is_in_no_entry():
    assert not NO_ERRORS - TEXTS, "these are said no more: take them out of no-errors.txt"


def test_a_message_without_an_entry_is_noticed():
    assert not any(covers(message, "the moon is full; wait for a new one") for message in MESSAGES)
    assert covers('there is no run "…", neither', 'there is no run "…", neither as a directory nor elsewhere')
