"""A client of the example of rooms: joins, sends a message, and prints what it receives as lines of JSON.

python_client.py <url> <namespace> <transport> <room>
"""
import json
import sys

import socketio

url, namespace, transport, room = sys.argv[1:]
client = socketio.Client(reconnection=False)


def show(*line):
    print(json.dumps(line), flush=True)


for name in ("message", "joined", "left"):
    client.on(name, lambda data, name=name: show(name, data), namespace=namespace)
client.connect(url, namespaces=[namespace], transports=[transport])
show("members", client.call("join", room, namespace=namespace)["members"])
client.emit("message", {"room": room, "text": "from Python"}, namespace=namespace)
for _ in sys.stdin:
    break
show("left", client.call("leave", room, namespace=namespace))
client.disconnect()
