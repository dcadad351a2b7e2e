"""The commands for fields, their history and their files."""
