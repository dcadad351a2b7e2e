"""The credentials of ESPs that the service reads from its environment."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("options", [(), ("--esp-organizations", "1,7")])
def test_organizations_that_share_credentials_are_warned_of(start, options):
    service = start("--console", *options)
    service.wait_for("listening on")
    warnings = [line["event"] for line in service.log if line["level"] == "warning"]
    assert ["integrations connect ID" in each for each in warnings] == [True] * bool(options)
