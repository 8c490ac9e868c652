"""Posts one weight with the official Python SDK of ARTIK Cloud (PyPI artikcloud), unchanged.

Arguments: the server's address, a token, the device, kilograms, milliseconds since 1970. Prints a line before the call and one after it.
"""
import sys
import warnings

warnings.simplefilter("ignore")
import artikcloud

base, token, device, kilograms, time = sys.argv[1:]
configuration = artikcloud.Configuration()
configuration.host = base + "/v1.1"
configuration.access_token = token
messages = artikcloud.MessagesApi(artikcloud.ApiClient())
message = artikcloud.Message(sdid=device, ts=int(time), data={"weight": float(kilograms)})
print("posting", flush=True)
print("posted", messages.send_message(message).data.mid, flush=True)
