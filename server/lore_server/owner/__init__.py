"""Run one owner process for each index, connect MCP clients to it and send it the shell's calls."""
