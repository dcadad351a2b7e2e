"""The commands that run, check and copy a service."""
