import * as v from 'valibot'
import { string } from '../common/schema.js'
import { block, described, integer, listOf, milliseconds, text } from './setting.js'

const tiers = v.pipe(
  listOf((entry) => /^[^:]{1,64}(:\d{1,9}){3}$/.test(entry), 'each must be name:min:max:timeout, ms'),
  v.transform((entries) => entries.map((entry) => {
    const [name, ...figures] = entry.split(':')
    const [min, max, timeout] = figures.map(Number)
    return { name, min, max, timeout }
  }))
)

export const delivery = block('Delivery', {
  DELIVERY_LATENCY_BUDGET: {
    as: 'latencyBudget',
    type: milliseconds(0, 1000),
    default: '0',
    describe:
      'Maximum time for which a worker collects records to one client before it writes them together, ms. 0: only records of the same turn of the event loop share a write.'
  },
  COMPRESS_FROM: {
    as: 'compressFrom',
    type: integer(0, 64 * 2 ** 20),
    default: '0',
    describe:
      'Minimum frame size for compression, bytes. A record is compressed once for all clients that support it (permessage-deflate). 0: no compression.'
  }
})

/**
 * Heartbeats by network, ms. An answer counts as late after a quarter of the timeout, and the connection is then pinged
 * every second, so a quarter must be above nearly all round trips (`inkcast_heartbeat_seconds`).
 */
const NETWORKS = Object.freeze({
  internet: { min: 5000, max: 25_000, timeout: 20_000 },
  // late after 1 s: pages that are busy
  lan: { min: 2000, max: 8000, timeout: 4000 },
  // late after 7.5 s: radios that sleep, handovers; pings cost battery
  mobile: { min: 15_000, max: 45_000, timeout: 30_000 }
})

/** Bounds of each of them. */
const [SHORTEST, LONGEST] = [1000, 600_000]

/** @param {string} value @returns {{ min: number, max: number, timeout: number }} with NaN where it is no number */
function heartbeatOf (value) {
  if (Object.hasOwn(NETWORKS, value)) return NETWORKS[/** @type {keyof typeof NETWORKS} */ (value)]
  const [min, max, timeout, more] = value.split(':').map((figure) => /^\d{1,9}$/.test(figure) ? Number(figure) : NaN)
  return { min, max, timeout: more === undefined ? timeout : NaN }
}

const network = described('`internet`, `lan`, `mobile`, or `min:max:timeout` in ms', v.pipe(
  string(),
  v.transform(heartbeatOf),
  v.check(
    (figures) => figures.min <= figures.max && Object.values(figures).every((ms) => ms >= SHORTEST && ms <= LONGEST),
    `must be internet, lan, mobile or min:max:timeout, each from ${SHORTEST} to ${LONGEST} ms, and min at most max`
  )
))

export const heartbeat = block('Heartbeat', {
  NETWORK: {
    as: 'network',
    type: network,
    default: 'internet',
    describe:
      'Network of most clients, which decides how often they get pings: `internet` (5000:25000:20000), `lan` (2000:8000:4000; finds dead connections within 12 s), `mobile` (15000:45000:30000; few pings, and long timeouts for radios that sleep), or your own `min:max:timeout`, ms. A new connection gets a ping after `min`. After every two answers in time the interval grows, up to `max`. The answer must come within `timeout`. Clients get `max` and `timeout` in the handshake, as `pingInterval` and `pingTimeout`. The choice is right if the p99 of `inkcast_heartbeat_seconds` is below a quarter of the timeout.'
  },
  HEARTBEAT_TIERS: {
    as: 'tiers',
    type: tiers,
    default: '',
    describe:
      'Intervals for connections whose token has a `tier`, as `name:min:max:timeout`, comma separated: `editors:2000:10000:5000`. `max` and `timeout` must not exceed those of `NETWORK`.'
  }
})

/** Bounds of HISTORY_…, and of the same fields in DOCUMENT_RULES_FILE. */
export const HISTORY_LIMITS = Object.freeze({
  size: { min: 1, max: 1_000_000 },
  bytes: { min: 0, max: 2 ** 40 },
  ttl: { min: 1, max: 30 * 86_400 }
})
const limits = HISTORY_LIMITS

export const documents = block('Documents', {
  DOCUMENT_RULES_FILE: {
    as: 'rulesFile',
    type: text(),
    describe:
      'JSON file of rules for kinds of documents, by prefix of the guid: history, presence, signals, echo, rate, webhook (docs/document-rules.md). It is read again when it changes. With a wrong file the start fails; a file that becomes wrong later is ignored. Use the same file for all processes.'
  }
})

export const history = block('History', {
  HISTORY_SIZE: {
    as: 'size',
    type: integer(limits.size.min, limits.size.max),
    default: '1000',
    describe: 'Records kept per document, for clients that reconnect.'
  },
  HISTORY_TTL: {
    as: 'ttl',
    type: integer(limits.ttl.min, limits.ttl.max),
    default: '600',
    describe: 'How long the records of a document are kept after its last one, s.'
  }
})

export const presence = block('Presence', {
  PRESENCE_MAX_MEMBERS: {
    as: 'maxMembers',
    type: integer(0, 100_000),
    default: '500',
    describe:
      'If a document has more members than this, its clients get only the number of members, without a list. 0: always only the number.'
  },
  PRESENCE_MAX_STATE_BYTES: {
    as: 'maxStateBytes',
    type: integer(2, 2 ** 20),
    default: '2048',
    describe: 'Maximum presence state of a connection in a document, bytes of JSON.'
  },
  PRESENCE_GRACE: {
    as: 'grace',
    type: milliseconds(0, 600_000),
    default: '5000',
    describe:
      'Grace period for a lost connection, ms. During this time its user counts as present and online, so a quick reconnect publishes no events. Use the same value for all processes. A stopping worker waits for up to this time until its clients have reconnected elsewhere.'
  }
})
