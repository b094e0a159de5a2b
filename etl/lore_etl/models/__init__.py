"""Models in ONNX: compiled once, served by ONNX Runtime without its telemetry.

Unless this variable is set before they load, official builds create an id of the device and send events to Microsoft.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
