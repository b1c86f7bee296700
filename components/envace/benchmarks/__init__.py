"""Benchmarks: trials, statistics, reports."""
