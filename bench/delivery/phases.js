/**
 * One round of one system: all measurements in sequence, on the same connections.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { quantiles, round } from '../measure/quantiles.js'
import { byRole, costs, openSession, serversOf } from './session.js'

/**
 * @typedef {import('./scale.js').Scale} Scale
 * @typedef {import('./session.js').Session} Session
 * @typedef {import('./session.js').Delivered} Delivered
 * @typedef {import('./systems.js').PhaseName} PhaseName
 * @typedef {(phase: string, share: number) => void} OnPhase
 *
 * @typedef {object} Connected
 * @property {number} attempted
 * @property {number} ok
 * @property {Record<string, number>} failures by reason
 * @property {number} cpuUs per handshake, including a token and one document
 * @property {number} systemUs
 * @property {number} redisUs
 * @property {number} kafkaUs
 * @property {import('../measure/quantiles.js').Quantiles} latency ms
 * @property {number} residentKb growth of all server processes per connection
 *
 * @typedef {object} Idle all connections open, without deliveries; CPU in ms per second
 * @property {number} cpuMs
 * @property {number} redisMs
 * @property {number} kafkaMs
 * @property {Record<string, number>} roles by process role
 *
 * @typedef {object} Remembered
 * @property {number} connections
 * @property {number} openedKb growth of the worker's resident set per connection, directly after all were opened
 * @property {number} workerKb the same after a while
 * @property {number} allKb growth of all server processes per connection
 * @property {number} idleMs CPU of the worker while the connections are idle, ms per second
 *
 * @typedef {object} RoundResult
 * @property {string} system
 * @property {Connected} [connect]
 * @property {Idle} [idle]
 * @property {Delivered} [burst]
 * @property {Delivered} [single]
 * @property {Delivered} [steady]
 * @property {{ members: number, delivered: Delivered }[]} [members]
 * @property {{ documents: number, delivered: Delivered }[]} [documents]
 * @property {Remembered} [memory]
 * @property {number} unconnected clients whose handshakes failed: no delivery to them is expected
 * @property {Record<string, number>} lost connections that were closed from outside, by reason
 */

/** First document number of the sweeps. */
const MEMBERS_BASE = 100_000
const DOCUMENTS_BASE = 700_000
/** Roles that hold connections. */
const WORKERS = new Set(['gateway', 'worker', 'floor'])

/**
 * @param {import('./systems.js').SystemUnderTest} entry
 * @param {PhaseName[]} phases
 * @param {Scale} scale
 * @param {string[]} nodeArgs for every process of the system
 * @param {OnPhase} onPhase
 * @returns {Promise<RoundResult>}
 */
export async function runRound (entry, phases, scale, nodeArgs, onPhase) {
  const wants = (/** @type {PhaseName} */ phase) => phases.includes(phase) && entry.phases.includes(phase)
  onPhase('starting', 0)
  const session = await openSession(entry, {
    workers: scale.workers,
    connections: Math.max(scale.connections, scale.memberConnections),
    nodeArgs
  })
  try {
    /** @type {RoundResult} */
    const result = { system: session.name, unconnected: 0, lost: {} }
    await session.started()
    const connected = await connect(session, scale, (share) => onPhase('connect', share))
    if (wants('connect')) result.connect = connected
    result.unconnected = connected.attempted - connected.ok
    const { documents } = scale
    const single = { base: 0, documents, records: documents, perSecond: 0 }
    const burst = { ...single, records: documents * scale.burstRecords }
    const deliver = (
      /** @type {PhaseName} */ phase,
      /** @type {import('../job.js').Job} */ job,
      /** @type {number} */ times
    ) => session.deliver(job, times, (done, of) => onPhase(phase, done / of))
    if (phases.some((phase) => !['connect', 'idle', 'memory'].includes(phase) && wants(phase))) {
      onPhase('warming up', 0)
      await session.warm(burst)
      await session.preheat(scale.preheatRecords, scale.preheatRate)
      await session.warm(burst)
    }
    if (wants('burst')) result.burst = await deliver('burst', burst, scale.bursts)
    if (wants('single')) result.single = await deliver('single', single, scale.singles)
    if (wants('steady')) {
      const perSecond = scale.steadyRate / (connected.ok / documents)
      result.steady = await deliver(
        'steady',
        { ...single, records: Math.round(perSecond * scale.steadySeconds), perSecond },
        1
      )
    }
    // last: new connections have a more frequent heartbeat
    if (wants('idle')) result.idle = await idle(session, scale.idleMs, (share) => onPhase('idle', share))
    if (wants('members') || wants('documents')) result.unconnected += await more(session, scale)
    if (wants('members')) result.members = await members(session, scale, (share) => onPhase('members', share))
    if (wants('documents'))
      result.documents = await documentCounts(session, scale, (share) => onPhase('documents', share))
    result.lost = (await session.clients.status()).lost
    return result
  } finally {
    await session.close()
  }
}

/**
 * @param {Session} session
 * @param {Scale} scale
 * @param {(share: number) => void} onProgress
 * @returns {Promise<Connected>}
 */
async function connect (session, { connections, documents }, onProgress) {
  const { result, used } = await session.measure(() =>
    session.open(connections, documents, (done, of) => onProgress(done / of))
  )
  return {
    attempted: connections,
    ok: result.ok,
    failures: result.failures,
    ...costs(used, connections),
    latency: quantiles(result.latencies),
    residentKb: round(residentKb(serversOf(used)) / result.ok, 1)
  }
}

/**
 * @param {Session} session
 * @param {number} forMs
 * @param {(share: number) => void} onProgress
 * @returns {Promise<Idle>}
 */
async function idle (session, forMs, onProgress) {
  onProgress(0)
  const { used, watchedMs } = await session.measure(() => delay(forMs))
  const { cpuUs, redisUs, kafkaUs } = costs(used, watchedMs)
  return { cpuMs: cpuUs, redisMs: redisUs, kafkaMs: kafkaUs, roles: byRole(used, watchedMs) }
}

/**
 * Opens as many connections as the sweeps need.
 * @param {Session} session
 * @param {Scale} scale
 * @returns {Promise<number>} of them that failed
 */
async function more (session, { connections, documents, memberConnections, documentConnections }) {
  const missing = Math.max(memberConnections, documentConnections) - connections
  return missing > 0 ? missing - (await session.open(missing, documents, () => {})).ok : 0
}

/** @param {Session} session @param {Scale} scale @param {(share: number) => void} onProgress */
async function members (session, { members: counts, memberConnections, memberBursts }, onProgress) {
  const results = []
  for (const [i, count] of counts.entries()) {
    const documents = memberConnections / count
    const base = MEMBERS_BASE * (i + 1)
    await join(session, { base, documents, members: count, clients: memberConnections })
    const job = { base, documents, records: documents, perSecond: 0 }
    await session.warm(job)
    results.push({
      members: count,
      delivered: await session.deliver(job, memberBursts, (done, of) => onProgress((i + done / of) / counts.length))
    })
  }
  return results
}

/** @param {Session} session @param {Scale} scale @param {(share: number) => void} onProgress */
async function documentCounts (
  session,
  { documentCounts: counts, documentConnections, documentMembers, documentRate, documentSeconds },
  onProgress
) {
  const results = []
  for (const [i, documents] of counts.entries()) {
    await join(session, { base: DOCUMENTS_BASE, documents, members: documentMembers, clients: documentConnections })
    const job = { base: DOCUMENTS_BASE, documents, records: documentRate * documentSeconds, perSecond: documentRate }
    results.push({
      documents,
      delivered: await session.deliver(job, 1, (done, of) => onProgress((i + done / of) / counts.length))
    })
  }
  return results
}

/** @param {Session} session @param {import('../job.js').Membership} membership */
async function join (session, membership) {
  const { failures } = await session.clients.join(membership)
  if (Object.keys(failures).length > 0)
    throw new Error(`${session.name}: documents were not opened: ${JSON.stringify(failures)}`)
}

/**
 * Measures the memory of idle connections, all on one worker of a system that has just started.
 *
 * @param {import('./systems.js').SystemUnderTest} entry
 * @param {Scale} scale
 * @param {string[]} nodeArgs
 * @param {OnPhase} onPhase
 * @returns {Promise<RoundResult>}
 */
export async function runMemory (entry, { memoryConnections, memoryIdleMs }, nodeArgs, onPhase) {
  onPhase('starting', 0)
  const session = await openSession(entry, { workers: 1, connections: memoryConnections, nodeArgs })
  try {
    // by then garbage of the start is collected in either system, and does not count as memory of connections
    await delay(memoryIdleMs)
    const before = serversOf(session.usage())
    const { ok } = await session.open(memoryConnections, memoryConnections / 100, (done, of) =>
      onPhase('memory', done / of)
    )
    const opened = serversOf(session.usage())
    const { used: whileIdle, watchedMs } = await session.measure(() => delay(memoryIdleMs))
    const after = serversOf(session.usage())
    const workers = (/** @type {import('./session.js').Used[]} */ used) => used.filter(({ role }) => WORKERS.has(role))
    const growth = (/** @type {typeof serversOf} */ of, /** @type {typeof before} */ to) =>
      round((residentKb(of(to)) - residentKb(of(before))) / ok, 2)
    const memory = {
      connections: ok,
      openedKb: growth(workers, opened),
      workerKb: growth(workers, after),
      allKb: growth((used) => used, after),
      idleMs: costs(workers(whileIdle), watchedMs).cpuUs
    }
    const { lost } = await session.clients.status()
    return { system: session.name, memory, unconnected: memoryConnections - ok, lost }
  } finally {
    await session.close()
  }
}

/** @param {import('./session.js').Used[]} used */
const residentKb = (used) => used.reduce((sum, each) => sum + each.residentKb, 0)
