import { PROTOCOLS } from '../../packages/load/plan.js'

/**
 * The published load scenarios of systems of this kind, scaled to the connections of a run.
 *
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} title
 * @property {Partial<import('../../packages/load/plan.js').Plan>} plan
 * @property {number} [connections] of a scenario that opens fewer
 * @property {boolean} [faults] the workers are reloaded, and one is killed
 *
 * @typedef {object} Published figures of one source
 * @property {string} scenario
 * @property {string} what
 * @property {number} [connections]
 * @property {number} [connectionsPerSecond]
 * @property {number} [deliveriesPerSecond]
 * @property {number} [memory] KB per connection
 */

/**
 * The share of clients that leaves and comes back each second in the published scenario 4: 40,000 of 500,000.
 * Percent.
 */
const CHURN = 8
/** More handshakes per second than two cores can take beside the clients would measure nothing but a queue. */
const MAX_CHURN_PER_SECOND = 800

/** @type {[import('../../packages/load/plan.js').Protocol, string][]} */
const DEVICES = /** @type {any} */ (Object.entries(PROTOCOLS))

/**
 * @param {number} connections
 * @param {number} every ms between two records to everyone
 * @param {number} devices connections of the scenario for each protocol
 * @returns {Scenario[]}
 */
export const scenariosFor = (connections, every, devices) => [
  { name: 'hold', title: '1: connect and hold', plan: {} },
  { name: 'receipts', title: '2: push to everyone, each with a receipt', plan: { everyone: every, receipts: true } },
  { name: 'everyone', title: '3: push to everyone, no receipts', plan: { everyone: every } },
  {
    name: 'documents', title: 'push to documents of ten',
    plan: { documents: Math.ceil(connections / 10), records: Math.ceil(connections / 50) }
  },
  {
    name: 'churn', title: '4: push to everyone with receipts, while clients leave and come back',
    plan: { everyone: every, receipts: true, churn: Math.min(CHURN, 100 * MAX_CHURN_PER_SECOND / connections) }
  },
  ...DEVICES.map(([protocol, name]) => ({
    name: 'devices', title: `devices over ${name}: documents of ten, and silent ones are removed`,
    plan: {
      protocol, documents: Math.ceil(devices / 10), records: Math.ceil(devices / 50), silent: Math.ceil(devices / 2)
    },
    connections: devices
  })),
  {
    name: 'faults', title: 'push to documents; the workers are reloaded, and one is killed',
    plan: { documents: Math.ceil(connections / 100), records: Math.min(100, Math.ceil(connections / 100)) },
    faults: true
  }
]

/**
 * As published, for one machine each. The source of the four scenarios names two machines: 16 cores and 32 GB, and in
 * another place 4 cores and 8 GB. So there are two readings of its figures per core.
 * @type {Published[]}
 */
export const PUBLISHED = [
  { scenario: 'hold', what: '500,000 users come online', connections: 500_000, connectionsPerSecond: 16_000, memory: 47 },
  {
    scenario: 'receipts', what: '480,000 online, a push to all every 5 s with receipts, 15 min', connections: 480_000,
    deliveriesPerSecond: 96_000
  },
  {
    scenario: 'everyone', what: '500,000 online, a push to all every 5 s, 15 min', connections: 500_000,
    connectionsPerSecond: 11_000, deliveriesPerSecond: 100_000
  },
  {
    scenario: 'churn', what: '500,000 online, a push to all every 5 s with receipts, 40,000 leave and come back each second',
    connections: 500_000, connectionsPerSecond: 18_570, deliveriesPerSecond: 393_542
  }
]

/** Cores of the machine, by either reading. */
export const READINGS = [16, 4]
