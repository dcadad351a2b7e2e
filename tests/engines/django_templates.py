"""The templates of Klaviyo and Brevo: Django's template engine.

Klaviyo: https://developers.klaviyo.com/en/docs/use-conditionals-in-messages and
https://help.klaviyo.com/hc/en-us/articles/4408802648731 (the filter `lookup`) and
https://help.klaviyo.com/hc/en-us/articles/115005257788 (the filter `format_date_string`).
Brevo: https://help.brevo.com/hc/en-us/articles/360001030599. Both document `if`, `elif` and `else`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from django.conf import settings
from django.template import Context, Engine, Library
from django.template.base import Lexer, TokenType
from django.template.exceptions import TemplateSyntaxError

from recipient_fields.domain.esp import Esp

from .errors import NotRendered
from .event import event_of
from .system_values import SYSTEM_VALUES
from .tags import Renderer, require_plain_strings

_SYSTEM_TAGS = SYSTEM_VALUES[Esp("klaviyo")].keys() - {"organization"}
_TAGS = {"if", "elif", "else", "endif", "for", "empty", "endfor", *_SYSTEM_TAGS}


class _Recipient(dict[str, object]):
    """The values of a recipient. A missing value and null are `missing`."""

    def __init__(self, values: Mapping[str, object], missing: str | None) -> None:
        super().__init__({name: missing if v is None else v for name, v in values.items()})
        self._missing = missing

    def __missing__(self, name: str) -> str | None:
        return self._missing


def _lookup(values: object, name: str) -> object:
    """Return the property with this name, which can contain spaces and symbols."""
    if isinstance(values, _Recipient):
        return values[name]
    return values.get(name) if isinstance(values, Mapping) else None


def _format_date_string(value: object, missing: datetime) -> datetime:
    """Return the time in a text, if it is in UTC. No page describes other time zones."""
    if not isinstance(value, str) or not value:
        return missing
    at = datetime.fromisoformat(value)
    if at.utcoffset():
        raise NotRendered(f"The time zone is not established for {value}.")
    return at.replace(tzinfo=None)


if not settings.configured:  # the filters of numbers and dates read them
    settings.configure(USE_I18N=False, USE_TZ=False)


def _engine(missing_date: datetime) -> Engine:
    """Return an engine that reads a missing date as this one."""
    library = Library()
    library.filter("lookup", _lookup)
    library.filter(
        "format_date_string", lambda value: _format_date_string(value, missing=missing_date)
    )
    for tag in _SYSTEM_TAGS:
        library.simple_tag(lambda name=tag: SYSTEM_VALUES[Esp("klaviyo")][name], name=tag)
    engine = Engine()
    engine.template_builtins.append(library)
    return engine


_ENGINES = (
    ("", _engine(datetime.max.replace(tzinfo=UTC))),
    (None, _engine(datetime.min.replace(tzinfo=UTC))),
)
"""No page says whether a missing value is an empty text or None, and which date it becomes.

Django reads an error in a condition as false, so an error would not show that a condition depends
on a missing date.
"""


def compile_klaviyo(template: str) -> Renderer:
    """Return a function that renders the template with the properties of a profile."""
    organization = SYSTEM_VALUES[Esp("klaviyo")]["organization"]
    return _compile(
        template,
        lambda recipient, event: {
            **recipient,
            "person": recipient,
            "organization": organization,
            "event": event,
        },
    )


def compile_brevo(template: str) -> Renderer:
    """Return a function that renders the template with the attributes of a contact."""
    return _compile(
        template,
        lambda recipient, event: {
            **SYSTEM_VALUES[Esp("brevo")],
            "contact": recipient,
            "params": event,
        },
    )


def _compile(
    template: str, context: Callable[[_Recipient, Mapping[str, object]], dict[str, object]]
) -> Renderer:
    """Compile the template for both engines. They must render the same text."""
    try:
        compiled = [(missing, engine.from_string(template)) for missing, engine in _ENGINES]
    except TemplateSyntaxError as error:
        raise NotRendered(str(error)) from None
    _require_documented_tags(template)

    def render(values: Mapping[str, object]) -> str:
        text, other = (
            each.render(
                Context(context(_Recipient(values, missing), event_of(values)), use_l10n=False)
            )
            for missing, each in compiled
        )
        if text != other:
            raise NotRendered(f"The result for a missing value is not established: {text}, {other}")
        return text

    return render


def parse_django(template: str) -> None:
    """Parse the template with all tags of Django. Raises: TemplateSyntaxError."""
    _ENGINES[0][1].from_string(template)


_VERBATIM = re.compile(r"\{% verbatim %\}.*?\{% endverbatim %\}", re.DOTALL)


def _require_documented_tags(template: str) -> None:
    """Reject other tags, and strings that other implementations read differently."""
    for token in Lexer(_VERBATIM.sub("", template)).tokenize():
        if token.token_type is TokenType.BLOCK and token.split_contents()[0] not in _TAGS:
            raise NotRendered(f"Not documented: {token.contents}")
        if token.token_type is not TokenType.TEXT:
            require_plain_strings(token.contents)
        elif re.search(r"\{[{%]|[%}]\}", token.contents):
            raise NotRendered("Unbalanced delimiters.")
