"""The pages of fields and of their history."""
