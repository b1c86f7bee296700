"""What people and the next stage are shown of the tasks."""
