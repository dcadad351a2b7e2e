"""SendGrid: GET /v3/marketing/field_definitions."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Types, report
from .run import USUAL_LIMITS, Limits, Run

_TYPES: Types = {"Date": DataType.DATETIME, "Number": DataType.NUMBER, "Text": DataType.TEXT}


@frozen(kw_only=True)
class SendGridFieldSource:
    """The custom and the reserved fields of contacts, which its templates write alike."""

    api_key: str = field(repr=False)
    url: str = "https://api.sendgrid.com"
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.SENDGRID,
            url=self.url,
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need read access to Marketing",
        )
        with Run(self.limits) as run:
            answer = run.get(api, "/v3/marketing/field_definitions").json()
            for each in (
                *answer.optional_items("custom_fields"),
                *answer["reserved_fields"].items(),
            ):
                yield report(each["name"].text(), each["field_type"].text(), _TYPES)
