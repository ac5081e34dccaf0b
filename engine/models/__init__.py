"""Models: what a text costs them, and the wires they are reached over."""
