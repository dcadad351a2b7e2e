"""The commands for ESPs and integrations."""
