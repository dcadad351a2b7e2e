"""From a snippet back to the dialects it can be in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .dialects import Esp


def recognize_dialects(snippet: str) -> tuple[Esp, ...]:
    """The ESPs whose dialect the snippet can be in, likeliest first; none where it is in none.

    Its first delimiter decides between tags in braces, percent signs and Mailchimp's. Several
    dialects write simple tags alike: `{{tier}}` is SendGrid's and Iterable's.
    """
    opening = _OPENING.search(snippet)
    if opening is None:
        return ()
    code = _STRING.sub("''", snippet[opening.start() :])
    if opening[0] == "{":
        code = _BRACKETS.sub("[]", code)
    return tuple(esp for esp, mark in _MARKS[opening[0]].items() if mark.search(code))


_OPENING = re.compile(r"%%(?=[=\[])|\*\||\{(?=[{%])|%")
# What strings and square brackets say is no mark of a dialect.
_STRING = re.compile(r"""'[^']*'|"[^"]*\"""")
_BRACKETS = re.compile(r"\[[^\[\]{}]*\]")

_IN_TAG = r"\{[{%][^{}]*?"
_PATH = r"(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\[\])"
_BLOCKS = r"\{\{#(?:if|unless|each|and|or)\b"


def _mark(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL | re.ASCII)


_MARKS: Mapping[str, Mapping[Esp, re.Pattern[str]]] = {
    "%%": {Esp.SALESFORCE: _mark(r"%%=.+?=%%|%%\[.+?\]%%")},
    "*|": {Esp.MAILCHIMP: _mark(r"\*\|[^|*]+\|\*")},
    "%": {
        Esp.SALESFORCE: _mark(r"\A%%[A-Za-z][\w ]*%%\Z"),
        Esp.ACTIVECAMPAIGN: _mark(r"%[A-Z0-9_]+%|%IF [^%]*\$[A-Z0-9_]+[^%]*%"),
    },
    "{": {
        Esp.BRAZE: _mark(_IN_TAG + r"\$\{[^{}]+\}"),
        Esp.KLAVIYO: _mark(
            _IN_TAG + r"\bperson\s*[|.]"
            r"|\{\{\s*(?:first_name|last_name|full_name|email)\s*(?:\|[^{}]*)?\}\}"
        ),
        Esp.CUSTOMER_IO: _mark(_IN_TAG + r"\bcustomer(?:\.|\[\])"),
        Esp.HUBSPOT: _mark(_IN_TAG + r"\b(?:contact\.[a-z]|personalization_token\()"),
        Esp.BREVO: _mark(_IN_TAG + r"\bcontact\.[A-Z]"),
        Esp.SENDGRID: _mark(
            r"\{\{\{?\s*(?:[A-Za-z_]\w*|insert\s+[A-Za-z_]\w*\s+'')\s*\}\}|"
            + _BLOCKS
            + r"|\{\{#(?:equals|notEquals|greaterThan|lessThan)\b"
        ),
        Esp.ITERABLE: _mark(
            rf"\{{\{{\{{?\s*(?:{_PATH}|defaultIfEmpty\s+{_PATH}\s+'')\s*\}}\}}|"
            + _BLOCKS
            + r"|\{\{#if[A-Z]\w*\b"
        ),
    },
}
