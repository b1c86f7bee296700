"""What is the same, nearly the same, or part of a benchmark."""
