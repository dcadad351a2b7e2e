"""The link to unsubscribe that an ESP requires, and the link to the web version of an email."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from attrs import evolve

from ...content import Content, SystemValue
from ...content.html import Kind
from ...content.tree import Block, Node, Reference, SystemReference, Text
from ...spans import Spans
from ..profiles.profile import EmailOnly, Profile, SystemCode
from .foreign_code import MAX_TAGS, find_examined_end

_LINK_WORDS = ("unsub", "can_spam", "email_footer")
"""What the codes of all dialects for this link contain, and the modules of HubSpot with one."""


def find_missing_link(profile: Profile, content: Content) -> str | None:
    """Return what the ESP does with this email in HTML without a link to unsubscribe, or None.

    It is None if the content has code of the ESP for such a link, or is only a part of an email.
    """
    rule = profile.link_rule
    if rule is None or not content.html.is_document or _has_link(profile, content, is_shown=True):
        return None
    message = f"{rule.message} Write `{SystemValue.UNSUBSCRIBE}` where the link is."
    if _has_link(profile, content, is_shown=False):
        message += (
            " All clients must show it: the one in this email is in a comment, or only for Outlook."
        )
    return message


def _has_link(profile: Profile, content: Content, *, is_shown: bool) -> bool:
    """Return whether the email has such a link that all clients show, or one that they don't.

    Only the tags that are examined for code of other ESPs are read. If there are more, the link may
    be in one of them.
    """

    def is_at_place(offset: int) -> bool:
        return content.html.is_shown(offset) is is_shown

    references = (each for each in content.system_references() if is_at_place(each.start))
    codes = (profile.find_system_code(each.value) for each in references)
    if any(isinstance(code, SystemCode) and _names_link(code.code) for code in codes):
        return True
    text = content.masked
    if not _names_link(text):
        return False
    end = find_examined_end(text)
    tags = profile.find_tags(text[:end])
    for tag in islice(tags, MAX_TAGS):
        if tag.is_code and _names_link(text[tag.start : tag.end]) and is_at_place(tag.start):
            return True
    return is_shown and (end is not None or next(tags, None) is not None)


def _names_link(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _LINK_WORDS)


def find_links(content: Content, nodes: Sequence[Node]) -> Iterator[int]:
    """Yield the offsets of the references in nodes that are the whole URL of a link."""
    for node, after in pairwise((*nodes, None)):
        if isinstance(node, Block):
            for branch in node.branches:
                yield from find_links(content, branch.nodes)
        elif not isinstance(node, Reference) or not isinstance(after, Text):
            continue
        elif content.html.is_url_of_link(node.start, after.start):
            yield node.start


def with_email_only_links(profile: Profile, content: Content) -> tuple[Node, ...]:
    """Return the nodes of the content, with the block of the ESP around each link to a web version.

    The block encloses the element `<a>`, or a reference outside of tags. If the ends of the element
    are not certain, or if the content has such a block, nothing changes.
    """
    block = profile.email_only
    if block is None or block.name in content.source:
        return content.nodes
    return tuple(_enclose(block, content, content.nodes))


def _enclose(block: EmailOnly, content: Content, nodes: Sequence[Node]) -> Iterator[Node]:
    links = tuple(_find_links(content, nodes))
    enclosed = Spans(links)
    codes = [
        code for start, end in links for code in ((start, block.opening), (end, block.closing))
    ]
    for node in insert_texts(nodes, codes):
        if isinstance(node, Block) and not enclosed.contain(node.start):
            branches = (
                evolve(each, nodes=tuple(_enclose(block, content, each.nodes)))
                for each in node.branches
            )
            yield evolve(node, branches=tuple(branches))
        else:
            yield node


def _find_links(content: Content, nodes: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the links to the web version whose ends are certain, in order."""
    texts = Spans(
        (each.start, each.start + len(each.text)) for each in nodes if isinstance(each, Text)
    )
    last = 0
    for node in nodes:
        if isinstance(node, SystemReference) and node.value is SystemValue.VIEW_IN_BROWSER:
            span = _find_link(content, node, texts) if node.start >= last else None
            if span is not None:
                yield span
                last = span[1]


def _find_link(
    content: Content, reference: SystemReference, texts: Spans
) -> tuple[int, int] | None:
    """Return the offsets of the link around the reference, or None if they are not certain.

    `texts` are those of the branch with the reference: a link must begin and end in one of them.
    """
    if content.html.at(reference.start).kind is Kind.TEXT:
        return reference.start, content.source.index("}}", reference.start) + len("}}")
    link = content.html.find_link(reference.start)
    if link is None or not texts.contain(link[0]) or not texts.contain(link[1] - 1):
        return None
    return link


def insert_texts(nodes: Sequence[Node], codes: Sequence[tuple[int, str]]) -> Iterator[Node]:
    """Yield the nodes, and the texts at their offsets, which are ascending."""
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
