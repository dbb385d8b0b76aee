/**
 * The part of the table of metrics that is about connections and handshakes.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const CONNECTION_METRICS = Object.freeze({
  connections: {
    type: 'gauge',
    labels: ['transport', 'listener'],
    help: 'Open connections. `listener` is an entry of `LISTENERS`, or `socketio` for Socket.IO at `PORT`.',
    worry: 'A sudden drop: a proxy or a deploy closed them.'
  },
  sockets: {
    type: 'gauge',
    labels: [],
    help: 'TCP connections to the gateway\'s ports, including those without a session.',
    worry: 'Near `MAX_CONNECTIONS` per worker. Far above `connections`: clients that do not complete the handshake, or an attack.'
  },
  connections_refused: {
    type: 'counter',
    labels: ['reason'],
    help: 'Connections refused by a limit: `worker` (`MAX_CONNECTIONS`), `user`, `address`; `overload`: the worker is overloaded; ' +
      '`descriptors`: closed without an answer, to keep the reserved descriptors free.',
    worry: 'Any growth: raise the limit (and `ulimit -n`), add workers, or identify the clients.'
  },
  connections_moved: {
    type: 'counter',
    labels: [],
    help: 'Connections told to reconnect by `inkcast move` or `POST /move`.',
    worry: 'Growth although no move was begun.'
  },
  connections_replaced: {
    type: 'counter',
    labels: [],
    help: 'Connections that ended because their client connected again with the same id, over a protocol with one connection per id.',
    worry: 'Far more than reconnects explain: several devices have the same id.'
  },
  connections_shed: {
    type: 'counter',
    labels: [],
    help: 'Connections of anonymous clients that an overloaded worker has closed.',
    worry: 'Any growth: add workers or machines.'
  },
  overloaded: {
    type: 'gauge',
    labels: [],
    help: '1: the worker is overloaded (its event loop, or its memory) and refuses new clients. The value of a machine is the number of ' +
      'its overloaded workers.',
    worry: 'Above 0: add workers or machines, or move clients to others (`inkcast move`).'
  },
  handshakes: {
    type: 'counter',
    labels: ['result', 'listener'],
    help: 'Handshakes by result: `ok`, an error code, `origin_refused` (403, the page is not in `ALLOWED_ORIGINS`), or `refused` (503, ' +
      'above `MAX_HANDSHAKES_PER_SECOND` or a limit of connections).',
    worry: 'Anything but `ok` that grows.'
  },
  handshakes_waiting: {
    type: 'gauge',
    labels: [],
    help: 'Clients queued by `MAX_HANDSHAKES_PER_SECOND`.',
    worry: 'Above 0 for long: more clients reconnect than the workers may accept.'
  },
  stray_requests: {
    type: 'counter',
    labels: ['result'],
    help: 'Requests for a session of another worker: `handed_over`, `forwarded`, `unknown` owner or `failed`; `refused`: requests to ' +
      'the listener for other machines without a valid proof.',
    worry:
      '`failed` that grows. `refused`: foreign clients in the private network, or clocks of machines more than 30 s apart.'
  }
})
