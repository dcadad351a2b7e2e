"""The statements and repositories that SQLite and PostgreSQL share.

A statement is a function that returns SQL. Its name and its docstring say what the statement does,
and a `Dialect` renders the parts that databases write differently. The package is internal: a
storage of another project implements the ports.
"""
