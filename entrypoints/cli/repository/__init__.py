"""The commands for the files of a team's repository: checks, uses of fields, and snapshots."""
