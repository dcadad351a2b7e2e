"""The command that sets a proposed name."""

from __future__ import annotations

from recipient_fields.domain.esp import NameProposal


def setting_command(proposal: NameProposal) -> str:
    """Return a sentence with the command that sets the proposed name."""
    return (
        f"To set one: `integrations names {proposal.integration_id} --set"
        f" {proposal.key}={proposal.name}`."
    )
