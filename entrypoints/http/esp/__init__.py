"""The resources of integrations with ESPs."""
