"""The names of the columns of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recipient_fields.domain import IntegrationId
from recipient_fields.domain.esp import EspNames

from ..ports.recipients import UnreadableFile


def require_names(place: str, names: Sequence[str]) -> None:
    """Check that each column has a name, and no other column has it.

    `place` is the place of the header in messages. Raises: UnreadableFile if not.
    """
    if "" in names:
        column = names.index("") + 1
        raise UnreadableFile(f"{place}: Column {column} has no name in the header.")
    require_different(place, names, "have the same name")


def require_different(place: str, texts: Sequence[str], message: str) -> None:
    """Check the names or the keys of the columns. Raises: UnreadableFile if two are equal."""
    columns: dict[str, int] = {}
    for column, text in enumerate(texts, start=1):
        first = columns.setdefault(text, column)
        if first != column:
            raise UnreadableFile(f"{place}: Columns {first} and {column} {message}, {text}.")


def find_esp_names(names: EspNames, integration: int | None) -> Mapping[str, str]:
    """Return the keys of the fields by what they are called at the integration, if there is one.

    Raises: UnreadableFile if no field has a name there.
    """
    if integration is None:
        return {}
    keys = names.keys_by_name(IntegrationId(integration))
    if not keys:
        raise UnreadableFile(
            f"Integration {integration} has no fields. Check its id, or sync it first."
        )
    return keys
