"""Export of content as code of one ESP, and its check without one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from attrs import frozen

from ...arguments import require_type
from ...content import DEFAULT_STRICT, Content, ContentWarning, Strict, Surface, WarningCode
from ...content.checks import find_violations
from ...content.html import Html
from ...content.resolution import FieldResolver
from ...content.tree import Lines, Text, require_content
from ...content.warning_codes import require_strict
from ...fields.protocol import Field
from ..field_codes import CodeSource
from ..languages.conditions import Presence
from ..names import Esp, Target
from ..profiles import BUILT_IN, Profiles
from ..profiles.profile import Profile
from .foreign_code import ContentTags
from .insertions import HtmlInValues
from .links import find_missing_link, insert_texts, with_email_only_links
from .options import ExportOptions, to_texts
from .rendering import Rendering
from .report import Report
from .resolver import CodeResolver, UsedFields

__all__ = [
    "CheckedContent",
    "ContentExporter",
    "ExportedContent",
    "check_content",
    "export_content",
]


@frozen(kw_only=True)
class ExportedContent:
    """Content for one ESP and surface.

    `keys` are the keys of the fields in it, in the order of their first use: not `email`, if it
    means the ESP's own field because the organization has none with this key. `event` are the names
    of the event data. `resolved` has the keys of references that mean a field with another key, and
    that key.
    """

    content: str
    surface: Surface
    warnings: tuple[ContentWarning, ...]
    keys: tuple[str, ...]
    event: tuple[str, ...] = ()
    resolved: Mapping[str, str]


def export_content(
    content: Content,
    codes: CodeSource,
    target: Target | str,
    options: ExportOptions = ExportOptions(),  # noqa: B008 (it is immutable)
) -> ExportedContent:
    """Return the content with the codes of the target instead of references and blocks.

    The target is an integration, or an ESP: then its only integration, if there is one. The other
    text does not change. The preludes of the fields are inserted before it, once each.

    Raises: InvalidContent, with all reasons, if a field is unknown or can't be inserted, if a
    reference or a block is at a place at which its code would not work, or if the ESP can't express
    a condition; also if there are mistakes, unless `strict` permits them. IntegrationRequired if
    there are several integrations with the ESP, IntegrationNotFound if there is no such
    integration, MissingProfile if its ESP has no profile. TypeError if the content is not parsed,
    ValueError if the target is the text of no ESP.
    """
    require_type(CodeSource, codes=codes)
    return ContentExporter(content, options, codes.names.profiles).export(codes, target)


class ContentExporter:
    """The exports of one content for several targets or fields.

    What they share is computed once. `profiles` are those of the codes.
    """

    def __init__(self, content: Content, options: ExportOptions, profiles: Profiles) -> None:
        require_content(content)
        require_type(ExportOptions, options=options)
        require_type(Profiles, profiles=profiles)
        self._content, self._options = content, options
        self._tags = ContentTags(content, options.literals, profiles)

    def export(
        self,
        codes: CodeSource,
        target: Target | str,
        presences: Mapping[str, Presence] | None = None,
    ) -> ExportedContent:
        """Return the content for the target. Raises: as `export_content` does.

        `presences` are the tests whether a value is set, by the keys for which they differ. Content
        with them is a converted template: a person writes code of the ESP in it, no references.
        """
        require_type(CodeSource, codes=codes)
        content, options = self._content, self._options
        target = codes.names.resolve_target(target)
        profile = codes.names.get_profile(target)
        resolver = CodeResolver(codes, target, options.sent_by, presences or {})
        violations = find_violations(content, resolver)
        report = Report(content.lines, options.strict, violations)
        self._tags.warn(profile.esp, resolver if presences is None else None, report)
        report.end_if_invalid()
        html = HtmlInValues.of(content, profile, options)
        used = UsedFields(profile, content, resolver, report)
        rendering = Rendering(content, resolver, html, used, report)
        nodes = with_email_only_links(profile, content)
        if content.html.root_end is not None:
            nodes = tuple(insert_texts(nodes, [(content.html.root_end, _PRELUDES)]))
        rendered = rendering.render(nodes)
        used.warn_of_names()
        if html.surface is Surface.HTML:
            _warn_of_missing_link(profile, content, report)
        warnings = report.finish()
        meant = used.meant_keys()
        return ExportedContent(
            content=_with_preludes(content.html, rendered, used.preludes()),
            surface=html.surface,
            warnings=warnings,
            keys=tuple(key for key in dict.fromkeys(meant.values()) if key in codes.names.by_key),
            event=content.event_names(),
            resolved={key: actual for key, actual in meant.items() if key != actual},
        )


_PRELUDES = "\0preludes\0"
"""A mark for the preludes. Neither content nor codes contain U+0000."""


def _with_preludes(html: Html, rendered: str, preludes: str) -> str:
    """Return the content with the preludes before it.

    MJML drops text before its root, and writes such a component in it before the email.
    """
    if not html.is_mjml or not preludes:
        return preludes + rendered.replace(_PRELUDES, "")
    if html.root_end is None:
        return f"<mj-raw>{preludes}</mj-raw>{rendered}"
    return rendered.replace(_PRELUDES, f'<mj-raw position="file-start">{preludes}</mj-raw>')


def _warn_of_missing_link(profile: Profile, content: Content, report: Report) -> None:
    message = find_missing_link(profile, content)
    if message is not None:
        report.warn(0, WarningCode.UNSUBSCRIBE_LINK_MISSING, message)


# Without an ESP, or without references


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
