"""Brevo: GET /v3/contacts/attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import RefusedField, ReportedField

from .api import Api
from .listing import UNDOCUMENTED, Types, Unsupported, choices_in, report, report_items
from .responses import Item, describe_account
from .run import DEFAULT_LIMITS, Limits, Run

_CATEGORY = "category"
_TYPES: Types = {
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATE,
    "float": DataType.NUMBER,
    "id": DataType.TEXT,
    "multiple-choice": Unsupported.LIST,
    "text": DataType.TEXT,
    "user": DataType.TEXT,
    _CATEGORY: DataType.TEXT,
}
_UNSUPPORTED_CATEGORIES: Mapping[str, str] = {
    "calculated": "Brevo calculates it and does not list its type.",
    "global": "It belongs to the account, not to a contact.",
    "transactional": "It belongs to a contact's transactions, of which there can be several.",
}


@frozen
class _Attribute:
    name: str
    category: str
    type: str | None = None
    enumeration: object = None
    """The options of a category. Their `valueStr` is the value as stored, and their `value` is 0
    for every value that is not an integer.
    """


@frozen
class _List:
    attributes: list[Item]


@frozen
class _Account:
    organization_id: str
    companyName: str | None = None  # noqa: N815 (the name in the API)


@frozen(kw_only=True)
class BrevoFieldSource:
    """The attributes of contacts. The allowed values of a category are those that contacts have."""

    api_key: str = field(repr=False)
    url: str = "https://api.brevo.com"
    limits: Limits = DEFAULT_LIMITS

    @property
    def _api(self) -> Api:
        return Api(
            esp=Esp("brevo"),
            url=self.url,
            headers={"api-key": self.api_key},
            scope="they need access to contacts, from this IP address",
            unauthorized="Brevo's security settings block the IP address of this server",
            limited_for="x-sib-ratelimit-reset",
        )

    def fields(self) -> Iterator[ReportedField]:
        api = self._api
        with Run(self.limits) as run:
            response = run.get(api, "/v3/contacts/attributes")
        yield from report_items(api, response.read(_List).attributes, _Attribute, _reported)

    def account_name(self) -> str:
        with Run(self.limits) as run:
            account = run.get(self._api, "/v3/account").read(_Account)
        return describe_account(account.companyName, account.organization_id)


def _reported(each: _Attribute) -> ReportedField:
    if each.category in _UNSUPPORTED_CATEGORIES:
        return RefusedField(each.name, _UNSUPPORTED_CATEGORIES[each.category])
    if each.category != _CATEGORY:
        return report(each.name, each.type, _TYPES)
    enumeration = UNDOCUMENTED if each.enumeration is None else each.enumeration
    options = choices_in(enumeration, "valueStr")
    return report(each.name, _CATEGORY, _TYPES, options=options)
