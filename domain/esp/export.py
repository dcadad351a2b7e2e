"""Content with neutral placeholders becomes content in the dialect of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..fields import RecipientField
from ..identity import IntegrationId
from ..suggestions import nearest
from .dialects import Esp
from .errors import ContentNotExportable, NoSafeForm, Obstacle, Placeholder, RefusedPlaceholder
from .snippets import Snippet, derive_snippet


def export_content(content: str, fields: Iterable[RecipientField]) -> str:
    """The content with each placeholder `{{recipient.KEY}}` replaced by its field's insertion code.

    `fields` are those of one organization. The preludes of the fields that occur come first, once
    each; what is not a placeholder stays as it is, and inserted code is not read again.
    ContentNotExportable with every place where a field is unknown or can't be inserted.
    """
    known = {str(field.key): field for field in fields}
    placeholders = tuple(find_placeholders(content))
    used = {at.key: known[at.key] for at in placeholders if at.key in known}
    salesforce = {
        key: snippet for key, field in used.items() if (snippet := _salesforce_snippet(field))
    }
    obstacles = _obstacles(used, salesforce)
    unknown = dict.fromkeys(at.key for at in placeholders if at.key not in known)
    meant = {key: nearest(key, known) for key in islice(unknown, _MOST_SUGGESTIONS)}
    refused = [
        RefusedPlaceholder(at, obstacles[at.key])
        if at.key in known
        else RefusedPlaceholder(at, Obstacle.UNKNOWN_FIELD, meant.get(at.key))
        for at in placeholders
        if at.key in obstacles or at.key not in known
    ]
    if refused:
        raise ContentNotExportable(refused)

    def insertion_code(match: re.Match[str]) -> str:
        return used[match["key"]].custom_insertion_code or "" if match["key"] else match[0]

    preludes = dict.fromkeys(snippet.prelude or "" for snippet in salesforce.values())
    return "".join(preludes) + _PLACEHOLDER.sub(insertion_code, content)


def insertable_with(
    fields: Iterable[RecipientField], integration_id: IntegrationId | None
) -> tuple[RecipientField, ...]:
    """Those that may stand in one email: what people wrote by hand, and the integration's fields.

    Fields of other integrations are in the dialects of other ESPs.
    """
    return tuple(
        field
        for field in fields
        if field.origin.integration_id is None or field.origin.integration_id == integration_id
    )


def find_placeholders(content: str) -> Iterator[Placeholder]:
    """The placeholders of the content, in order."""
    return _located(content, _PLACEHOLDER)


def find_near_misses(content: str) -> Iterator[Placeholder]:
    """What looks like a placeholder and is none, as with white space in it: nobody replaces it."""
    return _located(content, _NEAR_MISS)


def _located(content: str, pattern: re.Pattern[str]) -> Iterator[Placeholder]:
    line, line_start, seen = 1, 0, 0
    for match in pattern.finditer(content):
        if match["key"]:
            breaks = content.count("\n", seen, match.start())
            if breaks:
                line, line_start = line + breaks, content.rindex("\n", seen, match.start()) + 1
            seen = match.start()
            yield Placeholder(match["key"], seen, line, seen - line_start + 1)


_MOST_SUGGESTIONS = 20
"""To look for what was meant takes long among thousands of fields."""
_PLACEHOLDER = re.compile(
    r"\{\{\{recipient\.\w+\}\}\}"  # three braces are Handlebars for unescaped text
    r"|\{\{recipient\.(?P<key>\w+)\}\}"
)
_NEAR_MISS = re.compile(
    _PLACEHOLDER.pattern.replace("?P<key>", "?:")
    + r"|\{\{(?P<key>\s*(?i:recipient)\.[^{}]{0,100})\}\}"
)


def _obstacles(
    used: Mapping[str, RecipientField], salesforce: Mapping[str, Snippet]
) -> dict[str, Obstacle]:
    """What keeps each of the used fields from being inserted; the first of a variable may be."""
    obstacles = {}
    setters: dict[str, str | None] = {}
    for key, field in used.items():
        if not field.insertable:
            obstacles[key] = Obstacle.NOT_INSERTABLE
        elif field.custom_insertion_code is None:
            obstacles[key] = Obstacle.NO_INSERTION_CODE
        elif key in salesforce:
            snippet = salesforce[key]
            variable = snippet.value_expression.lower()
            if setters.setdefault(variable, snippet.prelude) != snippet.prelude:
                obstacles[key] = Obstacle.VARIABLE_TAKEN
    return obstacles


def _salesforce_snippet(field: RecipientField) -> Snippet | None:
    """What Salesforce's dialect derives for a synced field whose expression is that variable."""
    if field.origin.esp_field_name is None:
        return None
    try:
        snippet = derive_snippet(Esp.SALESFORCE, field.origin.esp_field_name)
    except NoSafeForm:
        return None
    return snippet if snippet.value_expression == field.custom_value_expression else None
