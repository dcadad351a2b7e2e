"""ActiveCampaign: GET /api/3/fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import ReportedField

from .api import Api, variable
from .listing import Types, Unsupported, counted_pages, report, report_items
from .responses import Item, Response, WholeNumber
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {
    "": DataType.TEXT,
    "NULL": DataType.TEXT,
    "checkbox": Unsupported.LIST,
    "date": DataType.DATE,
    "datetime": DataType.DATETIME,
    "dropdown": DataType.TEXT,
    "hidden": DataType.TEXT,
    "listbox": Unsupported.LIST,
    "number": DataType.NUMBER,
    "radio": DataType.TEXT,
    "text": DataType.TEXT,
    "textarea": DataType.TEXT,
}


@frozen
class _Field:
    perstag: str
    title: object = None
    type: str | None = None
    options: object = None
    """The ids of its options."""
    defval: object = None


@frozen
class _Meta:
    total: WholeNumber


@frozen
class _Page:
    meta: _Meta
    fields: list[Item]
    fieldOptions: list[object] | None = None  # noqa: N815 (the name in the API)


@frozen(kw_only=True)
class ActiveCampaignFieldSource:
    """The custom fields of contacts; its API does not list the standard fields."""

    api_key: str = field(repr=False)
    url: str
    """The account's API URL, `https://ACCOUNT.api-us1.com`."""
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        key = variable("activecampaign", "api_key")
        api = Api(
            esp=Esp("activecampaign"),
            url=self.url,
            headers={"Api-Token": self.api_key},
            scope=f"{key} needs to be the key of a user with access to fields",
        )
        with Run(self.limits) as run:
            for page in counted_pages(run, api, "/api/3/fields", {"limit": 100}, _read):
                values = {
                    str(option.get("id")): option.get("value")
                    for option in page.fieldOptions or ()
                    if isinstance(option, dict)
                }
                reported = partial(_reported, values=values)
                yield from report_items(api, page.fields, _Field, reported, name="perstag")


def _read(response: Response) -> tuple[_Page, int, list[str]]:
    page = response.read(_Page)
    identities = [str(each.get("id") or each.get("perstag")) for each in page.fields]
    return page, page.meta.total, identities


def _reported(each: _Field, values: Mapping[str, object]) -> ReportedField:
    options = each.options
    if isinstance(options, list):
        options = [values.get(each) if isinstance(each, str) else None for each in options]
    return report(
        each.perstag,
        each.type or "",
        _TYPES,
        label=each.title,
        options=options,
        default=each.defval,
    )
