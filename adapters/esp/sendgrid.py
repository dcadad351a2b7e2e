"""SendGrid: GET /v3/marketing/field_definitions."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Types, report, report_items
from .responses import Item
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {"Date": DataType.DATETIME, "Number": DataType.NUMBER, "Text": DataType.TEXT}


@frozen
class _Field:
    name: str
    field_type: str | None = None


@frozen
class _List:
    reserved_fields: list[Item]
    custom_fields: list[Item] | None = None


@frozen(kw_only=True)
class SendGridFieldSource:
    """The custom and the reserved fields of contacts. Both have the same syntax in templates."""

    api_key: str = field(repr=False)
    url: str = "https://api.sendgrid.com"
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        api = Api(
            esp=Esp.SENDGRID,
            url=self.url,
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need read access to Marketing",
        )
        with Run(self.limits) as run:
            listed = run.get(api, "/v3/marketing/field_definitions").read(_List)
        items = [*(listed.custom_fields or ()), *listed.reserved_fields]
        yield from report_items(api, items, _Field, _reported)


def _reported(each: _Field) -> ReportedField:
    return report(each.name, each.field_type, _TYPES)
