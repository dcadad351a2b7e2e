"""The template languages of ESPs: each reads a text into a tree, and writes it."""
