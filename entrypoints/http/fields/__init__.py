"""The resources of fields and of their history, with their parameters."""
