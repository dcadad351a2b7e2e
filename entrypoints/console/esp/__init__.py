"""The pages of integrations."""
