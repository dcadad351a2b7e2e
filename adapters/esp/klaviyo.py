"""Klaviyo: GET /api/profiles. Its API does not list properties, so they are read from profiles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from attrs import field, frozen

from recipient_fields.application import InvalidDocument
from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, EspRefused, RefusedField, ReportedField

from .api import Api, variable
from .listing import Unsupported
from .responses import Item, Response, describe_account, read_item
from .run import DEFAULT_LIMITS, Limits, Run

_REVISION = "2026-07-15"
_STANDARD: Mapping[str, str] = {
    "first_name": "First name",
    "last_name": "Last name",
    "full_name": "Full name",
    "email": "Email",
    "phone_number": "Phone number",
    "organization": "Organization",
}

_PAGE_COUNTS = {str(pages) for pages in range(1, 101)}

_Kind: TypeAlias = DataType | Unsupported


def _page_count(text: int | str) -> int:
    """Return the number of pages. Raises: EspRefused if it is not 1 to 100."""
    if str(text) not in _PAGE_COUNTS:
        setting = variable("klaviyo", "pages")
        raise EspRefused(f"Invalid number of pages for Klaviyo in {setting}: use 1 to 100 pages.")
    return int(text)


@frozen
class _Attributes:
    properties: Mapping[str, object] | None = None


@frozen
class _Profile:
    attributes: _Attributes


@frozen
class _Links:
    next: str | None = None


@frozen
class _Page:
    data: list[Item]
    links: _Links | None = None


@frozen
class _Contact:
    organization_name: str | None = None


@frozen
class _AccountAttributes:
    contact_information: _Contact


@frozen
class _Account:
    id: str
    attributes: _AccountAttributes


@frozen
class _Accounts:
    data: list[_Account]


@frozen(kw_only=True)
class KlaviyoFieldSource:
    """The standard fields, and the properties of the profiles that changed last.

    The type of a property is the type of all its values in this sample, or text if they differ.
    """

    api_key: str = field(repr=False)
    pages: int = field(default=10, converter=_page_count)
    """The number of pages of 100 profiles that are read, 1 to 100."""
    url: str = "https://a.klaviyo.com"
    limits: Limits = DEFAULT_LIMITS

    @property
    def _api(self) -> Api:
        return Api(
            esp=Esp("klaviyo"),
            url=self.url,
            headers={
                "Authorization": f"Klaviyo-API-Key {self.api_key}",
                "Accept": "application/vnd.api+json",
                "revision": _REVISION,
            },
            scope="they need the scope profiles:read",
        )

    def fields(self) -> Iterator[ReportedField]:
        api = self._api
        query = {"fields[profile]": "properties", "page[size]": 100, "sort": "-updated"}
        found: dict[str, set[_Kind]] = {}
        with Run(self.limits) as run:
            for page in islice(run.pages(api, "/api/profiles", query, _read), self.pages):
                for profile in _profiles(api, page.data):
                    for name, value in (profile.attributes.properties or {}).items():
                        kinds = found.setdefault(name, set())
                        if value not in _NO_VALUE:
                            kinds.add(_kind(value))
        for name, label in _STANDARD.items():
            yield EspField(name=name, data_type=DataType.TEXT, label=label, standard=True)
        for name, kinds in found.items():
            yield _reported(name, kinds)

    def account_name(self) -> str:
        query = {"fields[account]": "contact_information.organization_name"}
        with Run(self.limits) as run:
            accounts = run.get(self._api, "/api/accounts", query).read(_Accounts).data
        if len(accounts) != 1:
            raise self._api.undocumented("it has not one account")
        (account,) = accounts
        contact = account.attributes.contact_information
        return describe_account(contact.organization_name, account.id)


_NO_VALUE: tuple[object, ...] = (None, "")
_DATE_LENGTH = len("2026-11-20")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}.*)?")
"""Digits without hyphens are not a date: they could be any number."""


def _read(response: Response) -> tuple[_Page, str | None]:
    page = response.read(_Page)
    return page, (page.links.next or None) if page.links else None


def _profiles(api: Api, items: Sequence[Item]) -> list[_Profile]:
    """Return the profiles among the items. Items that are not as documented are ignored.

    Raises: EspRefused if there are items, but no profile.
    """
    profiles = []
    for item in items:
        with suppress(InvalidDocument):
            profiles.append(read_item(item, _Profile))
    if items and not profiles:
        raise api.undocumented("no profile has attributes")
    return profiles


def _kind(value: object) -> _Kind:
    """Return the type of one value."""
    match value:
        case bool():
            return DataType.BOOLEAN
        case int() | float():
            return DataType.NUMBER
        case list():
            return Unsupported.LIST
        case dict():
            return Unsupported.OBJECT
        case str() if _ISO.fullmatch(value) and _is_instant(value):
            return DataType.DATE if len(value) == _DATE_LENGTH else DataType.DATETIME
    return DataType.TEXT


def _is_instant(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _reported(name: str, kinds: set[_Kind]) -> ReportedField:
    """Return the property whose values are of these kinds."""
    for kind in Unsupported:
        if kind in kinds:
            return RefusedField(name, kind.value)
    if not kinds:
        return RefusedField(name, "No profile that was read has a value, so its type is unknown.")
    types = {kind for kind in kinds if isinstance(kind, DataType)}
    if types == {DataType.DATE, DataType.DATETIME}:
        types = {DataType.DATETIME}
    return EspField(name=name, data_type=types.pop() if len(types) == 1 else DataType.TEXT)
