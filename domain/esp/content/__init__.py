"""Content in the languages of ESPs."""
