"""The commands for the data of recipients."""
