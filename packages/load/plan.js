/**
 * What a load run consists of: the four scenarios, the device figures, and any mix of their parts.
 */

/**
 * @typedef {'socketio' | 'ws' | 'mqtt'} Protocol
 *
 * @typedef {object} Plan
 * @property {Protocol} protocol of the clients
 * @property {number} connections
 * @property {number} ramp new connections per second
 * @property {number} hold s, from the moment all are connected
 * @property {number} documents
 * @property {number} joins documents that each connection opens
 * @property {number} records per second, to the documents in turn
 * @property {number} burst records that are published together, in one request
 * @property {number} everyone ms between two records to everyone; 0: none
 * @property {boolean} receipts records to everyone request an acknowledgement of each client
 * @property {number} churn share of the connections that leaves and comes back each second, percent
 * @property {number} activity share of the connections that each second does what editors do (client.js), percent
 * @property {boolean} resume reconnects continue from the last position
 * @property {number} silent connections that stop answering pings at the end, until the server has removed them
 * @property {number} size bytes of a record's value
 * @property {number} msgpack percent of the clients
 * @property {number} polling percent of the clients
 * @property {Tier[]} tiers
 *
 * @typedef {{ name: string, share: number }} Tier share: percent; the others have no tier
 */

/** Publications of one document in one request; docs/api.md. */
const MAX_BATCH = 256

/** A record of the source of the scenarios has 500 bytes. @type {Plan} */
const DEFAULTS = {
  protocol: 'socketio',
  connections: 1000,
  ramp: 500,
  hold: 30,
  documents: 0,
  joins: 1,
  records: 0,
  burst: 1,
  everyone: 0,
  receipts: false,
  churn: 0,
  activity: 0,
  resume: true,
  silent: 0,
  size: 500,
  msgpack: 0,
  polling: 0,
  tiers: []
}

/** Options that a scenario sets; each one can be given in place of it. @type {Record<string, Partial<Plan>>} */
export const SCENARIOS = {
  hold: {},
  everyone: { everyone: 5000, receipts: true },
  documents: { documents: 100, records: 100 },
  churn: { everyone: 5000, receipts: true, churn: 8 },
  devices: { silent: 500 }
}

/** Names for people. @type {Record<Protocol, string>} */
export const PROTOCOLS = { socketio: 'Socket.IO', ws: 'plain WebSocket', mqtt: 'MQTT 5' }

/** Options that a protocol has no counterpart of. @type {Record<Protocol, Partial<Record<keyof Plan, string>>>} */
const REFUSED = {
  socketio: {},
  ws: { polling: 'long polling belongs to Socket.IO' },
  mqtt: {
    polling: 'long polling belongs to Socket.IO',
    msgpack: 'MQTT clients get JSON',
    receipts: 'records to everyone have quality of service 0, which is not acknowledged. Use --everyone and --churn in place of ' +
      'the scenarios that set --receipts'
  }
}

/**
 * @param {string} scenario
 * @param {Partial<Plan>} given
 * @returns {Plan}
 * @throws {RangeError} options contradict each other; the message says so
 */
export function planOf (scenario, given) {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const plan = /** @type {Plan} */ ({ ...DEFAULTS, ...SCENARIOS[scenario], ...set })
  // a preset that is larger than the run
  if (set.silent === undefined) plan.silent = Math.min(plan.silent, plan.connections)
  if (plan.documents === 0 && plan.records > 0) throw new RangeError('--records needs --documents')
  if (plan.documents === 0 && plan.activity > 0) throw new RangeError('--activity needs --documents')
  if (plan.burst > MAX_BATCH) throw new RangeError(`--burst is more than ${MAX_BATCH}, the limit of one request`)
  if (plan.documents > 0 && plan.joins > plan.documents)
    throw new RangeError(`a connection cannot open ${plan.joins} of ${plan.documents} documents: --joins, --documents`)
  if (plan.silent > plan.connections) throw new RangeError('--silent is more than --connections')
  if (plan.receipts && plan.everyone === 0) throw new RangeError('--receipts needs --everyone')
  for (const [name, why] of Object.entries(REFUSED[plan.protocol]))
    if (plan[/** @type {keyof Plan} */ (name)]) throw new RangeError(`--protocol ${plan.protocol} has no --${name}: ${why}`)
  if (sum(plan.tiers) > 100) throw new RangeError('the shares of --tiers are more than 100 percent')
  for (const name of /** @type {const} */ (['churn', 'activity', 'msgpack', 'polling']))
    if (plan[name] > 100) throw new RangeError(`--${name} is more than 100 percent`)
  return plan
}

/** @param {Tier[]} tiers */
const sum = (tiers) => tiers.reduce((total, { share }) => total + share, 0)

/**
 * Shares are spread evenly over the clients, so that a part of them has them as well.
 * @param {number} index of a client
 * @param {number} percent
 * @returns {boolean} the client belongs to the share
 */
export const isInShare = (index, percent) => Math.floor((index + 1) * percent / 100) > Math.floor(index * percent / 100)

/** @param {number} index of a client @param {Tier[]} tiers @returns {string | undefined} */
export function tierOf (index, tiers) {
  // 37 and 100 have no common factor: all of a hundred clients have different places
  let place = index * 37 % 100
  for (const { name, share } of tiers) {
    if (place < share) return name
    place -= share
  }
  return undefined
}

/** @param {number} index of a client @param {Plan} plan @returns {number[]} documents that it opens */
export const documentsOf = (index, { documents, joins }) =>
  documents === 0 ? [] : Array.from({ length: joins }, (_, i) => (index * joins + i) % documents)

/** Ports that one local address has toward one target; Linux has 28,000. */
const PORTS = 20_000

/**
 * @param {number} index of a client
 * @param {string[]} sources local addresses; none: of 127.0.0.0/8 if the target is there
 * @param {boolean} loopback the target is in 127.0.0.0/8
 * @returns {string | undefined} address that the client connects from
 */
export function sourceOf (index, sources, loopback) {
  if (sources.length > 0) return sources[index % sources.length]
  return loopback ? `127.1.${Math.floor(index / PORTS)}.${1 + index % 4}` : undefined
}

/** Many systems limit a process to 20,000 descriptors. */
const CLIENTS_PER_PROCESS = 12_000

/** @param {number} connections @param {number} cores @returns {number} client processes */
export const processesFor = (connections, cores) =>
  Math.max(Math.ceil(connections / CLIENTS_PER_PROCESS), Math.min(Math.ceil(connections / 2000), cores))
