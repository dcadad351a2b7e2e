"""What only Citus needs: the distribution of the tables, and the organizations of API keys."""
