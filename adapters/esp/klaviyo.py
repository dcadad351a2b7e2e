"""Klaviyo: GET /api/profiles. It lists no definitions of properties, so that profiles are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, EspField, EspRefused, RefusedField, ReportedField

from .api import Api
from .listing import Unfit
from .run import USUAL_LIMITS, Limits, Reply, Run

_REVISION = "2026-07-15"
_STANDARD: Mapping[str, str] = {
    "first_name": "First name",
    "last_name": "Last name",
    "full_name": "Full name",
    "email": "Email",
}

_PAGE_COUNTS = {str(pages) for pages in range(1, 101)}

_Kind: TypeAlias = DataType | Unfit


def _page_count(text: int | str) -> int:
    """The number of pages, 1 to 100."""
    if str(text) not in _PAGE_COUNTS:
        raise EspRefused("Of Klaviyo's profiles, 1 to 100 pages are read.")
    return int(text)


@frozen(kw_only=True)
class KlaviyoFieldSource:
    """The standard fields, and the properties of the profiles that changed last.

    A property's type is what the values of the sample have in common; text where they have nothing
    in common.
    """

    api_key: str = field(repr=False)
    pages: int = field(default=10, converter=_page_count)
    """How many pages of 100 profiles are read, 100 at most."""
    url: str = "https://a.klaviyo.com"
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.KLAVIYO,
            url=self.url,
            headers={
                "Authorization": f"Klaviyo-API-Key {self.api_key}",
                "Accept": "application/vnd.api+json",
                "revision": _REVISION,
            },
            scope="they need the scope profiles:read",
        )
        query = {"fields[profile]": "properties", "page[size]": 100, "sort": "-updated"}
        met: dict[str, set[_Kind]] = {}
        with Run(self.limits) as run:
            for page in islice(run.pages(api, "/api/profiles", query, _next_link), self.pages):
                for profile in page.json()["data"].items():
                    properties = profile["attributes"].find("properties")
                    for name, value in properties.members() if properties else ():
                        kinds = met.setdefault(name, set())
                        if value.value not in _NOTHING:
                            kinds.add(_kind(value.value))
        for name, label in _STANDARD.items():
            yield EspField(name=name, data_type=DataType.TEXT, label=label, standard=True)
        for name, kinds in met.items():
            yield _reported(name, kinds)


_NOTHING: tuple[object, ...] = (None, "")
_DATE_LENGTH = len("2026-11-20")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}.*)?")
"""Without its hyphens a date could be any number."""


def _next_link(page: Reply) -> str | None:
    links = page.json().find("links")
    return links.optional_text("next") or None if links else None


def _kind(value: object) -> _Kind:
    """What a value is, in itself."""
    match value:
        case bool():
            return DataType.BOOLEAN
        case int() | float():
            return DataType.NUMBER
        case list():
            return Unfit.LIST
        case dict():
            return Unfit.OBJECT
        case str() if _ISO.fullmatch(value) and _exists(value):
            return DataType.DATE if len(value) == _DATE_LENGTH else DataType.DATETIME
    return DataType.TEXT


def _exists(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _reported(name: str, kinds: set[_Kind]) -> ReportedField:
    """The property whose values are of these kinds."""
    for kind in Unfit:
        if kind in kinds:
            return RefusedField(name, kind.value)
    if not kinds:
        return RefusedField(
            name, "No profile that was read has a value, which would tell its type."
        )
    types = {kind for kind in kinds if isinstance(kind, DataType)}
    if types == {DataType.DATE, DataType.DATETIME}:
        types = {DataType.DATETIME}
    return EspField(name=name, data_type=types.pop() if len(types) == 1 else DataType.TEXT)
