"""Recognition of the dialects in which an insertion code can be written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .dialects import Esp

__all__ = ["recognize_dialects"]


def recognize_dialects(insertion_code: str) -> tuple[Esp, ...]:
    """Return the ESPs in whose dialects the code can be written, the most likely first.

    The first delimiter selects the group of dialects: braces, percent signs, or Mailchimp's `*|`.
    Some tags belong to several dialects: `{{tier}}` is valid for SendGrid and for Iterable.
    """
    opening = _OPENING.search(insertion_code)
    if opening is None:
        return ()
    # The contents of strings and of square brackets do not identify a dialect.
    code = _STRING.sub("''", insertion_code[opening.start() :])
    if opening[0] == "{":
        code = _BRACKETS.sub("[]", code)
    return tuple(esp for esp, pattern in _PATTERNS[opening[0]].items() if pattern.search(code))


_OPENING = re.compile(
    r"%%(?=[=\[])|\*\||\{(?=[{%])|%(?=[A-Z0-9_]++%|IF [^%]*+%|%[A-Za-z][\w ]*+%%)"
)
"""A delimiter. A percent sign that begins no tag, as in `50% off`, is none."""
_STRING = re.compile(r"""'[^']*'|"[^"]*\"""")
_BRACKETS = re.compile(r"\[[^\[\]{}]*\]")

_IN_TAG = r"\{[{%][^{}]*?"
_NAME = r"(?!else\b)[A-Za-z_]\w*"
_PART = r"(?:[A-Za-z_]\w*|\[\])"
_PATH = rf"(?!else\b){_PART}(?:\.{_PART})*"
_ITERABLE_HELPERS = (
    "abbreviate|and|capitalize|capitalizeFirst|center|cut|dateFormat|dateMath|defaultIfEmpty|eq|gt"
    "|gte|hexEncode|hmacSHA1|hmacSHA256|join|ljust|lower|lt|lte|math|md5|neq|not|now|numberFormat|or"
    "|replace|rjust|sha1|sha256|slugify|stringFormat|stripTags|substring|toJson|toUrlEncodedJson"
    "|upper|urlEncode|yesno"
)
_BLOCKS = r"\{\{#(?:if|unless|each|and|or)\b"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.ASCII)


_PATTERNS: Mapping[str, Mapping[Esp, re.Pattern[str]]] = {
    # If the first opening has no end, no other one has: without `\A`, each would search for it.
    "%%": {Esp.SALESFORCE: _compile(r"\A(?>.*?%%=).+?=%%|\A(?>.*?%%\[).+?\]%%")},
    "*|": {Esp.MAILCHIMP: _compile(r"\*\|[^|*]+\|\*")},
    "%": {
        # The lookarounds exclude adjacent tags of ActiveCampaign: %A%%B%%C%.
        Esp.SALESFORCE: _compile(r"(?<![A-Z0-9_])%%[A-Za-z]\w*(?: \w+)*%%(?![A-Z0-9_/])"),
        Esp.ACTIVECAMPAIGN: _compile(r"%[A-Z0-9_]+%|%IF [^%]*\$[A-Z0-9_]+[^%]*%"),
    },
    "{": {
        Esp.BRAZE: _compile(_IN_TAG + r"\$\{[^{}]+\}"),
        Esp.KLAVIYO: _compile(
            _IN_TAG + r"\bperson\s*[|.]"
            r"|\{\{\s*(?:first_name|last_name|full_name|email)\s*(?:\|[^{}]*)?\}\}"
        ),
        Esp.CUSTOMER_IO: _compile(_IN_TAG + r"\bcustomer(?:\.|\[\])"),
        Esp.HUBSPOT: _compile(_IN_TAG + r"\b(?:contact\.[a-z]|personalization_token\()"),
        Esp.BREVO: _compile(_IN_TAG + r"\bcontact\.[A-Z]"),
        Esp.SENDGRID: _compile(
            rf"\{{\{{\{{?\s*(?:{_NAME}|insert\s+{_NAME}\s+''"
            rf"|formatDate(?:\s+(?:''|{_PATH})){{2,3}})\s*\}}\}}|"
            + _BLOCKS
            + r"|\{\{#(?:equals|notEquals|greaterThan|lessThan)\b"
        ),
        Esp.ITERABLE: _compile(
            rf"\{{\{{\{{?\s*(?:{_PATH}\s*\}}\}}|(?:{_ITERABLE_HELPERS})\s[^{{}}]*\}}\}})|"
            + _BLOCKS
            + r"|\{\{#(?:if[A-Z]\w*|eq|neq|gte?|lte?|not|sortBy|groupBy|minInList|maxInList)\b"
        ),
    },
}
