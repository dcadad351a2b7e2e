"""The complete table of permissions."""

from __future__ import annotations

from itertools import product

import pytest

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Allowed,
    Denied,
    IntegrationId,
    Operation,
    OperationForbidden,
    Origin,
    Source,
    decide,
    require,
    sync_channel,
)

CHANNELS = {
    "API": API,
    "administrators": ADMINISTRATOR,
    "sync 7": sync_channel(IntegrationId(7)),
    "sync 8": sync_channel(IntegrationId(8)),
}
ORIGINS = {
    "api": Origin(Source.API),
    "manual": Origin(Source.MANUAL),
    "integration 7": Origin(Source.INTEGRATION, IntegrationId(7), "FNAME"),
    "integration 8": Origin(Source.INTEGRATION, IntegrationId(8), "FNAME"),
}
OWN = {
    ("API", "api"),
    ("administrators", "manual"),
    ("sync 7", "integration 7"),
    ("sync 8", "integration 8"),
}
REASONS = {
    "api": "API-managed fields are changed through the API or with a document of fields,",
    "manual": "Manual fields are changed by administrators",
    "integration 7": "Integration fields are changed in the email service provider",
    "integration 8": "Integration fields are changed in the email service provider",
}

every_channel = pytest.mark.parametrize("channel", CHANNELS)
every_origin = pytest.mark.parametrize("origin", ORIGINS)
every_change = pytest.mark.parametrize(
    "operation", [Operation.CREATE, Operation.UPDATE, Operation.DELETE]
)
OTHERS = sorted(set(product(CHANNELS, ORIGINS)) - OWN)


def test_there_are_four_operations():
    assert [o.value for o in Operation] == ["read", "create", "update", "delete"]


@every_channel
@every_origin
def test_every_channel_reads_every_field(channel, origin):
    assert decide(CHANNELS[channel], Operation.READ, ORIGINS[origin]) == Allowed()


@every_change
@pytest.mark.parametrize(("channel", "origin"), sorted(OWN))
def test_a_channel_changes_the_fields_that_came_through_it(channel, operation, origin):
    assert decide(CHANNELS[channel], operation, ORIGINS[origin]) == Allowed()


@every_change
@pytest.mark.parametrize(("channel", "origin"), OTHERS)
def test_a_channel_changes_no_other_field_and_the_reason_says_where_to_change_it(
    channel, operation, origin
):
    decision = decide(CHANNELS[channel], operation, ORIGINS[origin])
    assert isinstance(decision, Denied)
    assert decision.reason.startswith(REASONS[origin])


@pytest.mark.parametrize("operation", Operation)
@every_channel
@every_origin
def test_require_raises_if_and_only_if_decide_denies(channel, operation, origin):
    arguments = CHANNELS[channel], operation, ORIGINS[origin]
    decision = decide(*arguments)
    if isinstance(decision, Allowed):
        require(*arguments)
    else:
        with pytest.raises(OperationForbidden) as forbidden:
            require(*arguments)
        assert str(forbidden.value) == decision.reason


@pytest.mark.parametrize(
    ("channel", "ending"),
    [
        ("API", "not through the API."),
        ("administrators", "not by administrators."),
        ("sync 8", "not by this sync."),
    ],
)
def test_the_reason_names_the_channel(channel, ending):
    denied = decide(CHANNELS[channel], Operation.UPDATE, ORIGINS["integration 7"])
    assert isinstance(denied, Denied)
    assert denied.reason.endswith(ending)
