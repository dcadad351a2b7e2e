"""What only Citus needs.

- `schema` distributes the tables over the workers, by organization.
- `server` stores changes of fields with `change_statements`, each of which is one task on a worker.
- `key_owners` finds the organization of an API key, without a search on all workers.
"""
