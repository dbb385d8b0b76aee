"""Reads what clients do over gRPC: their messages, life-cycle events and receipts. publish.py says how to start it.

    PYTHONPATH=. python examples/grpc/events.py example localhost:3002
"""
import os
import queue
import sys

import grpc
import inkcast_pb2 as inkcast
import inkcast_pb2_grpc as service

group, address = sys.argv[1:3] if len(sys.argv) > 2 else ("example", "localhost:3002")
token = os.environ.get("TOKEN")
metadata = [("authorization", f"Bearer {token}")] if token else []

with grpc.insecure_channel(address) as channel:
    # the group first, then what is done
    requests = queue.SimpleQueue()
    requests.put(inkcast.EventsRequest(group=group))
    for response in service.GatewayStub(channel).Events(iter(requests.get, None), metadata=metadata):
        for event in response.events:
            print(event.operator, event.guid, event.uid, event.value.decode(), flush=True)
        # events that are not acknowledged come again
        requests.put(inkcast.EventsRequest(done=response.batch))
