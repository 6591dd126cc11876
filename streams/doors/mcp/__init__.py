"""The Model Context Protocol at `/mcp`: tools, resources and prompts over the gateway's functions.

The door decides nothing: it turns requests of MCP into those of the gateway, and records into
results.  It holds nothing between requests, so any gateway answers any request.
"""
