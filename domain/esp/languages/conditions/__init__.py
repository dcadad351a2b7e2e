"""How languages write conditions: tests, and the strategies that join them."""
