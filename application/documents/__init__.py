"""What all documents share: JSON, conversion to values, schemas, violations."""
