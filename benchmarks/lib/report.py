"""The output of a benchmark: tables, bars, and one JSON object on the last line."""

import json
import statistics


class Bar:
    """A bar: a value, the values of single repetitions, and the limit for the value."""

    def __init__(self, name, value, repetitions, op, limit, unit):
        self.name, self.value, self.repetitions = name, value, list(repetitions)
        self.op, self.limit, self.unit = op, limit, unit
        self.holds = self.value >= limit if op == ">=" else self.value <= limit

    def row(self):
        return {
            "name": self.name,
            "value": significant(self.value),
            "op": self.op,
            "limit": significant(self.limit),
            "unit": self.unit,
            "holds": self.holds,
        }

    def line(self):
        mark = "holds" if self.holds else "FAILS"
        spread = f"{min(self.repetitions):.3g} to {max(self.repetitions):.3g}"
        return f"  {mark}  {self.name:<44} {self.value:8.3g} {self.op} {self.limit:.3g} {self.unit}  ({spread})"


def significant(value):
    """Rounds to four significant digits, because further digits are noise."""
    return float(f"{value:.4g}")


def size_name(bytes_):
    if bytes_ < 1 << 10:
        return f"{bytes_} B"
    return f"{bytes_ >> 20} MiB" if bytes_ >= 1 << 20 else f"{bytes_ >> 10} KiB"


def head(title, facts, repetitions, flags, programs):
    """Prints the conditions of the measurement: a line for each fact, and a line with the tuning of each
    program."""
    print(f"{title}\n")
    for name, value in facts.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    print(f"  {'repetitions':<20} {repetitions}")
    print(f"  {'C flags':<20} gcc {' '.join(flags)}\n")
    for program in programs:
        print(f"  {program.name:<16} {program.tuning}")
    print(flush=True)


def table(title, columns, rows):
    """Prints a table. `rows` are (head, [cell or None, ...]); cells are numbers or text."""
    print(f"\n{title}")
    cells = [[head, *("" if c is None else c if isinstance(c, str) else f"{c:.4g}" for c in row)]
             for head, row in rows]
    heads = ["", *columns]
    widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    for line in [heads, *cells]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def last_line(figures, bars):
    print(json.dumps({"figures": figures, "bars": [bar.row() for bar in bars]}))


def spread(values):
    """Returns the median, and for several repetitions also their least and largest value."""
    if not values or len(values) == 1:
        return values[0] if values else None
    return f"{statistics.median(values):.4g} ({min(values):.3g} to {max(values):.3g})"
