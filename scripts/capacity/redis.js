import { ASSUMED } from './assumed.js'
import { number, size } from './format.js'
import { measured } from './measured.js'

/**
 * @param {number} connections
 * @param {number} records per second
 * @returns what Redis has, bytes: `open` without logs, `full` the logs with the default HISTORY_SIZE, `short` with
 *   `enough` records, which cover HISTORY_TTL; `per`: records of a document per second
 */
function redisData (connections, records) {
  const documents = connections / ASSUMED.members
  const { redisUser, redisMember, redisDocument, redisRecord } = measured
  const per = records / documents
  const enough = Math.max(10, Math.ceil(per * ASSUMED.historyTtl / 10) * 10)
  return {
    documents,
    per,
    enough,
    open: connections * (redisUser + redisMember) + documents * redisDocument,
    full: documents * ASSUMED.historySize * redisRecord,
    short: documents * enough * redisRecord
  }
}

/**
 * @param {number} connections
 * @param {number} records per second
 * @param {number} masters
 * @returns {string} machines, one of which may fail, and the memory of each
 */
export function redisMachines (connections, records, masters) {
  const { open, full, short: shortLogs, enough } = redisData(connections, records)
  const single = masters === 1
  // in Redis Cluster a machine has a master, and the replica of another one
  const each = single ? 1 : 2
  const resident = (/** @type {number} */ logs) => (open + logs) / masters * measured.redisResident
  /** Memory to buy, GB: all fork at the same time, and 1 GB. @param {number} logs @param {number} [processes] */
  const buy = (logs, processes = each) => 2 ** Math.ceil(Math.log2(2 * processes * resident(logs) / 1e9 + 1))
  const figures = (/** @type {number} */ logs) =>
    `${size(resident(logs))} of resident memory, and up to ${size(2 * resident(logs))} while it forks`
  const sum = `(${size(open)} + ${size(full)}) ${single ? '' : `÷ ${masters} `}× ${measured.redisResident}`
  const take = `Each Redis needs ${sum}: ${figures(full)}. With the operating system and [the other parts](#memory-of-redis) take ` +
    `machines with ${each + 1} cores and **${buy(full)} GB**.`
  const less = buy(shortLogs) < buy(full)
    ? ` With \`HISTORY_SIZE=${enough}\` each Redis needs ${figures(shortLogs)}: take **${buy(shortLogs)} GB**.`
    : ''
  return single
    ? '**3**, each with one Redis and one [Sentinel](operations/redis.md#failover-of-redis): one master and two replicas. When one ' +
    'machine fails, a master and a replica are left. So Redis accepts writes again after the failover, also with `PUBLISH_WAIT=replicas` ' +
    '([why two replicas](durability.md#publish_wait)). ' +
    `Set \`min-replicas-to-write 1\`: with 2, Redis would refuse writes until the machine is back. A replica has the same data as the ` +
    `master. ${take}${less}`
    : `**${masters}**, each with one of the masters and the replica of another one. When a machine fails, another one has two masters, ` +
      `so each has a core for both. ${take}${less} ` +
      `For \`PUBLISH_WAIT=replicas\` each master needs [two replicas](durability.md#publish_wait). So each machine has three Redis: ` +
      `take ${buy(full, each + 1)} GB.`
}

/** @param {number} connections @param {number} records per second @returns {string} the sum */
export function redisExample (connections, records) {
  const { redisUser, redisMember, redisDocument, redisRecord } = measured
  const { documents, per, enough, open, full, short: shortLogs } = redisData(connections, records)
  return `${number(connections)} users × (${redisUser} + ${redisMember}) bytes and ${number(documents)} documents × ${redisDocument} ` +
    `bytes are ${size(open)}. The logs need more: ${number(documents)} documents × ${number(ASSUMED.historySize)} records × ` +
    `${redisRecord} bytes are ${size(full)}. ` +
    `Each document gets ${per === 1 ? 'a record every second' : `a record every ${number(1 / per)} s`}, so its log is full after ` +
    `${number(ASSUMED.historySize / per)} s. (A log expires earlier only if its document gets no record for ${ASSUMED.historyTtl} s, ` +
    `\`HISTORY_TTL\`.) ` +
    (enough < ASSUMED.historySize
      ? `\`HISTORY_SIZE=${enough}\` still covers clients that are offline for up to ${number(enough / per)} s; then the logs need ` +
      `${size(shortLogs)}.`
      : '')
}
