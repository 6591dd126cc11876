"""The routes of the service as data, and problem details: what every way to ask shares."""
