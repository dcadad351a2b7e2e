"""The resources for the data of recipients."""
