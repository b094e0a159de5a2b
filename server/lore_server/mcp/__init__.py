"""The MCP face: tools, resources and prompts from the contract, over any stream of lines and Streamable HTTP."""
