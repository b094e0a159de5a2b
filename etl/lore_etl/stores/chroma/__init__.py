"""The vector store on Chroma: embedded, a child server, a remote server or Chroma Cloud."""
