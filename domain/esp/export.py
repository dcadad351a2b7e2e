"""Export of content: placeholders are replaced with the insertion codes of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..fields import RecipientField
from ..identity import IntegrationId
from ..suggestions import closest_match
from .dialects import Esp
from .errors import ContentNotExportable, NoSafeForm, Obstacle, Placeholder, RefusedPlaceholder
from .snippets import Snippet, derive_snippet


def export_content(content: str, fields: Iterable[RecipientField]) -> str:
    """Replace each placeholder `{{recipient.KEY}}` with the insertion code of its field.

    `fields` are those of one organization. The preludes of the fields in the content are inserted
    before it, once each. The rest of the content does not change, and placeholders in inserted
    codes are not replaced.

    Raises: ContentNotExportable, with all such placeholders, if a field is unknown or can't be
    inserted.
    """
    known = {str(field.key): field for field in fields}
    placeholders = tuple(find_placeholders(content))
    used = {each.key: known[each.key] for each in placeholders if each.key in known}
    salesforce = {
        key: snippet for key, field in used.items() if (snippet := _salesforce_snippet(field))
    }
    obstacles = _obstacles(used, salesforce)
    unknown = dict.fromkeys(each.key for each in placeholders if each.key not in known)
    suggestions = {key: closest_match(key, known) for key in islice(unknown, _MAX_SUGGESTIONS)}
    refused = [
        RefusedPlaceholder(each, obstacles[each.key])
        if each.key in known
        else RefusedPlaceholder(each, Obstacle.UNKNOWN_FIELD, suggestions.get(each.key))
        for each in placeholders
        if each.key in obstacles or each.key not in known
    ]
    if refused:
        raise ContentNotExportable(refused)

    def insertion_code(match: re.Match[str]) -> str:
        return used[match["key"]].custom_insertion_code or "" if match["key"] else match[0]

    preludes = dict.fromkeys(snippet.prelude or "" for snippet in salesforce.values())
    return "".join(preludes) + _PLACEHOLDER.sub(insertion_code, content)


def exportable_fields(
    fields: Iterable[RecipientField], integration_id: IntegrationId | None
) -> tuple[RecipientField, ...]:
    """Return the fields that can be used in one email: all but those of other integrations.

    The insertion codes of other integrations can be in the dialect of another ESP.
    """
    return tuple(
        field
        for field in fields
        if field.origin.integration_id is None or field.origin.integration_id == integration_id
    )


def find_placeholders(content: str) -> Iterator[Placeholder]:
    """Yield the placeholders of the content, in order."""
    return _find(_PLACEHOLDER, content)


def find_malformed_placeholders(content: str) -> Iterator[Placeholder]:
    """Yield text that is similar to a placeholder, e.g. with white space, but is not replaced."""
    return _find(_MALFORMED, content)


def _find(pattern: re.Pattern[str], content: str) -> Iterator[Placeholder]:
    line, line_start, offset = 1, 0, 0
    for match in pattern.finditer(content):
        if match["key"]:
            line_breaks = content.count("\n", offset, match.start())
            if line_breaks:
                line += line_breaks
                line_start = content.rindex("\n", offset, match.start()) + 1
            offset = match.start()
            yield Placeholder(match["key"], offset, line, offset - line_start + 1)


_MAX_SUGGESTIONS = 20
"""The search for a similar key is slow if there are thousands of fields."""
_PLACEHOLDER = re.compile(
    r"\{\{\{recipient\.\w+\}\}\}"  # not a placeholder: Handlebars inserts it without escaping
    r"|\{\{recipient\.(?P<key>\w+)\}\}"
)
_MALFORMED = re.compile(
    _PLACEHOLDER.pattern.replace("?P<key>", "?:")
    + r"|\{\{(?P<key>\s*(?i:recipient)\.[^{}]{0,100})\}\}"
)


def _obstacles(
    used: Mapping[str, RecipientField], salesforce: Mapping[str, Snippet]
) -> dict[str, Obstacle]:
    """Return the fields that can't be inserted, with the reasons.

    If several fields set the same variable, only the first of them can be inserted.
    """
    obstacles = {}
    preludes: dict[str, str | None] = {}
    for key, field in used.items():
        if not field.insertable:
            obstacles[key] = Obstacle.NOT_INSERTABLE
        elif field.custom_insertion_code is None:
            obstacles[key] = Obstacle.NO_INSERTION_CODE
        elif key in salesforce:
            snippet = salesforce[key]
            variable = snippet.value_expression.lower()
            if preludes.setdefault(variable, snippet.prelude) != snippet.prelude:
                obstacles[key] = Obstacle.VARIABLE_TAKEN
    return obstacles


def _salesforce_snippet(field: RecipientField) -> Snippet | None:
    """Return the snippet of a field that was synced from Salesforce, or None for other fields."""
    if field.origin.esp_field_name is None:
        return None
    try:
        snippet = derive_snippet(Esp.SALESFORCE, field.origin.esp_field_name)
    except NoSafeForm:
        return None
    return snippet if snippet.value_expression == field.custom_value_expression else None
