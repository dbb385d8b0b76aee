import { createKeys } from '../../src/redis/keys.js'
import { EMPTY, EPOCHS, GUIDS, IDS, QUEUES, SOURCES, UIDS } from './world.js'

const {
  documentChannel, documentKeys, documentLeft, documentLog, documentMeta, documentNewest, documentPresence, queueMarks,
  sourceHealing, sourceMark
} = createKeys()

/**
 * Calls of the scripts about a document: its log, the marks of queues and of Kafka's partitions, presence.
 *
 * @typedef {{ generation: string, ms: number }} World generation of real Redis; the wall clock
 * @typedef {{ keys: string[], args: string[], unordered?: 'list' | 'pairs' }} Call
 * @typedef {Record<string, (draw: import('./draw.js').Draw, world: World) => Call>} Calls by the script's name
 */

const OLD = ['0'.repeat(20), 'older']

/** @param {import('./draw.js').Draw} draw */
const epoch = (draw) => draw.pick(EPOCHS) + draw.pick(['', '', '-0', '-0', '-1', '1'])
/** @param {import('./draw.js').Draw} draw */
const offset = (draw) => String(draw.chance(0.1) ? draw.int(-1, 200) : draw.int(0, 8))
/** @param {import('./draw.js').Draw} draw */
const place = (draw) => draw.mostly(0.03, () => `${draw.int(1, 6)} ${draw.pick(QUEUES)}`)
/** @param {import('./draw.js').Draw} draw */
const marksOf = (draw) => `${draw.int(1, 40)} ${draw.int(1, 3)}`
/** @param {import('./draw.js').Draw} draw @param {World} world */
const move = (draw, { generation }) =>
  draw.pick(['', '?', '?', `${draw.pick(OLD)}>${generation}`, `${generation}>${generation}`])

/** @param {import('./draw.js').Draw} draw @returns {string} as src/wire/envelope.js writes it */
function envelope (draw) {
  const [head, value] = [draw.pick(['{}', '{"a":1}']), draw.pick(['', 'x', 'value\0\xff', 'v'.repeat(40)])]
  return draw.mostly(0.02, () => `\0\0\0${String.fromCharCode(head.length)}${head}${value}`)
}

/** @param {import('./draw.js').Draw} draw @returns {string} */
const sequence = (draw) => draw.mostly(0.03, () => `${draw.int(0, 8)}${draw.pick(['', '', '.1', '.1', '.2'])}`)

/** @param {import('./draw.js').Draw} draw @param {string} source @param {boolean} keyed */
const entry = (draw, source, keyed) => [
  source, source === '' && draw.chance(0.9) ? '' : sequence(draw), draw.chance(0.15) ? '1' : '', draw.chance(0.25)
    ? draw.pick(['i1', 'i2', 'i3', 'i4'])
    : '',
  keyed && draw.chance(0.6) ? draw.pick(['k1', 'k2', 'k3']) : '', envelope(draw)
]

/** @type {Calls} */
export const LOG_CALLS = {
  publish (draw, world) {
    const guid = draw.pick(GUIDS)
    const log = documentLog(guid)
    const queued = draw.chance(0.15)
    const source = draw.pick(['', '', ...SOURCES, SOURCES[0]])
    const keyed = draw.chance(0.4)
    return {
      keys: [
        log, documentMeta(guid), documentChannel(guid), documentKeys(guid), queued ? queueMarks(guid, 'ada') : log, documentNewest(guid),
        EMPTY
      ],
      args: [
        epoch(draw), draw.pick(['2', '3', '5', '100']), draw.pick(['5', '60', '60']),
        draw.pick(['10', '604800', '604800']), draw.pick(['2', '60']), draw.pick(['1', '2', '1000']), move(draw, world),
        draw.pick(['-', '', world.generation, world.generation, 'older']), queued ? place(draw) : '', marksOf(draw),
        draw.pick(['0', '0', '0', '30', '100', '100000']),
        ...draw.list(1, queued ? 1 : draw.chance(0.05) ? 20 : 3, () =>
          entry(draw, draw.chance(0.05) ? draw.pick(SOURCES) : source, keyed)).flat()
      ]
    }
  },
  open (draw, world) {
    const guid = draw.pick(GUIDS)
    return {
      keys: [documentLog(guid), documentMeta(guid), EMPTY],
      args: [epoch(draw), draw.pick(['10', '604800']), move(draw, world), '10', '60']
    }
  },
  history (draw) {
    const guid = draw.pick(GUIDS)
    return {
      keys: [documentLog(guid), documentMeta(guid)],
      args: [epoch(draw), offset(draw), draw.pick(['1', '3', '100']), draw.pick(['10', '1000000']), draw.pick(['', '', '1', '3', '100'])]
    }
  },
  cut (draw) {
    const guid = draw.pick(GUIDS)
    return { keys: [documentLog(guid), documentMeta(guid), documentNewest(guid)], args: [epoch(draw), offset(draw)] }
  },
  positions: (draw) => ({
    keys: [...draw.list(0, 3, () => draw.chance(0.1) ? documentLog('doc') : documentMeta(draw.pick(GUIDS))), EMPTY], args: [epoch(draw)]
  }),
  note: (draw) => ({
    keys: [queueMarks(draw.pick(GUIDS), 'ada')], args: [place(draw), String(draw.int(1, 40)), String(draw.int(1, 3))]
  }),
  heal (draw, world) {
    const source = draw.pick(SOURCES)
    return {
      keys: [sourceMark(source), sourceHealing(source)],
      args: [
        draw.pick(['', world.generation, world.generation, 'older']), draw.pick(['begun', 'done', 'failed']), '100',
        draw.pick(['5', '100'])
      ]
    }
  },
  mark (draw, world) {
    const source = draw.pick(SOURCES)
    return {
      keys: [sourceMark(source), sourceHealing(source)],
      args: [sequence(draw), draw.pick(['5', '100']), draw.pick([world.generation, world.generation, 'older'])]
    }
  }
}

/** @type {Calls} */
export const DOCUMENT_CALLS = {
  ...LOG_CALLS,
  presence (draw) {
    const uid = () => draw.mostly(0.01, () => draw.pick(UIDS))
    const guid = draw.pick(GUIDS)
    return {
      keys: [...documentPresence(guid), ...documentLeft(guid)],
      args: [
        draw.pick(['1', '2', '2', '100']), '0.5', draw.pick(['0', '1', '2', '100', '100']), draw.pick(['1.100', '1.200', '7.5']),
        draw.pick(['5', '3600']), draw.pick(['10', '3600']), draw.pick(['5', '86400']), draw.pick(['1', '2', '100']),
        ...draw.list(1, 3, () => {
          const op = draw.pick(['+', '+', '=', '-', '~'])
          const gone = op === '-' || op === '~'
          return [
            op, draw.mostly(0.01, () => draw.pick(IDS)), uid(), gone ? draw.pick(['', '1.100', '1.200']) : draw.pick(['', 'a', 'b']),
            gone ? '' : draw.pick(['{}', '{"name":"Ada"}', '{"state":{"x":"\xc3\xa9/\\u0000"}}'])
          ]
        }).flat()
      ]
    }
  },
  members: (draw) => ({
    keys: documentPresence(draw.pick(GUIDS)).slice(0, 3),
    args: [draw.pick(['', '', ...UIDS]), draw.pick(['1', '2', '100']), draw.pick(['1', '2', '100']), draw.pick(['1', '20', '100000'])]
  }),
  left (draw) {
    const guid = draw.pick(GUIDS)
    return { keys: [...documentLeft(guid), documentPresence(guid)[1]], args: [draw.pick(['5', '86400'])] }
  },
  mine: (draw) => ({
    keys: [documentPresence(draw.pick(GUIDS))[0]], args: [draw.pick(['c', '7.', ''])], unordered: 'pairs'
  }),
  versions: (draw) => ({
    keys: draw.list(1, 2, () => documentPresence(draw.pick(GUIDS)).slice(0, 3)).flat(), args: [draw.pick(['0', '60', '7200'])]
  })
}
