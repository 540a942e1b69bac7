"""Tools as a model is told of them, and their calls: functions of the user's own and tools of MCP servers."""
