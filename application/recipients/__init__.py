"""The documents of recipients, and the schemas of their data."""
