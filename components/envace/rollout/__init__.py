"""Playing episodes and groups of them."""
