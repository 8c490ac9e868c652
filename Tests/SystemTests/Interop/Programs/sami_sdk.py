"""The official Python SDK of ARTIK Cloud (PyPI artikcloud), unchanged, against our server.

Argument: the server's address. Prints a line per call and, at the end, the number of calls. Exit code 1 at the first answer that
differs from the reference or that the SDK cannot read.
"""
import io
import json
import sys
import tarfile
import time
import urllib.request
import warnings

warnings.simplefilter("ignore")
import artikcloud
from artikcloud.rest import ApiException

base = sys.argv[1]
done = 0


def raw(method, path, body=None, token=None):
    request = urllib.request.Request(base + path, method=method)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", "bearer " + token)
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data) as answer:
        return json.load(answer)


def call(name, made, expected=True):
    """Counts a call and checks its answer."""
    global done
    done += 1
    if not expected:
        print("%s: not as expected: %s" % (name, made))
        sys.exit(1)
    print("%2d %s" % (done, name))
    return made


def refused(name, status, code, function, *arguments, **named):
    try:
        made = function(*arguments, **named)
    except ApiException as error:
        call(name, error.body, error.status == status and json.loads(error.body)["error"]["code"] == code)
    else:
        call(name, made, False)


def client(token):
    configuration = artikcloud.Configuration()
    configuration.host = base + "/v1.1"
    configuration.access_token = token
    return artikcloud.ApiClient()


grant = raw("POST", "/control/tokens", {})
api = client(grant["access_token"])
users, types = artikcloud.UsersApi(api), artikcloud.DeviceTypesApi(api)
devices, messages = artikcloud.DevicesApi(api), artikcloud.MessagesApi(api)
exports, tokens, status = artikcloud.ExportApi(api), artikcloud.TokensApi(api), artikcloud.DevicesStatusApi(api)

# The user.
me = users.get_self()
call("users.get_self", me, me.data.full_name == "Ada Example" and me.data.created_on > 10**9)
uid, aid = me.data.id, "a11ce0000000000000000000000000aa"
own = artikcloud.AppProperties(uid=uid, aid=aid, properties='{"unit": "kg"}')
refused("users.get_user_properties, none", 404, 404, users.get_user_properties, uid, aid=aid)
made = users.create_user_properties(uid, own, aid=aid)
call("users.create_user_properties", made, made.data.properties == '{"unit": "kg"}')
own.properties = "changed"
call("users.update_user_properties", users.update_user_properties(uid, own, aid=aid))
made = users.get_user_properties(uid, aid=aid)
call("users.get_user_properties", made, made.data.properties == "changed")
made = users.delete_user_properties(uid, aid=aid)
call("users.delete_user_properties", made, made.data.properties == "")
refused("users.get_user_devices of another", 404, 1201, users.get_user_devices, "nobody")

# The article's way to find the scale.
found = types.get_device_types("Withings Device", offset=0, count=1)
call("device_types.get_device_types", found, found.total == 1 and found.count == 1)
dtid = found.data.device_types[0].id
made = types.get_device_types("Withings", offset=0, count=1)
call("device_types.get_device_types, none", made, made.data.device_types == [])
call("device_types.get_device_type", types.get_device_type(dtid).data, types.get_device_type(dtid).data.name == "Withings Device")
refused("device_types.get_device_type, none", 404, 1101, types.get_device_type, "dt-nothing")
made = types.get_available_manifest_versions(dtid)
call("device_types.get_available_manifest_versions", made, made.data.versions == ["1"] or made.data.versions == [1])
fields = types.get_latest_manifest_properties(dtid).data.properties.fields
call("device_types.get_latest_manifest_properties", fields, fields["weight"]["unit"] == "kg")
fields = types.get_manifest_properties(dtid, "1").data.properties.fields
call("device_types.get_manifest_properties", fields, fields["calories"]["unit"] == "J*4.184")
made = types.get_device_types_by_application(aid)
call("device_types.get_device_types_by_application", made, made.total >= 3)
made = users.get_user_device_types(uid, offset=0, count=100, include_shared=False)
call("users.get_user_device_types", made, made.total >= 3)
made = users.get_user_devices(uid, offset=0, count=100, include_properties=True)
call("users.get_user_devices", made, [d.dtid for d in made.data.devices] == [dtid])

# A new device.
made = devices.add_device(artikcloud.Device(uid=uid, dtid=dtid, name="Another scale"))
call("devices.add_device", made, made.data.name == "Another scale" and made.data.manifest_version == 1)
scale = made.data.id
refused("devices.add_device, short name", 400, 4001, devices.add_device, artikcloud.Device(uid=uid, dtid=dtid, name="x"))
call("devices.get_device", devices.get_device(scale), devices.get_device(scale).data.id == scale)
made = devices.update_device(scale, artikcloud.Device(name="Renamed scale"))
call("devices.update_device", made, made.data.name == "Renamed scale" and made.data.dtid == dtid)
refused("devices.get_device_token, none", 404, 404, devices.get_device_token, scale)
device_token = raw("PUT", "/v1.1/devices/%s/tokens" % scale, token=grant["access_token"])["data"]["accessToken"]
made = devices.get_device_token(scale)
call("devices.get_device_token", made, made.data.access_token == device_token and made.data.did == scale)
made = devices.get_device_presence(scale)
call("devices.get_device_presence", made, made.data.connected is False)

# Messages.
now = int(time.time() * 1000)
made = messages.send_message(artikcloud.Message(sdid=scale, ts=now - 60000, data={"weight": 81.4, "unknown": 1}))
first = made.data.mid
call("messages.send_message", made, len(first) == 32)
made = artikcloud.MessagesApi(client(device_token)).send_message(artikcloud.Message(sdid=scale, ts=now, data={"weight": 81.2, "groupId": 7}))
call("messages.send_message, device token", made)
client(grant["access_token"])
refused("messages.send_message, future", 400, 4001, messages.send_message, artikcloud.Message(sdid=scale, ts=now + 10**9, data={"weight": 1}))
made = messages.get_last_normalized_messages(count=20, sdids=scale)
call("messages.get_last_normalized_messages", made, made.size == 2 and [m.data["weight"] for m in made.data] == [81.2, 81.4])
made = messages.get_normalized_messages(sdid=scale, start_date=now - 3600000, end_date=now + 1, order="asc", count=1)
call("messages.get_normalized_messages", made, made.size == 1 and made.data[0].mid == first and made.data[0].data == {"weight": 81.4})
made = messages.get_normalized_messages(sdid=scale, start_date=now - 3600000, end_date=now + 1, order="asc", count=1, offset=made.next)
call("messages.get_normalized_messages, next page", made, made.data[0].data["weight"] == 81.2 and not made.next)
made = messages.get_normalized_messages(mid=first)
call("messages.get_normalized_messages by mid", made, made.size == 1 and made.data[0].mv == 1)
made = messages.get_normalized_messages(sdid=scale, field_presence="groupId")
call("messages.get_normalized_messages, presence", made, made.size == 1)
day = 86400000
today = now // day * day
made = messages.get_message_aggregates(scale, "weight", today - day, today + day)
call("messages.get_message_aggregates", made, made.data[0].count == 2 and abs(made.data[0].mean - 81.3) < 1e-6)
made = messages.get_aggregates_histogram(today - day, today + day, sdid=scale, field="weight", interval="day")
call("messages.get_aggregates_histogram", made, sum(b.count for b in made.data) == 2)
made = messages.get_field_presence(now - 3600000 + 61000, now, "minute", sdid=scale, field_presence="weight")
call("messages.get_field_presence", made, made.interval == "MINUTE" and made.size >= 1)
made = messages.get_message_snapshots(scale, include_timestamp=False)
call("messages.get_message_snapshots", made, made.data[0].data == {"weight": 81.2, "groupId": 7})
action = artikcloud.Actions(ddid=scale, sdid=scale, type="action", data=artikcloud.ActionArray(actions=[artikcloud.Action(name="setOn", parameters={})]))
call("messages.send_actions", messages.send_actions(action))
made = messages.get_normalized_actions(ddid=scale, start_date=now - day, end_date=now + day, uid=uid)
call("messages.get_normalized_actions", made, made.size == 1)

# Export.
made = exports.export_request(artikcloud.ExportRequestInfo(sdids=scale, start_date=now - day, end_date=now + day))
call("export.export_request", made)
export = made.data.export_id
made = exports.get_export_status(export)
call("export.get_export_status", made, made.status == "Success")
# The SDK would decode the archive as text.
archive = exports.get_export_result(export, _preload_content=False).data
with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
    inside = json.load(tar.extractfile(tar.getnames()[0]))
call("export.get_export_result", inside, inside["size"] == 2)
made = exports.get_export_history(trial_id=None, count=10, offset=0)
call("export.get_export_history", made, made.total == 1)

# Tokens.
made = tokens.token_info()
call("tokens.token_info", made, made.data.user_id == uid and made.data.client_id == aid)
call("tokens.check_token", tokens.check_token(artikcloud.TokenRequest(token=grant["access_token"])))
made = tokens.refresh_token("refresh_token", grant["refresh_token"])
call("tokens.refresh_token", made, made.token_type == "bearer" and made.access_token != grant["access_token"])
refused("users.get_self, old token", 401, 401, users.get_self)
client(made.access_token)
call("users.get_self, new token", users.get_self())
call("devices.delete_device_token", devices.delete_device_token(scale))
made = devices.delete_device(scale)
call("devices.delete_device", made, made.data.id == scale)
refused("devices.get_device, gone", 404, 404, devices.get_device, scale)
print("%d calls" % done)
