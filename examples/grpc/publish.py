"""Publishes to a document over gRPC and reads what clients send, with code that is generated from inkcast.proto.

    pip install grpcio grpcio-tools
    python -m grpc_tools.protoc -I src/services/api/grpc --python_out=. --grpc_python_out=. src/services/api/grpc/inkcast.proto
    GRPC_PORT=3002 UPLINK_GROUPS=example npm start
    PYTHONPATH=. python examples/grpc/publish.py minutes localhost:3002
"""
import json
import os
import sys

import grpc
import inkcast_pb2 as inkcast
import inkcast_pb2_grpc as service

guid, address = sys.argv[1:3] if len(sys.argv) > 2 else ("minutes", "localhost:3002")
# the token of a caller; none is needed on your own machine
token = os.environ.get("TOKEN")
metadata = [("authorization", f"Bearer {token}")] if token else []


def encode(value):
    return json.dumps(value).encode()


with grpc.insecure_channel(address) as channel:
    gateway = service.GatewayStub(channel)

    # one record
    answer = gateway.Broadcast(
        inkcast.BroadcastRequest(guid=guid, event="edit", value=encode({"cell": "A1", "text": "hello"})),
        metadata=metadata,
        timeout=10,
    )
    print("published", answer.position.offset)

    # an error has a status of gRPC, and the code of docs/errors.md
    try:
        gateway.Broadcast(inkcast.BroadcastRequest(guid=guid, event="doc:joined"), metadata=metadata, timeout=10)
    except grpc.RpcError as error:
        print("refused", error.code().name, dict(error.trailing_metadata())["inkcast-code"])

    # many records: one result for each, in their order; it is read as fast as they can be published
    def publications():
        for first in range(0, 1000, 100):
            yield inkcast.PublishStreamRequest(
                publications=[
                    inkcast.Publication(guid=guid, event="edit", value=encode({"number": first + i}))
                    for i in range(100)
                ]
            )

    results = [
        result
        for response in gateway.PublishStream(publications(), metadata=metadata)
        for result in response.results
    ]
    print("streamed", len(results), all(result.ok for result in results))
