"""The resources of code for ESPs. They store nothing."""

from __future__ import annotations

from typing import ClassVar

import falcon
from attrs import frozen

from recipient_fields.application import EspCodeService
from recipient_fields.application.esp_code_documents import (
    parse_condition_compilation,
    parse_content_export,
    render_condition_code,
    render_exported_content,
)
from recipient_fields.application.strict_json import render_json

from .bodies import read_json
from .heavy_requests import HeavyRequests
from .request_context import credential
from .resource import KIBIBYTE, MEBIBYTE, Resource


@frozen
class ConditionCompilations(Resource):
    """`/api/v1/condition_compilations`."""

    max_body_size: ClassVar[int] = 64 * KIBIBYTE
    requires_write: ClassVar[bool] = False

    service: EspCodeService
    heavy: HeavyRequests

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Compile a condition for an ESP."""
        compilation = parse_condition_compilation(read_json(req, self))
        with self.heavy.reading_catalog(credential(req)):
            esp, code = self.service.compile_condition(
                credential(req).organization_id,
                compilation.condition,
                compilation.target,
                then=compilation.then,
                otherwise=compilation.otherwise,
            )
        resp.data = render_json(render_condition_code(esp, code))


@frozen
class ContentExports(Resource):
    """`/api/v1/content_exports`."""

    max_body_size: ClassVar[int] = 4 * MEBIBYTE
    requires_write: ClassVar[bool] = False

    service: EspCodeService
    heavy: HeavyRequests

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Export content for an ESP."""
        export = parse_content_export(read_json(req, self))
        with self.heavy.reading_catalog(credential(req)):
            exported = self.service.export_content(
                credential(req).organization_id, export.content, export.target, strict=export.strict
            )
        resp.data = render_json(render_exported_content(exported))
