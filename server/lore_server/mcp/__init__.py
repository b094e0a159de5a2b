"""The MCP interface: tools, resources and prompts from the contract, over any line stream and streamable HTTP."""
