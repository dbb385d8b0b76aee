/**
 * Every private part of a library or of Node that inkcast uses. docs/internals/hooks.md is generated from this list,
 * and test/unit/common/hooks.test.js searches src/ and client/ for private access that is missing here.
 * Why: docs/internals/decisions/0097-private-parts.md
 *
 * @typedef {object} Hook
 * @property {string} package
 * @property {string} version that the part was checked with
 * @property {string} part names of private parts in backticks; each occurs in one of the files
 * @property {readonly string[]} files that use it
 * @property {string} without what would happen without it
 *
 * @typedef {Omit<Hook, 'package' | 'version'>} Part
 */

/** @type {Record<string, { version: string, parts: Part[] }>} */
const PACKAGES = {
  'socket.io': {
    version: '4.8.4',
    parts: [
      {
        part: '`Socket.prototype`: accessor `acks`',
        files: ['src/transport/socketio/shared-listeners.js'],
        without: 'Each connection has a Map for it.'
      },
      {
        part: '`socket.handshake` replaced, `conn.request` dropped after admission',
        files: ['src/transport/socketio/handshake-hooks.js'],
        without: '1.5 KB more per connection, and the token stays in memory.'
      },
      {
        part: '`client.ondata`, `client.onerror`, `client.onclose`, `client.sockets`, `client.nsps`, `socket._anyListeners`',
        files: ['src/transport/socketio/shared-listeners.js'],
        without: 'Each connection has its own listeners, Maps and array.'
      },
      {
        part: '`client.encoder`, `client.decoder`, `client.writeToEngine`',
        files: [
          'src/transport/socketio/codec.js', 'src/gateway/handshake.js', 'src/gateway/namespace-admission.js',
          'src/gateway/connection-events.js'
        ],
        without: 'One port cannot serve both JSON and msgpack clients, and there are no receipts.'
      },
      {
        part: '`namespace._preConnectSockets`',
        files: ['src/transport/socketio/handshake-hooks.js'],
        without: 'Connection ids do not show which worker has the connection.'
      },
      {
        part: '`server._nsps`',
        files: ['src/transport/socketio/emitter-messages.js'],
        without: 'Emitters do not reach clients (`EMITTER_KEY`).'
      },
      {
        part: '`namespace._fns`',
        files: ['src/transport/socketio/handshake-hooks.js'],
        without: 'In dynamic namespaces, middlewares of extensions run before the check of the token.'
      },
      {
        part: '`namespace._remove` of a dynamic namespace replaced',
        files: ['src/transport/socketio/handshake-hooks.js'],
        without: 'A client that is connecting to a dynamic namespace while its last client leaves gets no events.'
      },
      {
        part: 'methods of the `prototype` of Socket, Namespace, Server, BroadcastOperator and Adapter wrapped, only with extensions',
        files: ['src/gateway/extensions/registration.js'],
        without: 'An error in an extension ends the process.'
      }
    ]
  },
  'socket.io-adapter': {
    version: '2.5.8',
    parts: [
      {
        part: '`adapter.rooms`, `addAll`, `del`, `socketRooms`, `sids`, some of its prototype',
        files: ['src/transport/socketio/own-rooms.js'],
        without: 'Each connection has a room of its own, which takes 400 bytes.'
      }
    ]
  },
  '@socket.io/redis-adapter': {
    version: '8.3.0',
    parts: [
      {
        part: 'clients that are not of ioredis: `spublish`, `send_command`; `ssubscribe`, `sunsubscribe`, event `smessageBuffer`',
        files: ['src/redis/adapter/adapter-clients.js'],
        without: 'Rooms of extensions do not cross processes.'
      },
      {
        part: '`serverCount` overridden',
        files: ['src/transport/socketio/adapter.js'],
        without: 'While Redis is unavailable, promises are rejected and not handled.'
      }
    ]
  },
  'socket.io-parser': {
    version: '4.2.7',
    parts: [
      {
        part: 'Decoder: `opts`, `_callbacks`, `reconstructor`, `on` and `removeListener` overridden',
        files: ['src/transport/socketio/decoder.js'],
        without: 'One parser cannot read both codecs.'
      }
    ]
  },
  'socket.io-msgpack-parser': {
    version: '3.0.2',
    parts: [
      {
        part: 'one `Decoder` for all connections: it emits `decoded` before `add` returns',
        files: ['src/transport/socketio/msgpack-packet.js'],
        without: 'Msgpack packets cannot be read.'
      }
    ]
  },
  'notepack.io': {
    version: '2.2.0',
    parts: [
      {
        part: 'which bytes it reads as which value (`checkMsgpack` runs first)',
        files: ['src/wire/msgpack.js'],
        without: 'A few bytes from a client could fill the memory.'
      }
    ]
  },
  'engine.io': {
    version: '6.6.11',
    parts: [
      {
        part: '`wsPreEncodedFrame` of `write`, an object with `toString` as data',
        files: ['src/gateway/turn-queue.js', 'src/wire/packet.js'],
        without: 'Each connection builds its own frame of a record.'
      },
      {
        part: '`Socket` and its transports replaced; `engine.clientsCount`, `middlewares`, `errorMessages`',
        files: ['src/transport/engine/engine-socket.js', 'src/transport/engine/engine.js'],
        without: 'All sessions are objects of Engine.IO\'s own class, each WebSocket one of ws.'
      },
      {
        part: '`conn.writeBuffer`, replaced after each handover to the transport',
        files: ['src/documents/delivery/backlog.js', 'src/gateway/connection.js', 'src/gateway/turn-queue.js'],
        without: 'Slow consumers cannot be detected.'
      },
      {
        part: '`verify` and `_applyMiddlewares` overridden, `req._query`',
        files: ['src/transport/engine/engine.js', 'src/transport/engine/request.js', 'src/transport/socketio/handshake-hooks.js'],
        without: 'Session ids are not credentials, and slow polls have no limit.'
      }
    ]
  },
  ws: {
    version: '8.21.3',
    parts: [
      {
        part: '`PerMessageDeflate.accept` and `extension`, exported and not documented',
        files: ['src/transport/engine/bytes/compression.js'],
        without: 'No compression.'
      }
    ]
  },
  kafkajs: {
    version: '2.2.4',
    parts: [
      {
        part: '`kafkajs/src/network/requestQueue`: `scheduleCheckPendingRequests`, `scheduleRequestTimeoutCheck` of its prototype replaced',
        files: ['src/kafka/kafkajs/request-queue-patch.js'],
        without: 'Each connection has a timer that fires every millisecond.'
      },
      {
        part: '`kafkajs/src/`: `decodeMessages` replaced in `require.cache`',
        files: ['src/kafka/kafkajs/fetch-patch.js'],
        without: 'A batch that kafkajs cannot read stops the consumer.'
      },
      {
        part: '`kafkajs/src/protocol/recordBatch/record/v0` replaced in `require.cache`, `kafkajs/src/protocol/encoder`: an instance of ' +
          'its `prototype` with `buf`, `offset`',
        files: ['src/kafka/kafkajs/produce-patch.js'],
        without: 'Encoding a record with seven headers takes 35 to 40 µs instead of 10 to 15.'
      },
      {
        part: 'symbol `private:Kafka:createCluster` by `getOwnPropertySymbols`, `connectionPool.send`, `kafkajs/src/protocol/encoder`: ' +
          '`writeBufferInternal`',
        files: ['src/kafka/kafkajs/topic-id.js', 'src/kafka/kafkajs/leader-epochs.js'],
        without: 'A topic that was deleted and created again, or that lost its end, is not detected.'
      }
    ]
  },
  ioredis: {
    version: '6.0.0',
    parts: [
      {
        part: '`sendCommand` of clients wrapped or replaced, `toWritable` of a command',
        files: ['src/redis/client.js', 'src/gateway/rehearsal/null-redis.js'],
        without: 'Rejected commands end the process; commands are queued without a limit while the cluster is unavailable; workers do ' +
          'not warm up before they are ready.'
      },
      {
        part: '`condition.subscriber.channels`',
        files: ['src/redis/subscriber-connection.js'],
        without: 'Channels of a moved hash slot are not subscribed again.'
      },
      {
        part: '`stream.bytesRead`, `commandQueue`',
        files: ['src/redis/answer-limit.js', 'src/redis/subscriber-connection.js'],
        without: 'A process that its host stopped for 2 s loses its connections for commands.'
      },
      {
        part: '`cluster.slots`, `refreshSlotsCache`, event `refresh`',
        files: ['src/redis/topology.js', 'src/redis/client.js', 'src/redis/markers.js'],
        without: 'Moved hash slots are not followed.'
      }
    ]
  },
  node: {
    version: '>=20.19',
    parts: [
      {
        part: 'the `connection` listener of an HTTP server called by hand, `closeIdleConnections` and `closeAllConnections` replaced',
        files: ['src/transport/engine/first-bytes.js'],
        without: 'Node reads every request, and all sessions are objects of Engine.IO\'s own class.'
      },
      {
        part: '`_httpMessage` of a socket',
        files: ['src/transport/peers/exact-agents.js', 'src/transport/engine/ignored-upgrades.js', 'src/base/process/socket-times.js'],
        without: 'A byte too many on a kept connection would become the answer to the request of another client, and an error could be ' +
          'written into another response.'
      },
      {
        part: '`_handle.readStop`, `_handle` taken from a socket, `handle` given to a new one',
        files: ['src/transport/peers/handover.js'],
        without: 'Requests for sessions of other workers are forwarded. With it they are handed over with their connection.'
      },
      {
        part: '`net._createServerHandle`, `getsockname`; `server.listen` with `_handle`',
        files: ['src/operate/launcher/reuse-port.js', 'src/gateway/public-port.js'],
        without: 'Workers share one socket.'
      },
      {
        part: '`_handle.writeQueueSize`',
        files: ['src/transport/engine/link.js'],
        without: 'The progress of slow consumers is measured in whole frames. This happens if a version of Node does not have it.'
      },
      {
        part: '`_connections` of a server, `_server` of a socket',
        files: ['src/gateway/public-port.js', 'src/transport/admission/connection-limits.js'],
        without: 'Connections have no limit.'
      },
      {
        part: '`net.Server.prototype.close` on an HTTP server',
        files: ['src/base/process/leave-port.js'],
        without: 'Idle connections are cut when a drain begins.'
      },
      {
        part: '`_events` and `_eventsCount` of an EventEmitter, methods of the prototypes of emitters wrapped',
        files: ['src/transport/socketio/shared-listeners.js', 'src/transport/engine/stream-link.js'],
        without: 'Each connection has its own listeners, or an empty table of them.'
      }
    ]
  },
  'socket.io-client': {
    version: '>=4.7.0 <5',
    parts: [
      {
        part: '`io.engine`, `io.encoder`',
        files: ['client/connection/connection.js', 'client/connection/size.js'],
        without: 'The client does not know its transport.'
      },
      {
        part: '`io.opts.transports` written',
        files: ['client/connection/connection.js'],
        without: 'The client does not fall back to long polling.'
      },
      {
        part: '`sendBuffer` emptied',
        files: ['client/connection/connection.js'],
        without: 'Events of a lost connection are sent before documents are joined again.'
      }
    ]
  }
}

/** @type {readonly Readonly<Hook>[]} */
export const HOOKS = Object.freeze(
  Object.entries(PACKAGES).flatMap(([name, { version, parts }]) =>
    parts.map((part) => Object.freeze({ package: name, version, ...part }))
  )
)
