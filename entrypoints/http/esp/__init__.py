"""The resources of code for ESPs."""
