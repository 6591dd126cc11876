"""What programs build on besides the client: the local bus."""
