"""Mailchimp's merge tags, as documented.

`IF:TAG`, `IFNOT:TAG`, `=`, `!=`, `ELSEIF:`, `ELSE:` and nesting:
https://mandrill.zendesk.com/hc/en-us/articles/360039278713. `<`, `<=`, `>` and `>=` with a number
are known only from https://mailchimp.com/help/use-conditional-merge-tag-blocks/, and the prefixes
`UPPER:`, `LOWER:`, `TITLE:` and `URL:` only from public templates. The templates in
https://github.com/mailchimp/email-blueprints have `IFNOT:ARCHIVE_PAGE`. No page describes
`and`, `or`, quotes, escapes, or whether case, zeros and white space at the ends matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from recipient_fields.domain.esp import Esp

from .errors import NotRendered
from .formats import capitalized_words
from .system_values import SYSTEM_VALUES
from .tags import Branch, Part, Renderer, Text, compile_tags
from .truth import ORDER, Truth, equal_texts, in_order, negate

_TAG = re.compile(r"\*\|(.*?)\|\*", re.DOTALL)
_NAME = r"[A-Z][A-Z0-9_]{0,9}"
_CONDITION = re.compile(
    rf"(?:IFNOT:(?P<absent>{_NAME}|ARCHIVE_PAGE)|(?P<keyword>IF|ELSEIF):(?P<name>{_NAME})"
    r"(?:\s*(?P<symbol>!=|<=|>=|=|<|>)\s*(?P<literal>[^=<>!|*]*[^=<>!|*\s]))?)"
)


def compile_template(template: str) -> Renderer:
    """Return a function that renders the template with the merge fields of a subscriber."""
    return compile_tags(template, _TAG, r"\*\||\|\*", _read)


def _read(tag: str, values: Mapping[str, str]) -> Part:
    if tag in {"ELSE:", "END:IF"}:
        return Branch(tag[:-1].lower() if tag == "ELSE:" else "end")
    if re.fullmatch(_NAME, tag) or tag in SYSTEM_VALUES[Esp("mailchimp")]:
        return Text(lambda: values.get(tag, ""))
    prefixed = re.fullmatch(rf"(UPPER|LOWER|TITLE|URL):({_NAME})", tag)
    if prefixed is not None:
        return Text(lambda: _changed(prefixed[1], values.get(prefixed[2], "")))
    condition = _CONDITION.fullmatch(tag)
    if condition is None:
        raise NotRendered(f"Not documented: {tag}")
    if condition["absent"]:
        return Branch("if", lambda: not values.get(condition["absent"]))
    value = values.get(condition["name"], "")
    return Branch(
        condition["keyword"].lower(),
        lambda: _compare(value, condition["symbol"], condition["literal"]),
    )


def _changed(prefix: str, text: str) -> str:
    if not text.isascii() or (prefix == "URL" and text and not text.isalnum()):
        raise NotRendered(f"The result is not established for {text}.")
    if prefix == "TITLE":
        return capitalized_words(text)
    return {"UPPER": text.upper(), "LOWER": text.lower(), "URL": text}[prefix]


def _compare(value: str, symbol: str | None, literal: str) -> Truth:
    if symbol is None:
        return value != ""
    if symbol in ORDER:
        return in_order(symbol, value, literal)
    equal = equal_texts(value, literal)
    return equal if symbol == "=" else negate(equal)
