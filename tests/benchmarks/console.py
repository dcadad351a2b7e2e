"""The fields page of the console, compared with the JSON page of the same fields."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from statistics import median

from recipient_fields.application import ConsoleStorage, Core
from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.console.fields.fields import PAGE_SIZE
from recipient_fields.entrypoints.service.selection import open_storage
from recipient_fields.testing.examples import grant

from .data import Database, Organization
from .measuring import Bench
from .reports import Report, milliseconds, table
from .servers import service
from .traffic import Load, read_list, read_page, send_once

MAX_SECONDS = 0.01
"""CPU time of the service for the page as HTML."""
MAX_RATIO = 3

_EMAIL = "bench@recipient-fields.example"


def console(bench: Bench) -> Report:
    """Measure the first page of a catalog as HTML and as JSON, both without the response cache.

    The console has no such cache.
    """
    with bench.database() as database, service(database.url, "--console", "--cache", "0") as server:
        [organization] = database.add_organizations(1, fields=bench.largest)
        path = f"/console/o/{organization.id}/fields"
        loads = (
            Load(requests=(read_list(organization, f"?sort=name&limit={PAGE_SIZE}"),)),
            Load(requests=(read_page(path, _begin_session(database, organization)),)),
        )
        for load in loads:
            assert "field_1" in send_once(server.url, load.requests[0]).body
            bench.warm(server, load)
        rounds = bench.rounds_of(*(partial(bench.measure, server, load) for load in loads))
    json, html = (median(run.cpu for run in runs) for runs in zip(*rounds, strict=True))
    ratio = median(html.cpu / json.cpu for json, html in rounds)
    row = (
        f"{PAGE_SIZE} of {bench.largest:,} fields",
        milliseconds(json),
        milliseconds(html),
        f"≤ {milliseconds(MAX_SECONDS)} {'✓' if html <= MAX_SECONDS else '✗'}",
        f"**{ratio:.2f}**",
        f"≤ {MAX_RATIO} {'✓' if ratio <= MAX_RATIO else '✗'}",
    )
    return Report(table(_HEAD, [row]))


def _begin_session(database: Database, organization: Organization) -> str:
    """Return the token of a session of an administrator of the organization."""
    with closing(open_storage(database.url)) as storage:
        assert isinstance(storage, ConsoleStorage)
        administrators = Core.over(storage).administrators
        organization_id = OrganizationId(organization.id)
        administrator = grant(storage.administrators, organization_id, _EMAIL)
        link = administrators.create_sign_in_link(administrator.id)
        return administrators.sign_in_with_link(link.token.reveal(), user_agent="").token.reveal()


_HEAD = ("First page", "JSON, CPU ms", "HTML, CPU ms", "goal", "HTML ÷ JSON", "goal")
