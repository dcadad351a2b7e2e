"""ActiveCampaign: GET /api/3/fields."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Types, Unsupported, counted_pages, report
from .responses import WholeNumber
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
class _Option:
    id: str
    value: str | None = None


@frozen
class _Field:
    id: WholeNumber
    perstag: str
    title: str
    type: str | None = None
    options: list[str] | None = None


@frozen
class _Meta:
    total: WholeNumber


@frozen
class _Page:
    meta: _Meta
    fields: list[_Field]
    fieldOptions: list[_Option] | None = None  # noqa: N815 (the name in the API)

    @property
    def total(self) -> int:
        return self.meta.total

    @property
    def identities(self) -> list[int]:
        return [each.id for each in self.fields]


@frozen(kw_only=True)
class ActiveCampaignFieldSource:
    """The custom fields of contacts; its API does not list the standard fields."""

    api_key: str = field(repr=False)
    url: str
    """The account's API URL, `https://ACCOUNT.api-us1.com`."""
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        api = Api(
            esp=Esp.ACTIVECAMPAIGN,
            url=self.url,
            headers={"Api-Token": self.api_key},
            scope="they need a user with access to fields",
        )
        with Run(self.limits) as run:
            for page in counted_pages(run, api, "/api/3/fields", {"limit": 100}, _Page):
                values = {option.id: option.value for option in page.fieldOptions or ()}
                for each in page.fields:
                    yield report(
                        each.perstag,
                        each.type or "",
                        _TYPES,
                        label=each.title,
                        options=[values.get(option_id) for option_id in each.options or ()],
                    )
