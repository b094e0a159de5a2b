"""The MCP interface: tools, resources and prompts from the contract, over a line stream or streamable HTTP."""
