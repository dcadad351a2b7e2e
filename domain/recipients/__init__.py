"""The data of recipients, checked against the fields of an organization."""
