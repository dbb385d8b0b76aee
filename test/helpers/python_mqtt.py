"""A client with paho-mqtt: subscribes with quality 1, sends a message, and prints what it gets until it has `count`."""

import json
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

options = json.loads(sys.argv[1])
received = []
five = options["version"] == 5


def on_connect(client, userdata, flags, reason, properties):
    print(json.dumps({"connected": str(reason), "present": flags.session_present}), flush=True)
    if not flags.session_present:
        client.subscribe(options["topic"], qos=1)
    elif received == []:
        client.publish(options["topic"], json.dumps(options["value"]), qos=1)


def on_subscribe(client, userdata, mid, reasons, properties):
    client.publish(options["topic"], json.dumps(options["value"]), qos=1)


def on_message(client, userdata, message):
    received.append(json.loads(message.payload))
    print(json.dumps({"topic": message.topic, "qos": message.qos, "dup": message.dup, "value": received[-1]}), flush=True)
    if len(received) == options["count"]:
        # before the acknowledgement, which follows this function
        client.disconnect()


client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2,
    client_id=options["client"],
    protocol=mqtt.MQTTv5 if five else mqtt.MQTTv311,
    transport=options.get("transport", "tcp"),
    **({} if five else {"clean_session": False}),
)
client.on_connect, client.on_subscribe, client.on_message = on_connect, on_subscribe, on_message
client.username_pw_set(options["user"], options["password"])
if "ca" in options:
    client.tls_set(ca_certs=options["ca"])
if "path" in options:
    client.ws_set_options(path=options["path"])
more = {}
if five:
    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = 3600
    more = {"clean_start": False, "properties": properties}
client.connect(options["host"], options["port"], keepalive=30, **more)
client.loop_forever(retry_first_connection=False)
