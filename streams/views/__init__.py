"""Read-only views of what the service wrote, and the queries over them."""
