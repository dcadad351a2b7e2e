"""The same requests to the service, to applications of FastAPI and Litestar, and to Kinto."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median

from attrs import fields_dict, frozen

from recipient_fields.application.fields.documents import FieldDocument

from ..support.command_line import environment_with
from ..support.postgres import new_database
from .data import FIRST_KEY, Database
from .goals import emptied
from .kinto import Bucket
from .measuring import Bench, Measured
from .reports import Report, microseconds, rate, table
from .servers import Server, WithPostgres, granian, running, service
from .traffic import (
    CONNECTIONS,
    CREATED,
    NUMBER,
    ConstantResponse,
    Load,
    create_field,
    read_field,
    read_list,
    send_once,
)

PROGRAMS = Path(__file__).resolve().parents[2] / "build" / "frameworks" / "bin"
"""The folder that `make bench-frameworks` installs the other programs into."""
FIELDS = 100
"""Number of fields of each organization."""
LIST, ONE, CREATE = KINDS = (f"list of {FIELDS}", "one field", "create")

_APPLICATIONS = Path(__file__).with_name("applications")
_MEMBERS = fields_dict(FieldDocument).keys() - {"id"}
_CREATED_KEY = f"created_{NUMBER}"


@frozen
class Scenario:
    """A kind of request."""

    load: Load
    during: Callable[[], AbstractContextManager[None]] = nullcontext


@frozen
class Side:
    """A server, whose CPU time includes that of PostgreSQL, and its scenarios by kind."""

    server: WithPostgres
    scenarios: Mapping[str, Scenario]


def frameworks(bench: Bench) -> Report:
    """Measure each kind of request on all sides, in turns."""
    require_programs(PROGRAMS)
    with ExitStack() as stack:
        sides = [stack.enter_context(side(bench)) for side in _SIDES.values()]
        rounds = {kind: _rounds(bench, kind, sides) for kind in KINDS}
    runs = {kind: list(zip(*rounds[kind], strict=True)) for kind in KINDS}
    speed = [
        [name, *(cell for kind in KINDS for cell in _speed(runs[kind][0], runs[kind][number]))]
        for number, name in enumerate(_SIDES)
    ]
    cost = [
        [name, *(microseconds(median(run.cpu for run in runs[kind][number])) for kind in KINDS)]
        for number, name in enumerate(_SIDES)
    ]
    faster = [
        f"Faster than {name}: {_faster(runs, number)}." for number, name in enumerate([*_SIDES][:2])
    ]
    return Report("\n\n".join([table(_HEAD, speed), table(_COST_HEAD, cost), *faster]))


def require_programs(folder: Path) -> None:
    """Check that the other programs are installed. Raises: FileNotFoundError if they are not."""
    if not folder.exists():
        raise FileNotFoundError(
            f"{folder} does not exist. Run `make bench-frameworks`, which installs FastAPI,"
            " Litestar and Kinto into it."
        )


def _rounds(bench: Bench, kind: str, sides: Sequence[Side]) -> list[tuple[Measured, ...]]:
    def run(side: Side) -> Measured:
        scenario = side.scenarios[kind]
        with scenario.during():
            return bench.measure(side.server, scenario.load)

    for side in sides:
        scenario = side.scenarios[kind]
        with scenario.during():
            check(kind, send_once(side.server.url, scenario.load.requests[0]))
        with scenario.during():
            bench.warm(side.server, scenario.load)
    return bench.rounds_of(*(partial(run, side) for side in sides))


def check(kind: str, response: ConstantResponse) -> None:
    """Check the fields of a response. In the measurements, the clients check only the status."""
    document = json.loads(response.body)
    if kind == LIST:
        fields = document.get("recipient_fields") or document["data"]
        expected = {f"field_{number}" for number in range(1, FIELDS + 1)}
    else:
        fields = [document.get("recipient_field") or document["data"]]
        expected = {FIRST_KEY if kind == ONE else _CREATED_KEY.replace(NUMBER, "0" * len(NUMBER))}
    assert len(fields) == len(expected), response
    assert {field["key"] for field in fields} == expected, response


def _speed(ours: Sequence[Measured], theirs: Sequence[Measured]) -> tuple[str, str]:
    """Return the requests per second, and their ratio to ours."""
    return rate(median(run.rate for run in theirs)), f"{_ratio(ours, theirs):.2f}"


def _ratio(ours: Sequence[Measured], theirs: Sequence[Measured]) -> float:
    pairs = zip(ours, theirs, strict=True)
    return median(their.rate / our.rate for our, their in pairs)


def _faster(runs: Mapping[str, Sequence[Sequence[Measured]]], ours: int) -> str:
    """Return the other programs that serve a kind of request faster than this side of ours."""
    others = {name: n for n, name in enumerate(_SIDES) if not name.startswith(_OURS)}
    return (
        ", ".join(
            f"{name} ({kind}, {ratio:.2f} times)"
            for name, number in others.items()
            for kind in KINDS
            if (ratio := _ratio(runs[kind][ours], runs[kind][number])) > 1
        )
        or "none"
    )


@contextmanager
def _ours(
    bench: Bench, host: Callable[[str], AbstractContextManager[Server]] = service
) -> Iterator[Side]:
    with bench.database() as database, host(database.url) as server:
        yield _on_our_tables(database, server)


@contextmanager
def _application(module: str, bench: Bench) -> Iterator[Side]:
    """Run an application under uvicorn. It uses the tables of the service."""
    options = ("--app-dir", str(_APPLICATIONS), "--port", "0")
    command = (str(PROGRAMS / "uvicorn"), *options, f"{module}:app")
    with bench.database() as database:
        environment = {"DATABASE_URL": database.url}
        with running(command, environment=environment) as server:
            yield _on_our_tables(database, server)


def _on_our_tables(database: Database, server: Server) -> Side:
    [reading] = database.add_organizations(1, fields=FIELDS)
    creating = database.add_organizations(CONNECTIONS, fields=FIELDS)
    field_id = database.field_id(reading)
    creations = tuple(create_field(organization, key=_CREATED_KEY) for organization in creating)
    return Side(
        WithPostgres(server, database.postmaster()),
        {
            LIST: Scenario(Load(requests=(read_list(reading),))),
            ONE: Scenario(Load(requests=(read_field(reading, field_id),))),
            CREATE: Scenario(
                Load(requests=creations, status=201), lambda: emptied(database, creating)
            ),
        },
    )


@contextmanager
def _kinto(bench: Bench) -> Iterator[Side]:
    """Run Kinto with the fields that the service would list."""
    program, ini = str(PROGRAMS / "kinto"), str(_APPLICATIONS / "kinto.ini")
    with new_database(bench.postgres) as url:
        environment = {f"KINTO_{part}_URL": url for part in ("STORAGE", "CACHE", "PERMISSION")}
        migrate = (program, "migrate", "--ini", ini)
        subprocess.run(migrate, env=environment_with(environment), capture_output=True, check=True)
        start = (program, "start", "--ini", ini, "--port", "0")
        with running(start, environment=environment) as server:
            buckets = [Bucket(server.url, f"bucket{n}") for n in range(1 + CONNECTIONS)]
            fields = _documents(bench)
            for bucket in buckets:
                bucket.add(fields)
            yield _on_buckets(Database(url), server, buckets)


def _on_buckets(database: Database, server: Server, buckets: Sequence[Bucket]) -> Side:
    reading, *creating = buckets
    creations = tuple(bucket.create_field({**CREATED, "key": _CREATED_KEY}) for bucket in creating)
    database.vacuum()

    @contextmanager
    def without_created() -> Iterator[None]:
        for bucket in creating:
            bucket.remove_created()
        database.vacuum()
        yield

    return Side(
        WithPostgres(server, database.postmaster()),
        {
            LIST: Scenario(Load(requests=(reading.read_list(),))),
            ONE: Scenario(Load(requests=(reading.read_field(FIRST_KEY),))),
            CREATE: Scenario(Load(requests=creations, status=201), without_created),
        },
    )


def _documents(bench: Bench) -> list[dict[str, object]]:
    """Return the fields of an organization as the service lists them, without their ids."""
    with bench.database() as database, service(database.url) as server:
        [organization] = database.add_organizations(1, fields=FIELDS)
        listed = json.loads(send_once(server.url, read_list(organization)).body)
    return [{name: field[name] for name in _MEMBERS} for field in listed["recipient_fields"]]


_OURS = "Recipient Fields"
_SIDES: Mapping[str, Callable[[Bench], AbstractContextManager[Side]]] = {
    _OURS: _ours,
    f"{_OURS}, no cache": lambda bench: _ours(bench, lambda url: service(url, "--cache", "0")),
    f"{_OURS}, Granian": lambda bench: _ours(bench, granian),
    f"{_OURS}, Granian, no cache": lambda bench: _ours(
        bench, partial(granian, RECIPIENT_FIELDS_CACHE="0")
    ),
    "FastAPI": partial(_application, "fastapi_app"),
    "Litestar": partial(_application, "litestar_app"),
    "Kinto": _kinto,
}
"""The sides. The ratios compare each one with the first one."""

_HEAD = ("Requests/s", *(title for kind in KINDS for title in (kind, "÷ first row")))
_COST_HEAD = ("CPU of server and PostgreSQL, µs", *KINDS)
