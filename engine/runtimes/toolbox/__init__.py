"""Tools of agents, their schemas and their calls: functions, and tools of MCP servers."""
