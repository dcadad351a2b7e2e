"""The resources of integrations."""

from __future__ import annotations

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import ContentService
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.esp.documents import IntegrationListDocument, render_integrations

from .requests import credential
from .resource import Resource, Result, Tag, operation
from .responses import digest_response, send

_TAG = Tag("Integrations", "The connections of the organization to ESPs.")


@frozen
class IntegrationCollection(Resource):
    """`/api/v1/integrations`."""

    service: ContentService

    @operation(
        "list_integrations",
        _TAG,
        Result(
            description="The integrations, ordered by id.",
            document=IntegrationListDocument,
            examples={
                "mailchimp": {
                    "integrations": [
                        {
                            "id": 1,
                            "name": "Main list",
                            "esp": "mailchimp",
                            "last_synced_at": "2026-11-20T09:15:00.123Z",
                            "created_at": "2026-11-20T09:15:00.123Z",
                            "names": [{"field_id": 2, "esp_field_name": "SHOP", "custom": False}],
                            "refused_names": [],
                        }
                    ]
                }
            },
        ),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """List the integrations.

        Other requests have their ids as `integration_id`.
        """
        integrations = self.service.list_integrations(credential(req).organization_id)
        send(req, resp, digest_response(render_json(render_integrations(integrations))))
