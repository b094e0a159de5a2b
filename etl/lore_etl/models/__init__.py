"""Models in ONNX: compiled once, served by ONNX Runtime without its telemetry.

Unless this is set before they load, also in children, official builds keep a device id and send events to Microsoft.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
