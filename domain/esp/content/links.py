"""The link to unsubscribe that an ESP requires, and the link to the web version of an email."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import evolve

from ...content import Block, Content, Node, SystemReference, SystemValue, Text
from ...content.literal_places import find_literal_places
from ...spans import Spans
from ..profiles.profile import EmailOnly, Profile, SystemCode
from .markup import Markup
from .places import find_open_tag

_LINK_WORDS = ("unsub", "can_spam", "email_footer")
"""What the codes of all dialects for this link contain, and the modules of HubSpot with one."""
_DOCUMENT = re.compile(r"<!doctype\b|</?(?:html|body)[\s>]", re.IGNORECASE)
"""What only a whole email contains: a part of one can get its link from the rest."""


def find_missing_link(profile: Profile, content: Content) -> str | None:
    """Return what the ESP does with this email in HTML without a link to unsubscribe, or None.

    It is None if the content has code of the ESP for such a link, or is only a part of an email.
    """
    rule = profile.link_rule
    if rule is None or not _is_whole_email(content) or _has_link(profile, content):
        return None
    return f"{rule.message} Write `{SystemValue.UNSUBSCRIBE}` where the link is."


def _is_whole_email(content: Content) -> bool:
    literal_places = find_literal_places(content.masked)
    tags = _DOCUMENT.finditer(content.masked)
    return any(not literal_places.contain(tag.start()) for tag in tags)


def _has_link(profile: Profile, content: Content) -> bool:
    codes = (profile.find_system_code(each.value) for each in content.system_references())
    if any(isinstance(code, SystemCode) and _names_link(code.code) for code in codes):
        return True
    return _names_link(content.masked) and any(
        _names_link(content.masked[tag.start : tag.end])
        for tag in profile.find_tags(content.masked)
        if tag.is_code
    )


def _names_link(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _LINK_WORDS)


_MAX_LINK_LENGTH = 5_000
"""The number of characters of a link in which its end is searched."""
_OPEN_LINK = re.compile(r"<a\s[^<>]*\Z", re.IGNORECASE)
_NEXT_TAG = re.compile(r"<(?P<slash>/?)a(?![\w-])[^<>]*>", re.IGNORECASE)


def with_email_only_links(profile: Profile, content: Content, markup: Markup) -> tuple[Node, ...]:
    """Return the nodes of the content, with the block of the ESP around each link to a web version.

    The block encloses the element `<a>`, or a reference outside of tags. If the ends of the element
    are not certain, or if the content has such a block, nothing changes.
    """
    block = profile.email_only
    if block is None or block.name in content.source:
        return content.nodes
    return tuple(_enclose(block, content, markup, content.nodes))


def _enclose(
    block: EmailOnly, content: Content, markup: Markup, nodes: Sequence[Node]
) -> Iterator[Node]:
    links = tuple(_find_links(content, markup, nodes))
    enclosed = Spans(links)
    codes = [
        code for start, end in links for code in ((start, block.opening), (end, block.closing))
    ]
    for node in _insert(nodes, codes):
        if isinstance(node, Block) and not enclosed.contain(node.start):
            branches = (
                evolve(each, nodes=tuple(_enclose(block, content, markup, each.nodes)))
                for each in node.branches
            )
            yield evolve(node, branches=tuple(branches))
        else:
            yield node


def _find_links(
    content: Content, markup: Markup, nodes: Sequence[Node]
) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the links to the web version whose ends are certain, in order."""
    texts = Spans(
        (each.start, each.start + len(each.text)) for each in nodes if isinstance(each, Text)
    )
    last = 0
    for node in nodes:
        if isinstance(node, SystemReference) and node.value is SystemValue.VIEW_IN_BROWSER:
            span = _find_link(content, markup, node, texts) if node.start >= last else None
            if span is not None:
                yield span
                last = span[1]


def _find_link(
    content: Content, markup: Markup, reference: SystemReference, texts: Spans
) -> tuple[int, int] | None:
    """Return the offsets of the link around the reference, or None if they are not certain.

    `texts` are those of the branch with the reference: a link must begin and end in one of them.
    """
    if not markup.quote_at(reference.start):
        return reference.start, content.source.index("}}", reference.start) + len("}}")
    opening = find_open_tag(_OPEN_LINK, content.masked, reference.start)
    closing = _NEXT_TAG.search(content.masked, reference.start, reference.start + _MAX_LINK_LENGTH)
    if opening is None or closing is None or not closing["slash"]:
        return None
    is_certain = texts.contain(opening.start()) and texts.contain(closing.end() - 1)
    return (opening.start(), closing.end()) if is_certain else None


def _insert(nodes: Sequence[Node], codes: Sequence[tuple[int, str]]) -> Iterator[Node]:
    """Yield the nodes, and the codes at their offsets, which are ascending."""
    pending = list(reversed(codes))
    for node in nodes:
        while pending and pending[-1][0] <= node.start:
            offset, code = pending.pop()
            yield Text(code, offset)
        while isinstance(node, Text) and pending and pending[-1][0] < node.start + len(node.text):
            offset, code = pending.pop()
            length = offset - node.start
            yield Text(node.text[:length], node.start)
            yield Text(code, offset)
            node = Text(node.text[length:], offset)
        yield node
    for offset, code in reversed(pending):
        yield Text(code, offset)
