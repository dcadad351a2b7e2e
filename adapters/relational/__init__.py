"""The repositories that SQLite, PostgreSQL and Citus share, and their statements.

A statement is a named text of an `.sql` file beside the repository that uses it, and a `Dialect`
renders the parts that databases write differently. The package is internal: a storage of another
project implements the ports.
"""
