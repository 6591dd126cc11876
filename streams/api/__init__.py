"""The route table's types and problem details, used by the gateway, the CLI and `play`."""
