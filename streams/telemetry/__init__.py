"""What the service says of itself: metrics, logs, progress."""
