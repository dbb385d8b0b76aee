/**
 * The functions of a Kafka client that inkcast uses. kafkajs/driver.js implements it; test/contract/kafka.js is the
 * suite that every driver has to pass. Only composition roots name a driver, everything else gets a `KafkaDriver`.
 *
 * Order: records of one partition are delivered in the order of their offsets, one batch of a partition at a time;
 * batches of several partitions run at the same time.
 * Failure: a driver retries inside its calls and rejects when it gives up. It never restarts a subscription by itself.
 * Errors with `retriable: true` are expected to pass.
 * Time: every call ends by itself. While Kafka is unavailable a driver may try for a minute before it rejects; `close`
 * ends within 3 s.
 *
 * @typedef {object} KafkaDriver
 * @property {(options: { topic: string, groupId: string }, handlers: SubscriptionHandlers) => Subscription} consume
 *   opens no connection yet
 * @property {(topic: string) => Promise<TopicProducer>} produce connects an idempotent producer. Rejects when Kafka is
 *   unavailable
 * @property {(request: TopicsRequest) => Promise<{ missing: string[], created: boolean }>} ensureTopics one attempt.
 *   `missing`: topics that did not exist; `created`: this call created them (false also when another process was
 *   faster). Rejects when Kafka is unavailable
 * @property {(topics: string[]) => Promise<Safety>} safety how many brokers have a record when it is acknowledged.
 *   Rejects when Kafka is unavailable, a topic does not exist, or its settings may not be read
 * @property {(topic: string) => Promise<string>} topicId id that Kafka gave the topic when it was created: a topic that
 *   was deleted and created again has another one. '' where brokers or driver cannot report it. Rejects when the topic
 *   does not exist or Kafka is unavailable
 * @property {(leader: { topic: string, partition: number, epoch: number }) => Promise<number | undefined>} epochEnd
 *   offset after the last record that the leader of this epoch wrote, as the partition is now (KIP-320). undefined
 *   where brokers or driver cannot report it. Rejects when Kafka is unavailable or the partition has no leader
 * @property {(options: { retries: number }) => Promise<Inspector>} inspect opens a connection of its own, which does
 *   not wait behind fetches. Rejects when Kafka is unavailable
 *
 * @typedef {object} Safety
 * @property {number} brokers of the cluster
 * @property {{ topic: string, replicas: number, minInSync: number }[]} topics `replicas`: the fewest of a partition;
 *   `minInSync`: of these a record needs (`min.insync.replicas`)
 *
 * @typedef {object} TopicsRequest
 * @property {string[]} topics
 * @property {number} partitions of a new topic; 0: create nothing
 * @property {number} maxMessageBytes of a new topic (`max.message.bytes`)
 * @property {number} [minInSync] `min.insync.replicas` of a new topic, if it has more replicas than that. Default: the
 *   broker's
 *
 * @typedef {object} Inspector
 * @property {(topic: string) => Promise<{ partition: number, low: number, high: number }[]>} ends first offset, and
 *   last stable offset: records that an open transaction holds back do not count
 * @property {(groupId: string, topic: string) => Promise<CommittedOffset[]>} committed by all partitions of the topic
 * @property {() => void} close
 *
 * @typedef {object} CommittedOffset
 * @property {number} partition
 * @property {number} offset of the next record to read; -1: nothing is committed
 * @property {string} metadata as it was committed
 */

/**
 * A member of a consumer group with manual commits, from its connection until it is closed or has failed. A group that
 * has committed nothing begins at the first record. An assignment begins at the committed offsets. A dead member's
 * partitions are reassigned after 10 s.
 *
 * @typedef {object} Subscription
 * @property {() => Promise<void>} start resolves when it is connected and asks to join; rejects when that fails
 * @property {(offsets: CommittedOffset[]) => Promise<void>} commit
 * @property {(partition: number, offset: number) => void} seek the next delivery of the partition begins here. Fetches
 *   in progress are dropped
 * @property {() => Promise<boolean>} close leaves the group, no later than 3 s from now; false: the broker did not
 *   respond in time. Never rejects
 *
 * @typedef {object} SubscriptionHandlers
 * @property {(assignment: { partitions: number[], leader: boolean }) => void} onJoined with each generation of the
 *   group, before its first delivery
 * @property {() => void} onRebalance the group changes; commits are accepted until this member joins again, which is
 *   after its deliveries have ended
 * @property {() => void} onResponse a broker has responded to a fetch, with or without records
 * @property {(partition: number, next: number) => void} onSkip a fetch returned only transaction markers; `next`: the
 *   offset after them
 * @property {(error: Error) => void} onFailure the subscription is over; close it
 * @property {(delivery: Delivery) => Promise<void>} handle a driver may fetch nothing while this is pending, so pause a
 *   long delivery. Records that are not resolved at its end are delivered again. A rejection makes this member join the
 *   group again
 */

/**
 * The records of one partition in one fetch.
 * @typedef {object} Fetched
 * @property {number} partition
 * @property {KafkaRecord[]} messages in the order of their offsets, at least one
 * @property {number} from requested offset; NaN where it is unknown
 * @property {number} end the offset after the last one, transaction markers included
 * @property {number} highWatermark offset of the partition's next record at the time of the fetch
 *
 * @typedef {object} DeliveryCalls
 * @property {() => boolean} isCurrent false: the consumer is stopping, or the partition has been reassigned
 * @property {() => Promise<void>} heartbeat keeps the membership during a long delivery; may be called at
 *   any rate. Rejects when the group has continued without this member
 * @property {(offset: string) => void} resolve everything up to this record is done
 * @property {() => () => void} pause fetches continue without this partition; returns a function that resumes it
 * @property {(offsets: CommittedOffset[]) => Promise<void>} commit works while the consumer stops, too
 *
 * @typedef {Fetched & DeliveryCalls} Delivery
 *
 * @typedef {Record<string, Buffer | string | (Buffer | string)[] | undefined>} Headers
 *
 * @typedef {object} KafkaRecord
 * @property {Buffer | null} key slice of the whole response, as is the value
 * @property {Buffer | null} value
 * @property {Headers} [headers]
 * @property {string} offset
 * @property {string} timestamp ms since 1970
 * @property {{ leaderEpoch: number }} [batchContext] epoch of the leader that wrote it, -1 where the broker does not
 *   know; absent where the driver cannot report it
 * @property {Unreadable} [unreadable] the record stands for a whole batch that could not be decompressed or decoded.
 *   Its offset is that of the batch's last record, its value the bytes of the batch
 *
 * @typedef {{ error: Error, firstOffset: string, records: number }} Unreadable
 */

/**
 * Sends batches of one topic, one at a time.
 *
 * @typedef {object} TopicProducer
 * @property {number | undefined} maxBytes of a batch of one partition (`max.message.bytes`); undefined where Kafka does
 *   not tell (permission DescribeConfigs)
 * @property {(messages: OutgoingMessage[]) => Promise<SendFailure | undefined>} send resolves with undefined when all
 *   in-sync replicas have them. The same messages sent again after a failure are recognized by the broker and written
 *   once. Never rejects
 * @property {() => Promise<boolean>} close no later than 3 s from now; false: the broker did not respond in time. Never
 *   rejects
 *
 * @typedef {object} OutgoingMessage
 * @property {string | Buffer | null} key chooses the partition as Kafka's own producers do
 * @property {Buffer | null} value
 * @property {Headers} headers
 * @property {number} [partition] default: the key's
 * @property {number} [chosen] partition that the driver has chosen; it is set with the first attempt and kept, so that
 *   a batch that is sent again is unchanged
 * @property {boolean} [written] the driver has written it, while others of its batch failed or have no answer yet: it
 *   is not sent again
 *
 * @typedef {object} SendFailure
 * @property {import('../base/common/errors.js').InkcastError} error its cause is the driver's error
 * @property {boolean} rejected the batch will never be accepted unchanged; otherwise it may be, or may have been
 *   written
 * @property {boolean} [outOfSequence] the broker has lost the sequence of this producer: only a new one can continue
 */
export {}
