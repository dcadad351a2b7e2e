"""The error that every engine raises."""


class NotRendered(Exception):
    """The engine rejects the template, or its documentation does not establish the result."""
