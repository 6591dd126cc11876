"""Commands about pings."""
