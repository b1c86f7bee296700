"""Metrics of a run and where they go."""
