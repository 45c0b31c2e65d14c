"""Writes `performance.sqlite`, the profile of a run as MUSCLE 3 has it, from the run's timeline."""

import sqlite3
from pathlib import Path

import yaml
from ymmsl.v0_2 import Operator

from libmuscle.manager.timeline import Timeline
from libmuscle.profiling import ProfileEventType

# The tables and the view that programs read; version 1.1 of the format.
_TABLES = """
create table muscle3_format (major_version integer not null, minor_version integer not null);
insert into muscle3_format values (1, 1);
create table instances (oid integer primary key, name text unique);
create table assigned_cores (instance_oid integer not null references instances(oid),
    node text not null, core integer not null);
create table event_types (oid integer primary key, name text unique);
create table port_operators (oid integer primary key, name text unique);
create table events (instance_oid integer not null references instances(oid),
    event_type_oid integer not null references event_types(oid),
    start_time integer not null, stop_time integer not null,
    port_name text, port_operator_oid integer references port_operators(oid),
    port_length integer, slot integer, message_number integer, message_size integer,
    message_timestamp double);
create index events_by_start on events(start_time);
create view all_events as
    select instances.name as instance, event_types.name as type, start_time, stop_time,
        port_name as port, port_operators.name as operator, port_length, slot,
        message_number, message_size, message_timestamp
    from events join instances on instance_oid = instances.oid
    left join event_types on event_type_oid = event_types.oid
    left join port_operators on port_operator_oid = port_operators.oid;
"""


def write_profile(run: Path, file: Path) -> bool:
    """Writes the profile of a run, replacing an earlier one.

    Args:
        run: The run directory.
        file: The file to be written, such as ``performance.sqlite``.

    Returns:
        False if the run has no timeline, and so no profile.
    """
    if not (run / "timeline").is_file():
        return False
    timeline = Timeline(run / "timeline")
    operators = _operators(run / "model.ymmsl")
    file.unlink(missing_ok=True)
    database = sqlite3.connect(file)
    try:
        database.executescript(_TABLES)
        _name(database, "event_types", [(kind.value, kind.name) for kind in ProfileEventType])
        _name(database, "port_operators", [(operator.value, operator.name) for operator in Operator])
        numbers = {name: int(number) + 1 for number, name in timeline.instances.items()}
        _name(database, "instances", [(number, name) for name, number in numbers.items()])
        rows = (
            (
                numbers[event.instance],
                event.kind.value,
                event.start,
                event.stop,
                event.port,
                operators.get((event.instance.partition("[")[0], event.port)),
                event.model_time,
            )
            for event in timeline.events()
        )
        database.executemany(
            "insert into events (instance_oid, event_type_oid, start_time, stop_time, port_name,"
            " port_operator_oid, message_timestamp) values (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        database.commit()
    finally:
        database.close()
    return True


def _name(database: sqlite3.Connection, table: str, rows: list[tuple[int, str]]) -> None:
    database.executemany(f"insert into {table} values (?, ?)", rows)


def _operators(model: Path) -> dict[tuple[str, str | None], int]:
    """Returns the number of the operator of each port, by component and port; none of nested models."""
    # Ligament's models have sections that the package ymmsl refuses. All words stay texts, also `on` and `1`.
    document = yaml.load(model.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return {
        (name, port): Operator[operator.upper()].value
        for part in document["models"].values()
        for name, component in part["components"].items()
        for group, ports in component.get("ports", {}).items()
        # Ports on a timeline of their own stand below its name, again by operator.
        for operator, names in (ports if isinstance(ports, dict) else {group: ports}).items()
        for port in names
    }
