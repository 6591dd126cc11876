"""Read-only copies of what the service wrote, and the queries over them."""
