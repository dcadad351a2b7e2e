"""Brevo: GET /v3/contacts/attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, RefusedField, ReportedField

from .answers import Answer
from .api import Api
from .listing import Types, Unfit, report
from .run import USUAL_LIMITS, Limits, Run

_CATEGORY = "category"
_TYPES: Types = {
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATE,
    "float": DataType.NUMBER,
    "id": DataType.TEXT,
    "multiple-choice": Unfit.LIST,
    "text": DataType.TEXT,
    "user": DataType.TEXT,
    _CATEGORY: DataType.TEXT,
}
_NOT_OF_A_CONTACT: Mapping[str, str] = {
    "calculated": "Brevo calculates it and does not tell its type.",
    "global": "It belongs to the account, not to a contact.",
    "transactional": "It belongs to a contact's transactions, of which there can be several.",
}


@frozen(kw_only=True)
class BrevoFieldSource:
    """The attributes of contacts. A category's values are the numbers that Brevo stores."""

    api_key: str = field(repr=False)
    url: str = "https://api.brevo.com"
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.BREVO,
            url=self.url,
            headers={"api-key": self.api_key},
            scope="they need access to contacts, from this IP address",
        )
        with Run(self.limits) as run:
            answer = run.get(api, "/v3/contacts/attributes").json()
            for each in answer["attributes"].items():
                yield _reported(each)


def _reported(each: Answer) -> ReportedField:
    name = each["name"].text()
    category = each["category"].text()
    if category in _NOT_OF_A_CONTACT:
        return RefusedField(name, _NOT_OF_A_CONTACT[category])
    if category != _CATEGORY:
        return report(name, each["type"].text(), _TYPES)
    options = [str(option["value"].number()) for option in each["enumeration"].items()]
    return report(name, _CATEGORY, _TYPES, options=options)
