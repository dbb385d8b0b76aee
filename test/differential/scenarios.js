import { createKeys } from '../../src/redis/keys.js'
import { GENERATION } from './peer.js'
import { EMPTY } from './world.js'

const {
  documentChannel, documentKeys, documentLog, documentMeta, documentNewest, sourceHealing, workers: WORKERS
} = createKeys()

const GUID = 'doc'
const ENVELOPE = '\0\0\0\x02{}value'

/**
 * @param {{ source?: string, sequence?: string, bytes?: string, records?: number }} options
 * @returns {string[]} a call of publish.lua
 */
function publish ({ source = '', sequence = '', bytes = '0', records = 1 }) {
  const log = documentLog(GUID)
  const keys = [log, documentMeta(GUID), documentChannel(GUID), documentKeys(GUID), log, documentNewest(GUID), EMPTY]
  const args = ['E2', '100', '60', '600', '60', '10', '', GENERATION, '', '60 3', bytes]
  for (let i = 0; i < records; i++) args.push(source, sequence, '', '', '', ENVELOPE)
  return ['publish', '7', ...keys, ...args]
}

/** @param {string} state @returns {string[][]} a record of a log of which its partition's healing has this state */
const healing = (state) => [
  ['HSET', documentMeta(GUID), 'e', 'E1', 'o', '2', 'g', 'older', 'k', 't/0'],
  ['SET', sourceHealing('t/0'), `${GENERATION} ${state} older`],
  publish({ source: 't/0', sequence: '7.1' })
]

/** @param {string} count of newest records; '': from a position @returns {string[]} a call of history.lua */
const history = (count) =>
  ['history', '2', documentLog(GUID), documentMeta(GUID), 'E2-0', '0', '100', '100000', count]

/**
 * @param {string} token of the owner
 * @param {{ duration?: string, data?: string }} [more]
 * @returns {string[]} a call of renew.lua
 */
const renew = (token, { duration = '5000', data = '' } = {}) => [
  'renew', '10', WORKERS.expiry, WORKERS.owners, WORKERS.secret, WORKERS.incarnations, WORKERS.ending, WORKERS.settling,
  WORKERS.registry, WORKERS.watched, WORKERS.doubted, WORKERS.ended,
  '1', token, duration, `{"token":"${token}"}`, 'secret', '100', '?', data
]

/** Calls that random ones seldom make: a script begins with its name. */
const SCENARIOS = [
  healing('begun'), healing('done'),
  // one whose healing has not begun
  [healing('begun')[0], publish({ source: 't/0', sequence: '7.1' })],
  // a log that is counted from now on
  [publish({ records: 40 }), publish({ bytes: '100000' })],
  // a log with a hole
  [publish({ records: 3 }), ['XDEL', documentLog(GUID), '2-0'], history(''), history('3')],
  // a worker whose number another process has had, and released, as the data shows; and one of lost data
  [renew('t1'), renew('t1', { duration: '0' }), ['ZADD', WORKERS.ended, '1', '1.100'], renew('t1')],
  [['SET', WORKERS.registry, `name ${GENERATION}`], renew('t1', { data: `name ${GENERATION}` })],
  [renew('t1', { data: 'name' })]
]

/**
 * @param {Map<string, string>} shas of the scripts by their names
 * @returns {import('./sequence.js').Sequence[]}
 */
export const scenarios = (shas) => SCENARIOS.map((calls) => ({
  start: 1_700_000_000_000_000,
  steps: calls.map(([name, ...args]) => {
    const sha = shas.get(name)
    return { on: 0, args: sha === undefined ? [name, ...args] : ['EVALSHA', sha, ...args] }
  })
}))
