"""The driven ports: what the core requires of adapters. The contract suite tests adapters.

Every method of a repository is one transaction: if it raises, nothing is stored. There is one
exception: every method raises StorageUnavailable if the storage fails or does not respond in time,
and the change may have been stored then. All methods are thread-safe.
"""
