/**
 * What the parts of the store know of each other.
 *
 * @typedef {import('./resp/replies.js').Reply} Reply
 * @typedef {'channels' | 'patterns' | 'shards'} Kind of a subscription
 *
 * @typedef {object} Connection
 * @property {Store} store
 * @property {import('node:stream').Duplex} stream
 * @property {number} id
 * @property {string} name
 * @property {2 | 3} resp version of the protocol
 * @property {string} command the last one
 * @property {number} since when it began, by the monotonic clock
 * @property {number} active when its last bytes came
 * @property {Record<Kind, Set<string>>} subscriptions
 * @property {boolean} isSubscriber
 * @property {number} unread bytes that the client has not read
 * @property {number} unparsed bytes of requests that are not complete, or not carried out
 * @property {() => void} work carries out the requests that have come
 * @property {(reply: Reply) => void} reply
 * @property {(message: import('./resp/replies.js').Push) => void} push
 * @property {(ms: number, reply: Reply) => void} replyLater requests wait until then; Infinity: never
 * @property {() => void} flush
 * @property {() => void} end closes the connection when its replies are written
 * @property {() => void} destroy
 *
 * @typedef {object} PubSub
 * @property {number} patterns number of different patterns
 * @property {(kind: Kind) => string[]} channels that have a receiver
 * @property {(kind: Kind, channel: string) => number} count
 * @property {(kind: Kind, channel: string, connection: Connection) => void} subscribe
 * @property {(kind: Kind, channel: string, connection: Connection) => void} unsubscribe
 * @property {(connection: Connection) => void} forget
 * @property {(channel: string, message: string) => number} publish
 * @property {(channel: string, message: string) => number} publishShard
 *
 * @typedef {object} Store
 * @property {import('../common/clock.js').Clock} clock
 * @property {import('./keyspace.js').Keyspace} keyspace
 * @property {PubSub} pubsub
 * @property {Set<Connection>} connections
 * @property {{ connections: number, commands: number, rejected: number }} counts
 * @property {{ maxmemory: number, maxclients: number }} config
 * @property {string} runId
 * @property {string} replicationId
 * @property {number} startedAt by the monotonic clock
 * @property {boolean} isPaused
 * @property {(ms: number) => void} pause
 * @property {() => void} resume
 * @property {(args: string[], connection: Connection) => Reply | void} execute
 * @property {(connection: Connection) => void} willFlush
 * @property {() => void} flush
 * @property {(connection: Connection) => void} forget
 */
