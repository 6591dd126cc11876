"""APIs that programs build on besides the client: the local bus."""
