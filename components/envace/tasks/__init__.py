"""Recorded conversations become trusted tasks."""
