"""Stonehand's terminal interface, built on Textual. It knows the engine only through its public types."""
