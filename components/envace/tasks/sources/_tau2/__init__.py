"""The parts of the source `tau2_gold`: how solutions are played, and how they become tasks."""
