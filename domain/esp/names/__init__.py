"""ESP names: what fields are called at each integration, and the codes that follow."""
