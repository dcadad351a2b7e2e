"""Tags of senders that are no ESP here. All of them can be text, and none has blocks.

Mautic: https://docs.mautic.org/en/channels/variables, Campaign Monitor:
https://help.campaignmonitor.com/personalize-emails, Account Engagement (Pardot): `{!Field}`,
MailerLite: `{$name}`, Mailgun: https://documentation.mailgun.com/docs/mailgun/user-manual,
Mailjet's data: `[[data:name:"text"]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .blocks import Certainty, Tag, scan
from .tree import Output, Path

_TAG = re.compile(
    r"""
      (?<![{$])\{
        (?P<braces>[!$]?[A-Za-z_][\w.]{2,99}(?:=[\w.]{1,100}(?:\|[^{}\n|]{0,100})?)?)
      \}(?!\})
    | \[(?P<brackets>[A-Za-z_]\w{0,99}),\s{0,9}fallback=[^\[\]\n]{0,100}\]
    | \[\[(?:data|var):(?P<data>\w{1,100})(?::"[^"\n]{0,100}")?\]\]
    | %recipient\.(?P<percent>\w{1,100})%
    """,
    re.ASCII | re.VERBOSE,
)


def read_sender_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of the text, in order."""
    return scan(text, _TAG, _read)


def _read(tag: re.Match[str]) -> Tag:
    start, end = tag.span()
    name = Path((tag[tag.lastgroup or 0],))
    return Tag(start, end, (Output(start, end, name),), Certainty.POSSIBLE)
