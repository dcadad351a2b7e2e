"""The commands for organizations, API keys and administrators."""
