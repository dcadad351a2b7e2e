"""The fields that code for one integration can use."""

from __future__ import annotations

from recipient_fields.domain import ADMINISTRATOR, API, IntegrationId, sync_channel
from recipient_fields.domain.esp import exportable_fields

SEVEN = IntegrationId(7)


def test_one_email_can_contain_the_fields_of_only_one_integration(make_field):
    channels = (API, ADMINISTRATOR, sync_channel(SEVEN), sync_channel(IntegrationId(8)))
    api, manual, synced, other = (make_field(channel) for channel in channels)
    fields = (other, synced, manual, api)
    assert exportable_fields(fields, SEVEN) == (synced, manual, api)
    assert exportable_fields(fields, None) == (manual, api)
