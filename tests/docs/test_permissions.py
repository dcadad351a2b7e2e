"""The table of `docs/concepts.md`, and the README's, are what `decide` decides."""

from __future__ import annotations

import re

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Allowed,
    Channel,
    IntegrationId,
    Operation,
    Origin,
    Source,
    decide,
    sync_channel,
)

from .blocks import ROOT

OWN, OTHER = IntegrationId(7), IntegrationId(8)
CHANNELS = {
    "the HTTP API": API,
    "an administrator": ADMINISTRATOR,
    "a sync of the field's integration": sync_channel(OWN),
    "a sync of another integration": sync_channel(OTHER),
}
ORIGINS = {
    "api": Origin(Source.API),
    "manual": Origin(Source.MANUAL),
    "integration": Origin(Source.INTEGRATION, OWN, "FNAME"),
}
CREATORS = ("the API", "an administrator", "a sync from an ESP")
"""The README's names of these origins."""
WORDS = {
    frozenset({Operation.READ}): "read",
    frozenset(Operation): "all",
}


def test_the_table_equals_the_rule() -> None:
    page = (ROOT / "docs/concepts.md").read_text("utf-8")

    assert _rows(page.partition("## Permissions")[2]) == [
        ["Channel", *(f"`{source}`" for source in ORIGINS)],
        *(
            [name, *(_word(channel, origin) for origin in ORIGINS.values())]
            for name, channel in CHANNELS.items()
        ),
    ]


def test_the_table_in_the_readme_equals_the_rule() -> None:
    page = (ROOT / "README.md").read_text("utf-8")

    assert _rows(page.partition("## Serve")[2])[1:] == [
        [creator, *(_word(channel, origin) for channel in [*CHANNELS.values()][:3])]
        for creator, origin in zip(CREATORS, ORIGINS.values(), strict=True)
    ]


def _word(channel: Channel, origin: Origin) -> str:
    may = {each for each in Operation if decide(channel, each, origin) == Allowed()}
    return WORDS[frozenset(may)]


def _rows(text: str) -> list[list[str]]:
    """Return the cells of the first table."""
    table = re.split(r"\n\n(?=\|)", text, maxsplit=1)[1].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [rows[0], *rows[2:]]
