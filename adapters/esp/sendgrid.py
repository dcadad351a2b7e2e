"""SendGrid: GET /v3/marketing/field_definitions."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import RefusedField, ReportedField

from .api import Api
from .listing import ListedFields, Types, Unsupported, report, report_items
from .responses import Item, Response, describe_account
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {"Date": DataType.DATETIME, "Number": DataType.NUMBER, "Text": DataType.TEXT}

_RESERVED_LISTS = {"alternate_emails"}
"""Reserved fields with a list of texts. The API states the type of its items."""


@frozen
class _Field:
    name: str
    field_type: str | None = None


@frozen
class _Metadata:
    next: str | None = None


@frozen
class _Page:
    reserved_fields: list[Item]
    custom_fields: list[Item] | None = None
    _metadata: _Metadata | None = None


@frozen
class _User:
    username: str


@frozen(kw_only=True)
class SendGridFieldSource:
    """The custom and the reserved fields of contacts. Both have the same syntax in templates."""

    api_key: str = field(repr=False)
    url: str = "https://api.sendgrid.com"
    limits: Limits = DEFAULT_LIMITS

    @property
    def _api(self) -> Api:
        return Api(
            esp=Esp("sendgrid"),
            url=self.url,
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need read access to Marketing",
            limited_until="X-RateLimit-Reset",
        )

    def fields(self) -> Iterator[ReportedField]:
        api = self._api
        listed = ListedFields(api)
        reserved: dict[object, Item] = {}
        with Run(self.limits) as run:
            for page in run.pages(api, "/v3/marketing/field_definitions", None, _read):
                for each in page.custom_fields or ():
                    listed.add(str(each.get("id") or each.get("name")))
                yield from report_items(api, page.custom_fields or (), _Field, _reported)
                # Each page may repeat the reserved fields: the schema requires them.
                reserved.update((str(each.get("name")), each) for each in page.reserved_fields)
        yield from report_items(api, reserved.values(), _Field, _reported_reserved)

    def account_name(self) -> str:
        with Run(self.limits) as run:
            response = run.get(self._api, "/v3/user/username")
        return describe_account(None, response.read(_User).username)


def _read(response: Response) -> tuple[_Page, str | None]:
    page = response.read(_Page)
    return page, (page._metadata.next or None) if page._metadata else None


def _reported(each: _Field) -> ReportedField:
    return report(each.name, each.field_type, _TYPES)


def _reported_reserved(each: _Field) -> ReportedField:
    if each.name in _RESERVED_LISTS:
        return RefusedField(each.name, Unsupported.LIST.value)
    return _reported(each)
