/**
 * The parts of the store, as they know each other.
 *
 * @typedef {import('./resp/replies.js').Reply} Reply
 * @typedef {'channels' | 'patterns' | 'shards'} Kind of a subscription
 *
 * @typedef {object} Connection
 * @property {Store} store
 * @property {number} id
 * @property {string} name
 * @property {2 | 3} resp version of the protocol
 * @property {Record<Kind, Set<string>>} subscriptions
 * @property {boolean} isSubscriber
 * @property {number} unparsed bytes of requests that are not complete, or not carried out
 * @property {() => void} work carries out the requests that have come
 * @property {(reply: Reply) => void} reply
 * @property {(message: import('./resp/replies.js').Push) => void} push
 * @property {() => void} flush
 * @property {() => void} destroy
 *
 * @typedef {object} PubSub
 * @property {(kind: Kind, channel: string) => number} count
 * @property {(kind: Kind, channel: string, connection: Connection) => void} subscribe
 * @property {(kind: Kind, channel: string, connection: Connection) => void} unsubscribe
 * @property {(connection: Connection) => void} forget
 * @property {(channel: string, message: string) => number} publish
 * @property {(channel: string, message: string) => number} publishShard
 *
 * @typedef {object} Scripts
 * @property {(sha: string) => import('./scripts.js').Script | undefined} get
 * @property {(source: string) => string} load returns the SHA
 * @property {() => void} clear
 *
 * @typedef {object} Store
 * @property {import('../../base/common/clock.js').Clock} clock
 * @property {import('./keyspace.js').Keyspace} keyspace
 * @property {PubSub} pubsub
 * @property {Scripts} scripts
 * @property {Set<Connection>} connections
 * @property {boolean} isFull no memory is left for keys
 * @property {{ maxmemory: number, maxclients: number }} config
 * @property {string} runId
 * @property {string} replicationId
 * @property {boolean} isPaused
 * @property {(ms: number) => void} pause
 * @property {(args: string[], connection: Connection) => Reply | void} execute
 * @property {(args: string[]) => { name: string, command: Command } | undefined} find
 * @property {(connection: Connection) => void} willFlush
 * @property {() => void} flush
 * @property {(connection: Connection) => void} forget
 *
 * @typedef {object} Context of one command
 * @property {Store} store
 * @property {import('./keyspace.js').Keyspace} keyspace
 * @property {2 | 3} resp version of the protocol: the shape of some replies depends on it
 * @property {number} now ms since 1970, perhaps with a fraction; the same for all commands of a script
 * @property {Connection} [connection] none in a script
 *
 * @typedef {object} Command
 * @property {number} arity number of arguments with the name; negative: or more
 * @property {(context: Context, args: string[]) => Reply | void} run `args` begin with the name. Throws ErrorReply.
 *   Without a reply, it has written its own
 * @property {boolean} [grows] it may take memory, so it is refused when there is none
 * @property {boolean} [writes]
 * @property {boolean} [noScript] it is not allowed in scripts
 * @property {boolean} [subscribed] it is allowed on a connection with RESP2 that has subscriptions
 * @property {Record<string, Command>} [subcommands]
 */
