"""Benchmarks as items to compare with: one file per format."""
