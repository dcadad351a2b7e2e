"""Recipient fields: their members, changes, history and queries."""
