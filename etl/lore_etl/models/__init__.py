"""Models in ONNX: compiled once, served by ONNX Runtime without its telemetry.

Official builds of ONNX Runtime create an id of the device in `~/.cache/Microsoft` and send events to Microsoft unless
this variable is set before they are loaded. Importing this package sets it, also for child processes.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
