import * as v from 'valibot'
import { block, described, integer, list, milliseconds, text } from './setting.js'

export const delivery = block('Delivery', {
  COMPRESS_FROM: {
    as: 'compressFrom',
    type: integer(0, 64 * 2 ** 20),
    default: '0',
    describe:
      'Minimum frame size for compression, bytes. A record is compressed once for all clients that support it (permessage-deflate). 0: ' +
      'no compression.'
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

/** @typedef {{ min: number, max: number, timeout: number }} Figures ms */

/** @param {string[]} texts @returns {Figures} with NaN where it is no number */
function figuresOf (texts) {
  const [min, max, timeout, more] = texts.map((text) => /^\d{1,9}$/.test(text) ? Number(text) : NaN)
  return { min, max, timeout: more === undefined ? timeout : NaN }
}

/** @param {string} entry */
const networkOf = (entry) => Object.hasOwn(NETWORKS, entry)
  ? NETWORKS[/** @type {keyof typeof NETWORKS} */ (entry)]
  : figuresOf(entry.split(':'))

/** @param {string} entry */
function tierOf (entry) {
  const [name, ...texts] = entry.split(':')
  return { name, ...figuresOf(texts) }
}

/**
 * @param {string[]} entries the network, and tiers
 * @returns {Figures & { tiers: (Figures & { name: string })[] }}
 */
const heartbeatOf = ([network = 'internet', ...tiers]) => ({ ...networkOf(network), tiers: tiers.map(tierOf) })

/** @param {Figures} figures */
const areRight = ({ min, max, timeout }) =>
  min <= max && [min, max, timeout].every((ms) => ms >= SHORTEST && ms <= LONGEST)
const RULE = `each from ${SHORTEST} to ${LONGEST} ms, and min at most max`

const network = described('`internet`, `lan`, `mobile`, or `min:max:timeout` in ms; then tiers', v.pipe(
  list(),
  v.transform(heartbeatOf),
  v.check((figures) => areRight(figures), `must be internet, lan, mobile or min:max:timeout, ${RULE}`),
  v.check(
    ({ tiers }) => tiers.every((tier) => areRight(tier) && tier.name !== '' && tier.name.length <= 64),
    `after the first, each entry must be name:min:max:timeout, ${RULE}`
  ),
  v.check(
    ({ tiers, max, timeout }) => tiers.every((tier) => tier.max <= max && tier.timeout <= timeout),
    'max and timeout of a tier must not exceed those of the network'
  ),
  v.check(({ tiers }) => new Set(tiers.map(({ name }) => name)).size === tiers.length, 'a tier is there twice')
))

export const heartbeat = block('Heartbeat', {
  NETWORK: {
    as: 'network',
    type: network,
    default: 'internet',
    describe:
      'Network of most clients, which decides how often they get pings: `internet` (5000:25000:20000), `lan` (2000:8000:4000; finds ' +
      'dead connections within 12 s), `mobile` (15000:45000:30000; few pings, and long timeouts for radios that sleep), or your own ' +
      '`min:max:timeout`, ms. A new connection gets a ping after `min`. After every two answers in time the interval grows, up to ' +
      '`max`. The answer must come within `timeout`. Clients get `max` and `timeout` in the handshake, as `pingInterval` and ' +
      '`pingTimeout`. After a comma may follow tiers: other intervals for connections whose token has this `tier`, as ' +
      '`name:min:max:timeout`, whose `max` and `timeout` must not exceed those of the network: `internet,editors:2000:10000:5000`. ' +
      'The choice is right if the p99 of `inkcast_heartbeat_seconds` is below a quarter of the timeout.'
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
      'JSON file of rules for kinds of documents, by prefix of the guid: history, presence, signals, echo, rate, webhook ' +
      '(docs/document-rules.md). It is read again when it changes. With a wrong file the start fails; a file that becomes wrong later ' +
      'is ignored. Use the same file for all processes.'
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
      'Grace period for a lost connection, ms. During this time its user counts as present and online, so a quick reconnect publishes ' +
      'no events. Use the same value for all processes. A stopping worker waits for up to this time until its clients have ' +
      'reconnected elsewhere.'
  }
})
