"""Braze: GET /custom_attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import ReportedField

from .api import Api, variable
from .listing import ListedFields, Types, Unsupported, report, report_items
from .responses import Item, Response
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {
    "array": Unsupported.LIST,
    "array of objects": Unsupported.LIST,
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATETIME,
    "number": DataType.NUMBER,
    "object": Unsupported.OBJECT,
    "object array": Unsupported.LIST,
    "string": DataType.TEXT,
    "time": DataType.DATETIME,
}

_BLOCKLISTED = "Blocklisted"
_DETECTED = " (automatically detected)"
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_RELATION = re.compile(r"""(?:^|[;\s])rel\s*=\s*"?([a-z]+)""", re.IGNORECASE)


@frozen
class _Attribute:
    name: str
    data_type: str | None = None
    status: str | None = None


@frozen
class _Page:
    attributes: list[Item]


@frozen(kw_only=True)
class BrazeFieldSource:
    """The custom attributes of a workspace; its API does not list the standard ones.

    Blocklisted attributes are omitted: Braze stores no new values for them and hides
    the existing ones.
    """

    api_key: str = field(repr=False)
    url: str
    """The instance's REST endpoint, `https://rest.INSTANCE.braze.com`."""
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        api = Api(
            esp=Esp.BRAZE,
            url=self.url,
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need the permission custom_attributes.get, in a plan that has this API",
            unauthorized=f"{variable(Esp.BRAZE, 'url')} is that of the account's instance",
            limited_until="X-RateLimit-Reset",
        )
        listed = ListedFields(api)
        with Run(self.limits) as run:
            for page in run.pages(api, "/custom_attributes", None, _read):
                for each in page.attributes:
                    listed.add(str(each.get("name")))
                yield from report_items(api, page.attributes, _Attribute, _reported)


def _reported(each: _Attribute) -> ReportedField | None:
    if each.status == _BLOCKLISTED:
        return None
    type_name = each.data_type and each.data_type.lower().removesuffix(_DETECTED).replace("_", " ")
    return report(each.name, type_name, _TYPES)


def _read(response: Response) -> tuple[_Page, str | None]:
    page, header = response.read(_Page), response.headers.get("Link", "")
    relations = {}
    for target, parameters in _LINK.findall(header):
        relation = _RELATION.search(parameters)
        relations[relation and relation[1].lower()] = target
    if header and (not relations or None in relations):
        # Braze does not document the form. A list that ends too early would remove fields.
        raise response.api.undocumented("its header Link has a link without a relation")
    return page, relations.get("next")
