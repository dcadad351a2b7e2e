"""HubSpot: GET /crm/v3/properties/contacts."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .answers import Answer
from .api import Api
from .listing import Types, Unfit, report
from .run import USUAL_LIMITS, Limits, Run

_ENUMERATION = "enumeration"
_CHECKBOXES = "checkboxes"
"""Our name of an enumeration that a form shows as several boxes: several may be ticked."""

_TYPES: Types = {
    "bool": DataType.BOOLEAN,
    "date": DataType.DATE,
    "datetime": DataType.DATETIME,
    "json": Unfit.OBJECT,
    "number": DataType.NUMBER,
    "phone_number": DataType.TEXT,
    "string": DataType.TEXT,
    _CHECKBOXES: Unfit.LIST,
    _ENUMERATION: DataType.TEXT,
}


@frozen(kw_only=True)
class HubSpotFieldSource:
    """The properties of contacts that HubSpot shows to people: neither archived nor hidden.

    An option that is hidden counts: contacts may have kept it.
    """

    access_token: str = field(repr=False)
    url: str = "https://api.hubapi.com"
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.HUBSPOT,
            url=self.url,
            headers={"Authorization": f"Bearer {self.access_token}"},
            scope="they need the scope crm.schemas.contacts.read",
        )
        with Run(self.limits) as run:
            answer = run.get(api, "/crm/v3/properties/contacts", {"archived": "false"}).json()
            for each in answer["results"].items():
                if not (each.optional_flag("archived") or each.optional_flag("hidden")):
                    yield _reported(each)


def _reported(each: Answer) -> ReportedField:
    type_name = each["type"].text()
    options: list[str] = []
    if type_name == _ENUMERATION:
        options = [option["value"].text() for option in each["options"].items()]
        if each["fieldType"].text() == "checkbox":
            type_name = _CHECKBOXES
    label = each["label"].text()
    return report(each["name"].text(), type_name, _TYPES, label=label, options=options)
