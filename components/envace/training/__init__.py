"""Warm start and the training loop."""
