"""HubSpot: the list of contact properties."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import ReportedField

from .api import Api
from .listing import UNDOCUMENTED, Types, Unsupported, choices_in, report, report_items
from .responses import Item, WholeNumber, describe_account
from .run import DEFAULT_LIMITS, Limits, Run

_PATH = "/crm/v3/properties/contacts"
_QUERY = {"archived": "false", "dataSensitivity": "non_sensitive"}
_ENUMERATION = "enumeration"
_CHECKBOX = "booleancheckbox"
"""A field type with the values true and false, of the type `bool` or `enumeration`."""
_CHECKBOXES = "checkboxes"
"""The type, in this module, of an enumeration that permits several options."""

_TYPES: Types = {
    "bool": DataType.BOOLEAN,
    "date": DataType.DATE,
    "datetime": DataType.DATETIME,
    "json": Unsupported.OBJECT,
    "number": DataType.NUMBER,
    "phone_number": DataType.TEXT,
    "string": DataType.TEXT,
    _CHECKBOXES: Unsupported.LIST,
    _ENUMERATION: DataType.TEXT,
}


@frozen
class _Property:
    name: str
    label: object = None
    type: str | None = None
    fieldType: str | None = None  # noqa: N815 (the name in the API)
    options: object = None
    archived: bool | None = None
    hidden: bool | None = None


@frozen
class _List:
    results: list[Item]


@frozen
class _Account:
    portalId: WholeNumber  # noqa: N815 (the name in the API)


@frozen(kw_only=True)
class HubSpotFieldSource:
    """The properties of contacts that are neither archived, hidden nor sensitive.

    HubSpot inserts no sensitive properties into emails. Hidden options are allowed values: contacts
    can still have them.
    """

    access_token: str = field(repr=False)
    url: str = "https://api.hubapi.com"
    limits: Limits = DEFAULT_LIMITS

    @property
    def _api(self) -> Api:
        return Api(
            esp=Esp("hubspot"),
            url=self.url,
            headers={"Authorization": f"Bearer {self.access_token}"},
            scope="they need the scope crm.schemas.contacts.read",
            credentials="access_token",
        )

    def fields(self) -> Iterator[ReportedField]:
        api = self._api
        with Run(self.limits) as run:
            response = run.get(api, _PATH, _QUERY)
        yield from report_items(api, response.read(_List).results, _Property, _reported)

    def account_name(self) -> str:
        with Run(self.limits) as run:
            response = run.get(self._api, "/account-info/v3/details")
        return describe_account(None, response.read(_Account).portalId)


def _reported(each: _Property) -> ReportedField | None:
    if each.archived or each.hidden:
        return None
    type_name, options = each.type, None
    if each.fieldType == _CHECKBOX and type_name == _ENUMERATION:
        type_name = "bool"
    elif type_name == _ENUMERATION:
        options = choices_in(UNDOCUMENTED if each.options is None else each.options, "value")
        type_name = _CHECKBOXES if each.fieldType == "checkbox" else each.fieldType and type_name
    return report(each.name, type_name, _TYPES, label=each.label, options=options)
