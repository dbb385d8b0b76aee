import { readFileSync } from 'node:fs'

/** The measured costs: every figure that the tables are computed from is read out of a page of bench/results. */

const RESULTS = new URL('../../bench/results/', import.meta.url)
const DELIVERY = 'capacity.md'
const REDIS_MEMORY = 'redis-memory.md'

/**
 * @typedef {object} Point a measured figure
 * @property {string} what
 * @property {string} unit
 * @property {string} file of bench/results
 * @property {RegExp} found its first group is the figure
 * @property {number} [times] converts it to the unit
 */

/** One burst of a record for each document: 100 members receive each record. */
const MEMBERS = 100
/** Connections of the phase "idle". */
const IDLE = 9000

/** @satisfies {Record<string, Point>} */
export const POINTS = {
  delivery: {
    what: 'a delivery in the gateway, 10,000 a second, each written alone', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| steady +\| .*gateway ([\d.]+)/
  },
  burst: {
    what: 'a delivery in the gateway, in bursts', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| burst +\| .*gateway ([\d.]+)/
  },
  handshake: {
    what: 'a handshake with JWT, join and life-cycle events', unit: 'µs of CPU', file: DELIVERY,
    found: /### Handshakes[^]*?\| inkcast +\| +(\d+) /
  },
  redisHandshake: {
    what: 'the same in Redis', unit: 'µs of CPU', file: DELIVERY,
    found: /### Handshakes[^]*?\| inkcast +\| +\d+ \| +\d+ \| +(\d+) /
  },
  idle: {
    what: 'an idle connection, all processes', unit: 'µs of CPU per second', file: DELIVERY,
    found: /### Idle[^]*?\| inkcast +\| +([\d.]+) /, times: 1000 / IDLE
  },
  ingest: {
    what: 'a record in ingest', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*ingest ([\d.]+)/, times: MEMBERS
  },
  redis: {
    what: 'a record in Redis', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*redis ([\d.]+)/, times: MEMBERS
  },
  kafka: {
    what: 'a record in Kafka', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*kafka ([\d.]+)/, times: MEMBERS
  },
  memory: {
    what: 'an idle connection in a worker', unit: 'KB', file: DELIVERY,
    found: /### Memory of idle[^]*?\| inkcast +\| +([\d.]+) /
  },
  onOneWorker: {
    what: 'most connections that were measured on one worker', unit: 'connections', file: DELIVERY,
    found: /### Memory of idle[^]*?\| inkcast .*\| +(\d+) \|/
  },
  kernel: {
    what: 'an idle TCP connection in the kernel', unit: 'KB', file: 'sockets.md',
    found: /\| highest +\| +([\d.]+) /
  },
  redisUser: {
    what: 'a user with one connection, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a user with one connection +\| +(\d+) /
  },
  redisDocument: {
    what: 'an open document, in Redis', unit: 'bytes', file: REDIS_MEMORY, found: /\| an open document.*?\| +(\d+) /
  },
  redisMember: {
    what: 'a user who has a document open, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a member of a document +\| +(\d+) /
  },
  redisPresence: {
    what: 'the same with presence, in addition', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| presence of a member.*?\| +(\d+) /
  },
  redisMeta: {
    what: 'a document after its log has expired, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| epoch and last offset.*?\| +(\d+) /
  },
  redisResident: {
    what: 'resident memory of Redis', unit: 'times the memory that it uses', file: REDIS_MEMORY,
    found: /Resident memory was ([\d.]+) times/
  },
  redisRecord: {
    what: 'a record of 500 bytes in a log in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a record of 500 bytes.*?\| +(\d+) /
  },
  bytes: {
    what: 'a delivery of 500 bytes on the wire, with metadata, without TCP/IP', unit: 'bytes', file: DELIVERY,
    found: /\| inkcast +\| steady +\| +\d+ \| +(\d+) \|/
  }
}

/** @type {Record<keyof typeof POINTS, number>} */
export const measured = /** @type {any} */ (Object.fromEntries(Object.entries(POINTS).map(([name, point]) => {
  const text = readFileSync(new URL(point.file, RESULTS), 'utf8')
  const [, figure] = point.found.exec(text) ?? []
  if (figure === undefined) throw new Error(`${point.file} has no ${point.what}`)
  return [name, Number(figure) * (/** @type {Point} */ (point).times ?? 1)]
})))
