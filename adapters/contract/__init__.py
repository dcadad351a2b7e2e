"""What every adapter must pass, as a pytest suite and a Hypothesis state machine."""
