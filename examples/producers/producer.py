"""Publishes to everyone who has a document open.

    pip install confluent-kafka
    python producer.py localhost:9092 minutes "hello from Python"
"""
import json
import sys

from confluent_kafka import Producer

brokers, guid, text = sys.argv[1:4]
# the partitioner of Java, kafkajs and the api of inkcast; with another one a document's records would be in two partitions
producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True, "partitioner": "murmur2_random"})
failures = []


def done(error, message):
    if error is not None:
        failures.append(error)
    else:
        print(f"partition {message.partition()}, offset {message.offset()}")


# the key is the guid, so that a document's records keep their order; inkcast reads the headers only and passes the
# value on unchanged
producer.produce(
    "documents.downlink",
    key=guid,
    value=json.dumps({"text": text}),
    headers={"x-operator": "broadcast", "x-guid": guid},
    on_delivery=done,
)
producer.flush()
if failures:
    sys.exit(f"not published: {failures[0]}")
