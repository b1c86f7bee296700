"""Executable tool worlds: one file per domain."""
