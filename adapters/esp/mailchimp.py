"""Mailchimp: GET /3.0/lists/{list_id}/merge-fields."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspRefused, ReportedField

from .api import Api, is_host_label, variable
from .listing import UNDOCUMENTED, Types, counted_pages, report, report_items
from .responses import Item, Response, WholeNumber, describe_account
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {
    "address": DataType.TEXT,
    "birthday": DataType.TEXT,  # MM/DD, without a year
    "date": DataType.DATE,
    "dropdown": DataType.TEXT,
    "imageurl": DataType.TEXT,
    "number": DataType.NUMBER,
    "phone": DataType.TEXT,
    "radio": DataType.TEXT,
    "text": DataType.TEXT,
    "url": DataType.TEXT,
    "zip": DataType.TEXT,
}


@frozen
class _MergeField:
    tag: str
    name: object = None
    """The label."""
    type: str | None = None
    options: object = None
    default_value: object = None


@frozen
class _Page:
    merge_fields: list[Item]
    total_items: WholeNumber


@frozen
class _Root:
    account_id: str
    account_name: str | None = None


@frozen(kw_only=True)
class MailchimpFieldSource:
    """The merge fields of one audience; EMAIL is not one of them."""

    api_key: str = field(repr=False)
    list_id: str
    url: str = ""
    """The URL of the API. The default is that of the data center at the end of the API key."""
    limits: Limits = DEFAULT_LIMITS

    @property
    def _api(self) -> Api:
        return Api(
            esp=Esp("mailchimp"),
            url=self.url or f"https://{self._data_center()}.api.mailchimp.com",
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need access to this audience",
            address="list_id url",
            limits_with_403=True,
        )

    def fields(self) -> Iterator[ReportedField]:
        api = self._api
        path = f"/3.0/lists/{quote(self.list_id, safe='')}/merge-fields"
        with Run(self.limits) as run:
            for page in counted_pages(run, api, path, {"count": 1_000}, _read):
                yield from report_items(api, page.merge_fields, _MergeField, _reported, name="tag")

    def account_name(self) -> str:
        with Run(self.limits) as run:
            response = run.get(self._api, "/3.0/", {"fields": "account_id,account_name"})
        root = response.read(_Root)
        return describe_account(root.account_name, root.account_id)

    def _data_center(self) -> str:
        # A key without a hyphen has no data center, and must not become part of a host name.
        _, hyphen, center = self.api_key.rpartition("-")
        if not hyphen or not is_host_label(center):
            raise EspRefused(
                f"The Mailchimp key in {variable('mailchimp', 'api_key')} does not end with a"
                " data center, such as -us7. Copy the whole key, or set"
                f" {variable('mailchimp', 'url')} to https://api.mailchimp.com."
            )
        return center


def _read(response: Response) -> tuple[_Page, int, list[str]]:
    page = response.read(_Page)
    identities = [str(each.get("merge_id") or each.get("tag")) for each in page.merge_fields]
    return page, page.total_items, identities


def _reported(each: _MergeField) -> ReportedField:
    options = {} if each.options is None else each.options
    choices = options.get("choices") if isinstance(options, dict) else UNDOCUMENTED
    return report(
        each.tag,
        each.type,
        _TYPES,
        label=each.name,
        options=choices,
        default=each.default_value,
    )
