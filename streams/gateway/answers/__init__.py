"""What every route answers, by the names that the route table uses."""
