"""Checklists of a task."""
