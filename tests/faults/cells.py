"""The cells of the fault matrix: their list, the expected result of each, and the random choices of one run."""

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHO = ("c", "python", "manager", "child")
FAULTS = ("kill", "stop", "exit", "exception", "hang", "memory", "files", "disk")
MOMENTS = ("starting", "first", "steady", "saving", "ending")
ENDLESS = 1_000_000_000


@dataclass(frozen=True)
class Cell:
    who: str
    fault: str
    moment: str

    def __str__(self):
        return f"{self.who}-{self.fault}-{self.moment}"


CELLS = [Cell(who, fault, moment) for who in WHO for fault in FAULTS for moment in MOMENTS]


@dataclass(frozen=True)
class Expected:
    """The expected result of a run; see expected.toml."""

    states: tuple
    exits: tuple
    reason: str | None
    output: str | None
    told: str | None
    why: str


def _tuple(value):
    return tuple(value) if isinstance(value, list) else (value,)


def expectations():
    """The expected results, by cell. Each cell has an entry, or its fault has one for all moments."""
    table = tomllib.loads((HERE / "expected.toml").read_text())
    found = {}
    for cell in CELLS:
        rows = table[cell.who][cell.fault]
        row = rows.get(cell.moment) or rows["all"]
        states, exits = _tuple(row["state"]), _tuple(row["exit"])
        found[cell] = Expected(states, exits, row.get("reason"), row.get("output"), row.get("told"), row["why"])
    return found


@dataclass(frozen=True)
class Plan:
    """One run of a cell. All random choices follow from the seed."""

    cell: Cell
    seed: int
    victim: str  # macro or micro
    languages: dict  # of each of them
    detail: str  # what kind of fault, see `details`
    size: int  # doubles in a message
    step: int  # at which it happens, if it is steady or saving
    steps: int | str  # or "go": until the test says so
    session: str  # of a child: "own" or "its"
    signed: str  # whether macro has signed off when it ends: "yes" or "no"
    delay: float  # s between the moment and what the test does
    rest: float  # s for which something stands still

    @property
    def peer(self):
        return "micro" if self.victim == "macro" else "macro"


def details(cell, groups, mounts):
    """The kinds of a fault that this machine can cause: some need memory groups, others mounts."""
    who, fault = cell.who, cell.fault
    if fault == "kill":
        return ["itself", "outside"] if who != "manager" else ["running", "waiting"]
    if fault == "exit":
        return ["0", "3"] if who != "manager" else ["stop", "SIGTERM", "SIGINT"]
    if fault == "exception" and who == "manager":
        # Rust's handler for stack overflows takes a SIGSEGV or SIGBUS that is sent, and that no memory access
        # caused.
        return ["SIGABRT", "SIGILL", "SIGFPE"]
    if fault == "stop" and who == "manager":
        return ["running", "waiting"]
    if fault == "hang":
        return ["waiting", "waiting", "spinning", "stubborn"] if who != "manager" else ["running", "waiting"]
    if fault == "memory":
        # A fault of the manager: the kernel chooses it when memory runs out.
        return (["group"] if groups else []) + (["limit"] if who != "manager" else [])
    if fault == "disk":
        return (["space"] if mounts else []) + (["size"] if who != "manager" else [])
    return ["any"]


def plan(cell, seed, groups, mounts):
    """Returns the choices for one run, or None if this machine cannot cause the fault."""
    chance = random.Random(f"{seed}/{cell}")
    possible = details(cell, groups, mounts)
    if not possible:
        return None
    victim = chance.choice(["macro", "micro"])
    peer = "micro" if victim == "macro" else "macro"
    language = cell.who if cell.who in ("c", "python") else chance.choice(["c", "c", "python"])
    languages = {victim: language, peer: chance.choice(["c", "c", "c", "python"])}
    detail = chance.choice(possible)
    size = chance.choice([0, 64, 20_000])
    step = chance.randrange(5, 35)
    signed = chance.choice(["yes", "no"])
    if cell.moment == "ending" and cell.fault == "exit" and cell.who in ("c", "python"):
        # After the instance has signed off, exit status 0 is right. With `exit`, it closes its ports first.
        detail = "3" if signed == "yes" or victim == "micro" else "0"
    if cell.who == "manager" and cell.moment == "ending" and detail == "running":
        detail = "waiting"  # or the run would be over first
    # A run that only the fault can end.
    amid = cell.moment in ("first", "steady", "saving")
    endless = amid and (
        (cell.who == "manager" and cell.fault in ("kill", "exit", "exception", "hang", "memory"))
        or (cell.who in ("c", "python") and cell.fault == "kill")
    )
    # A run that goes on until the test has stopped and continued its manager, and then ends by itself.
    until_told = cell.who == "manager" and cell.fault == "stop" and amid
    return Plan(
        cell, seed, victim, languages, detail, size, step, ENDLESS if endless else "go" if until_told else 40,
        chance.choice(["own", "its"]), signed, chance.choice([0.0, chance.uniform(0.0, 0.01)]),
        chance.uniform(0.02, 0.2),
    )
