"""Serve a new storage with two organizations until SIGTERM. Write one line of JSON first."""

from __future__ import annotations

import json
import sys

import click

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    AllowedValues,
    Author,
    DataType,
    FieldDraft,
    OrganizationId,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE
from recipient_fields.entrypoints.server.server import Server
from recipient_fields.entrypoints.service.host_rejections import HostRejections
from recipient_fields.entrypoints.service.log import start_log
from recipient_fields.entrypoints.service.selection import open_core


def main(storage_url: str) -> None:
    start_log("info", "json", sys.stderr)
    core = open_core(storage_url)
    acme, globex = (core.administration.create_organization(n).id for n in ("Acme", "Globex"))
    for organization in (acme, globex):
        _fill(core, organization)
    server = Server(
        create_app(core),
        "127.0.0.1",
        0,
        reject=HostRejections(),
        max_body_size=MAX_BODY_SIZE,
        threads=4,
    )
    description = {
        "url": server.url,
        "acme": _key(core, acme),
        "acme_read_only": _key(core, acme, Access.READ_ONLY),
        "globex": _key(core, globex),
    }
    click.echo(json.dumps(description))
    server.run()


def _fill(core: Core, organization: OrganizationId) -> None:
    tiers = AllowedValues(DataType.TEXT, ["gold", "silver", "bronze"])
    mailchimp = core.integrations.create_integration(
        organization, esp=Esp("mailchimp"), name="Main list"
    )
    synced = core.fields.by(Author(mailchimp.channel))
    administrator = core.fields.by(Author(ADMINISTRATOR))
    core.fields.create_field(
        organization,
        FieldDraft(name="Loyalty tier", data_type=DataType.TEXT, allowed_values=tiers),
    )
    administrator.create_field(
        organization, FieldDraft(name="Preferred shop", data_type=DataType.TEXT)
    )
    synced.create_field(
        organization,
        FieldDraft(name="First name", data_type=DataType.TEXT, esp_field_name="FNAME"),
    )


def _key(core: Core, organization: OrganizationId, access: Access = Access.READ_WRITE) -> str:
    return core.administration.issue_key(organization, name="Tests", access=access).plain.reveal()


main(sys.argv[1])
