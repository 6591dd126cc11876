"""The agent that bridges to a real MCP server, of Summit, of ASAP or of both (docs/mcp.md).

It is what `headrace mcp bridge` runs.
"""
