"""The command that sets a proposed name."""

from __future__ import annotations

from shlex import quote

from recipient_fields.domain.esp import NameProposal


def setting_command(proposal: NameProposal) -> str:
    """Return a sentence with the command that sets the proposed name."""
    assignment = quote(f"{proposal.key}={proposal.name}")
    return f"To set one: `integrations names {proposal.integration_id} --set {assignment}`."
