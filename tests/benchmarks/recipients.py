"""The check of recipients, compared with other libraries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time
from typing import TypeAlias

from recipient_fields.application import Core
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.entrypoints.http.recipients import RecipientChecks
from recipient_fields.entrypoints.service.selection import open_storage

from ..http.api import RECIPIENT_CHECKS
from .list_checkers import (
    Prepare,
    Usage,
    command,
    command_with_outputs,
    in_new_process,
    jsonschema,
    jsonschema_validator,
    pandera,
    pydantic,
    pydantic_validator,
    recipient_schema,
    storage_url,
)
from .measuring import Bench
from .plot import Panel, plot
from .recipient_lists import COLUMNS, generate_recipients, write_csv
from .reports import Report, milliseconds, table
from .wsgi import Application

TIME_PLOT = "recipients-time.svg"
MEMORY_PLOT = "recipients-memory.svg"

MAX_SECONDS = 30
"""CPU time of the command for 1,000,000 rows."""
MAX_MEMORY = 150
"""MiB, for a list of any length."""
MAX_MICROSECONDS = 3
"""CPU time per value, without the file."""
MAX_RATIO = 3
"""The CPU time of a request, divided by that of the parsing of its JSON."""

_COMMAND = "recipients check"
_TOOLS: Mapping[str, Prepare] = {
    _COMMAND: command,
    "with both outputs": command_with_outputs,
    "pydantic": pydantic,
    "pandera": pandera,
    "jsonschema-rs": jsonschema,
}
_OUTPERFORMED = ("pydantic", "pandera")
_SMALLEST = 100
"""Rows of the shortest list."""
_ROWS_PER_FIELD = 100
"""The longest list has 1,000,000 rows if the largest catalog has 10,000 fields."""
_RECIPIENTS = 1_000
"""Recipients of a request, which is the maximum."""

Usages: TypeAlias = Mapping[str, Usage]


def recipients(bench: Bench) -> Report:
    """Measure the check of lists, of values, and of a request."""
    usages = dict(_usages(bench))
    pictures = {
        TIME_PLOT: _plot("seconds of CPU to check a list", usages, lambda each: each.seconds),
        MEMORY_PLOT: _plot("MiB of memory to check a list", usages, lambda each: each.memory),
    }
    texts = (
        _table("CPU, s", usages, lambda each: f"{each.seconds:.2f}"),
        _table("memory, MiB", usages, lambda each: f"{each.memory:,.0f}"),
        _goals(usages),
        _values(bench),
        _request(bench),
    )
    return Report("\n\n".join(texts), pictures)


def _usages(bench: Bench) -> Iterator[tuple[int, Usages]]:
    """Yield what each tool uses for a list, by the number of rows."""
    rows = _SMALLEST
    while rows <= bench.largest * _ROWS_PER_FIELD:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "list.csv"
            write_csv(path, rows)
            _create_fields(storage_url(path))
            checks = (partial(in_new_process, prepare, path) for prepare in _TOOLS.values())
            rounds = bench.rounds_of(*checks)
        yield rows, dict(zip(_TOOLS, map(_typical, zip(*rounds, strict=True)), strict=True))
        rows *= 10


def _create_fields(url: str) -> None:
    with closing(open_storage(url)) as storage:
        core = Core.over(storage)
        organization = core.administration.create_organization("Bench")
        for key, column in COLUMNS.items():
            core.fields.create_field(organization.id, column.draft(key))


def _typical(usages: tuple[Usage, ...]) -> Usage:
    [invalid] = {usage.invalid for usage in usages}
    seconds = median(usage.seconds for usage in usages)
    return Usage(seconds, max(usage.memory for usage in usages), invalid)


def _goals(usages: Mapping[int, Usages]) -> str:
    rows, longest = max(usages.items())
    assert len({usage.invalid for usage in longest.values()}) == 1, longest
    ours = longest[_COMMAND]
    memory = max(longest[tool].memory for tool in (_COMMAND, "with both outputs"))
    cells = [
        ("CPU, s", f"{ours.seconds:.1f}", f"≤ {MAX_SECONDS} {_mark(ours.seconds <= MAX_SECONDS)}"),
        ("memory, MiB", f"{memory:.0f}", f"≤ {MAX_MEMORY} {_mark(memory <= MAX_MEMORY)}"),
    ]
    for tool in _OUTPERFORMED:
        ratio = ours.seconds / longest[tool].seconds
        cells.append((f"CPU ÷ {tool}", f"**{ratio:.2f}**", f"< 1 {_mark(ratio < 1)}"))
    return table((f"{rows:,} rows", _COMMAND, "goal"), cells)


def _values(bench: Bench) -> str:
    """Measure the check of values that are in memory."""
    checked = generate_recipients(_RECIPIENTS)
    count = sum(map(len, checked))
    checks: Mapping[str, Callable[[object], object]] = {
        "RecipientSchema.check": recipient_schema().check,  # type: ignore[dict-item]
        "pydantic": pydantic_validator(),
        "jsonschema-rs": jsonschema_validator(),
    }

    def seconds(check: Callable[[object], object]) -> float:
        return _seconds(lambda: [check(values) for values in checked])

    rounds = bench.rounds_of(*(partial(seconds, check) for check in checks.values()))
    medians = [median(runs) / count * 1e6 for runs in zip(*rounds, strict=True)]
    goals = [f"≤ {MAX_MICROSECONDS} {_mark(medians[0] <= MAX_MICROSECONDS)}", "", ""]
    rows = zip(checks, (f"{each:.2f}" for each in medians), goals, strict=True)
    return table(("Values in memory", "CPU per value, µs", "goal"), [*rows])


def _request(bench: Bench) -> str:
    """Measure a request with 1,000 recipients, and the parsing of its JSON."""
    application = Application()
    for key, column in COLUMNS.items():
        application.core.fields.create_field(application.organization_id, column.draft(key))
    body = json.dumps({"recipients": generate_recipients(_RECIPIENTS)}).encode()

    def post() -> float:
        status, seconds = application.post(RECIPIENT_CHECKS, body)
        assert status == HTTPStatus.OK
        return seconds

    def parse() -> float:
        return _seconds(partial(parse_json, body, max_values=RecipientChecks.max_body_values))

    rounds = bench.rounds_of(post, parse, lambda: _seconds(partial(json.loads, body)))
    posted, parsed, loaded = (median(runs) for runs in zip(*rounds, strict=True))
    ratio = median(post / parse for post, parse, _ in rounds)
    goal = f"≤ {MAX_RATIO} {_mark(ratio <= MAX_RATIO)}"
    name = f"{_RECIPIENTS:,} recipients, {len(body) / 1024:.0f} KiB"
    row = (name, *map(milliseconds, (posted, parsed)), f"**{ratio:.2f}**", goal)
    head = ("POST", "Request, CPU ms", "Parsing of its JSON", "Request ÷ parsing", "goal")
    return f"{table((*head, '`json.loads`'), [(*row, milliseconds(loaded))])}"


def _seconds(function: Callable[[], object]) -> float:
    started = thread_time()
    function()
    return thread_time() - started


def _table(unit: str, usages: Mapping[int, Usages], cell: Callable[[Usage], str]) -> str:
    rows = [(f"{rows:,}", *map(cell, tools.values())) for rows, tools in usages.items()]
    return table((f"Rows: {unit}", *_TOOLS), rows)


def _plot(measure: str, usages: Mapping[int, Usages], value: Callable[[Usage], float]) -> str:
    curves = {
        tool: [(rows, value(tools[tool])) for rows, tools in usages.items()] for tool in _TOOLS
    }
    return plot(measure, [Panel("rows", curves)])


def _mark(reached: bool) -> str:
    return "✓" if reached else "✗"
