"""The use cases of integrations and of code for ESPs, and their documents."""
