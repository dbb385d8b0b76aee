# A sensor: publishes a temperature each second to the document "greenhouse", over MQTT 5.
#
#   pip install paho-mqtt==2.1.0
#   python3 examples/devices/sensor.py sensor-1 localhost 1883
import json
import math
import sys
import time

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

name, host, port = sys.argv[1:] + ["sensor-1", "localhost", "1883"][len(sys.argv) - 1 :]


def on_connect(client, userdata, flags, reason, properties):
    print("connected" if not reason.is_failure else f"refused: {reason}", flush=True)


def on_publish(client, userdata, mid, reason, properties):
    if reason.is_failure:
        print("not accepted:", reason, flush=True)


client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5)
client.on_connect, client.on_publish = on_connect, on_publish
client.connect_async(host, int(port), keepalive=30)
client.loop_start()  # connects again after an interruption, and then sends what was published meanwhile

reading = Properties(PacketTypes.PUBLISH)
reading.UserProperty = ("x-event", "reading")
while True:
    celsius = round(21 + 3 * math.sin(time.time() / 10), 1)
    client.publish("doc/greenhouse", json.dumps({"sensor": name, "celsius": celsius}), qos=1, properties=reading)
    time.sleep(1)
