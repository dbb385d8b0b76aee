/**
 * A worker's memory for members in the presence of documents, without their connections and without the store: `node
 * --expose-gc bench/micro/presence.js`.
 */
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createLog } from '../../src/base/common/log.js'
import { Presence } from '../../src/people/presence/presence.js'
import { createSessionIds } from '../../src/wire/session-id.js'

const CONNECTIONS = 100_000
const newId = createSessionIds(1, { clock: systemClock, random: systemRandom })

/** A store that accepts everything and reports only each document's first change, which rooms wait for. */
function createStore () {
  /** @type {import('../../src/people/presence/contract.js').PresenceHandlers | undefined} */
  let handlers
  return /** @type {import('../../src/people/presence/contract.js').PresenceStore} */ ({
    start: async (receivers) => { handlers = receivers },
    stop: async () => {},
    watch: async () => {},
    unwatch: () => {},
    mine: async () => [],
    removalOf: () => null,
    documents: async () => [],
    sweep: async () => {},
    forget: async () => {},
    left: async () => ({ users: [], full: false }),
    versions: async (guids) => guids.map(() => 1),
    page: async () => ({ version: 1, count: 1, countOnly: false, members: [] }),
    update: async (guid) =>
      handlers?.onDiff(guid, {
        from: 0,
        version: 1,
        count: 1,
        kind: 'diff',
        joined: [],
        changed: [],
        left: [],
        closed: [],
        removed: []
      })
  })
}

if (globalThis.gc === undefined) throw new Error('run it with node --expose-gc')
const collect = globalThis.gc

function heap () {
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

/** Keeps the memory of one round during the next. @type {unknown[]} */
const kept = []
for (const perDocument of [1, 5, 100, 5000]) {
  const presence = new Presence({
    log: createLog({ level: 'silent', pretty: false, role: 'bench', clock: systemClock }),
    metrics: createMetrics({ processMetrics: false }), clock: systemClock, random: systemRandom
  }, {
    store: createStore(),
    settings: { maxMembers: 500, maxStateBytes: 2048, grace: 5000 },
    createDelivery: () => ({ bytes: 0 })
  })
  await presence.start()
  // state that connections have anyway
  const participants = Array.from({ length: CONNECTIONS }, (_, i) => ({
    id: newId(),
    uid: `user-${i}`,
    client: undefined,
    identity: {},
    deliver: () => {}
  }))
  const places = participants.map(() => ({ presence: null }))
  const guids = Array.from({ length: CONNECTIONS / perDocument }, (_, i) => `document-${i}`)
  const before = heap()
  await Promise.all(
    participants.map((participant, i) =>
      presence.join(participant, guids[Math.floor(i / perDocument)], places[i], { state: { color: '#1e90ff', n: i } })
    )
  )
  // until no work is due
  await new Promise((resolve) => { setTimeout(resolve, 5000) })
  console.log(
    `${perDocument} per document and worker: ${Math.round((heap() - before) / CONNECTIONS)} bytes each, the state of ` +
    `${JSON.stringify({ state: { color: '#1e90ff', n: CONNECTIONS - 1 } }).length} in it`
  )
  kept.push(presence, participants, places, guids)
}
process.exit(kept.length > 0 ? 0 : 1)
