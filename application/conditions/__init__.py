"""The documents of conditions."""
