"""How a record is checked before anything relies on it."""
