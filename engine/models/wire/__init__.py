"""Wires: one module for each way to reach a model; all speak the events of `base`."""
