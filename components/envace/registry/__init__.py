"""Model versions, the gate and promotion."""
