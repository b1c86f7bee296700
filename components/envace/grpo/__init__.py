"""Role-wise GRPO: advantages, batch, loss, update."""
