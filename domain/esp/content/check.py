"""The check of content without an ESP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from attrs import frozen

from ...arguments import require_type
from ...content import DEFAULT_STRICT, Content, ContentWarning, Strict
from ...content.checks import find_violations
from ...content.resolution import FieldResolver
from ...content.tree import Lines, Text
from ...content.warning_codes import require_strict
from ...fields.protocol import Field
from ..names import Esp
from ..profiles import BUILT_IN, Profiles
from .foreign_code import ContentTags
from .options import to_texts
from .report import Report


@frozen(kw_only=True)
class CheckedContent:
    """Content that can be exported for each ESP, unless its warnings say otherwise.

    `keys` are the keys of the fields in it, in the order of their first use: not `email`, if no
    field has this key, because each recipient has an address. `event` are the names of the event
    data.
    """

    keys: tuple[str, ...]
    event: tuple[str, ...] = ()
    warnings: tuple[ContentWarning, ...]


def check_content(
    content: Content,
    fields: Iterable[Field],
    *,
    explain_key: Callable[[str], str | None] = lambda _: None,
    strict: Strict = DEFAULT_STRICT,
    literals: Collection[str] = (),
    profiles: Profiles = BUILT_IN,
) -> CheckedContent:
    """Check that the content can be shown to recipients who have these fields, at any ESP.

    Code of an ESP is a mistake, because other ESPs do not read it. `explain_key` returns a sentence
    for the message about a key that no field has, such as `EspNames.explain_key`. `strict` and
    `literals` are as in ExportOptions, and `profiles` are those of all ESPs.

    Raises: InvalidContent, with up to 1,000 violations, if a field is unknown, if a filter or a
    condition does not fit the fields, or if the content has violations; also if there are mistakes,
    unless `strict` permits them. Only the first 200 violations of conditions are reported.
    TypeError if the content is not parsed.
    """
    require_type(Iterable, fields=fields)
    require_type(Profiles, profiles=profiles)
    require_strict(strict)
    by_key = {str(each.key): each for each in fields}
    resolver = FieldResolver(by_key, explain_key=explain_key)
    violations = find_violations(content, resolver)
    report = Report(content.lines, strict, violations)
    ContentTags(content, to_texts(literals), profiles).warn(None, resolver, report)
    warnings, used = report.finish(), content.keys()
    return CheckedContent(
        keys=tuple(key for key in used if key in by_key),
        event=content.event_names(),
        warnings=warnings,
    )


def check_native(
    text: str, esp: Esp, *, literals: Collection[str] = (), profiles: Profiles = BUILT_IN
) -> None:
    """Check that a text that is written for one ESP contains no code that the ESP does not read.

    Raises: InvalidContent with all mistakes and caveats, which are RejectedWarnings, and with
    violations.
    """
    lines = Lines(text)
    content = Content(source=text, nodes=(Text(text, 0),), masked=text, lines=lines)
    report = Report(lines, strict=True)
    ContentTags(content, to_texts(literals), profiles).warn(esp, None, report)
    report.finish()
