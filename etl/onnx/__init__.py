"""Models compiled to ONNX once, in a process of their own, and served without torch."""
