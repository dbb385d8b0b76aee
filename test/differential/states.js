import { createKeys } from '../../src/redis/keys.js'
import { ALL, EPOCHS, GUIDS, NUMBERS, QUEUES, SOURCES, UPLINK } from './world.js'

const {
  documentLog, documentMeta, nodeMarker, queueMarks, requestState, sourceHealing, sourceMark, userDevice,
  workers: WORKERS
} = createKeys()

/** @typedef {import('./draw.js').Draw} Draw */
/** @typedef {import('./scripts-of-documents.js').World} World */

/** Maximum of a stream: no further id is possible. */
const LAST_ID = '18446744073709551615-18446744073709551615'

/** @param {Draw} draw */
const epoch = (draw) => draw.pick(EPOCHS) + draw.pick(['', '-0'])

/**
 * Commands that write what only a loss of data, another version or an operator leaves, which scripts must cope with.
 * @type {((draw: Draw, world: World) => string[])[]}
 */
const STATES = [
  (draw, { generation }) => ['HSET', documentMeta(draw.pick(GUIDS)), 'g', draw.pick(['older', generation, '0'.repeat(20)])],
  (draw) => ['HSET', documentMeta(draw.pick(GUIDS)), 'o', draw.mostly(0.3, () => String(draw.int(0, 9)))],
  (draw) => ['HSET', documentMeta(draw.pick(GUIDS)), 'k', draw.pick(SOURCES)],
  (draw) => ['HDEL', documentMeta(draw.pick(GUIDS)), draw.pick(['e', 'o', 'g', 'k', 'x'])],
  (draw) => ['HSET', documentMeta(draw.pick(GUIDS)), 'b', `${epoch(draw)} ${draw.int(0, 3)}`],
  (draw) => ['HSET', documentMeta(draw.pick(GUIDS)), 'x', `${epoch(draw)} ${draw.int(0, 2)} ${draw.int(0, 2)} ${draw.pick(['', '7'])}`],
  // a log that was last written in an older generation, and may be healed
  (draw) => ['HSET', documentMeta(draw.pick(GUIDS)), 'e', epoch(draw), 'o', String(draw.int(1, 4)), 'g', 'older', 'k', draw.pick(SOURCES)],
  (draw, { generation }) =>
    ['HSET', documentMeta(draw.pick(GUIDS)), 'e', 'E1', 'o', '5', 'g', generation, 'x', `E1 ${draw.int(0, 3)} ${draw.int(0, 2)} `],
  (draw, { generation }) => [
    'SET', sourceHealing(draw.pick(SOURCES)),
    `${draw.pick([generation, generation, generation, 'older'])} ${draw.pick(['begun', 'done', 'done', 'failed'])} ` +
    `${draw.pick(['', 'older', `older ${'0'.repeat(20)}`])}`
  ],
  (_, { generation, ms }) => ['SET', 'inkcast:generation', `${generation} ${Math.floor(ms / 1000)}`],
  (draw) => ['SET', sourceMark(draw.pick(SOURCES)), `${draw.int(0, 9)}.1`, 'EX', '60'],
  (draw) => ['HSET', queueMarks(draw.pick(GUIDS), 'ada'), draw.pick(QUEUES), draw.pick(['3', '3 x', '2 50'])],
  // a claim of a worker that has died; a later claim was lost, and the clock was set back
  (draw, { ms }) =>
    ['SET', userDevice('ada', 'board'), `${ms - draw.pick([1000, 61_000])} o1${draw.pick(['', ' ?o2', ' ?o3'])}`],
  (_, { ms }) => ['HSET', requestState('r1'), 'f', 'f1', 'p', 'p1', 's', '1', 'u', String(ms - 1)],
  (draw, { generation }) => ['SET', WORKERS.registry, draw.pick(['name', `name ${draw.pick([generation, 'older'])}`])],
  (draw, { generation }) =>
    ['SET', nodeMarker('aaaa', '1.100'), `${draw.pick(['', '-'])}${draw.pick([generation, 'older'])}`],
  (draw) => ['HDEL', WORKERS.incarnations, draw.pick(NUMBERS)],
  (draw) => draw.chance(0.2) ? ['XADD', UPLINK.log, LAST_ID, 'h', '', 'v', '', 'c', '1'] : ['DEL', UPLINK.meta],
  (draw) => ['XDEL', documentLog(draw.pick(GUIDS)), `${draw.int(1, 4)}-0`],
  (draw) => ['DEL', draw.pick(ALL)]
]

/** @param {Draw} draw @param {World} world @returns {{ args: string[] }} */
export const drawState = (draw, world) => ({ args: draw.pick(STATES)(draw, world) })
