import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import parser from 'socket.io-msgpack-parser'
import { startEmbedded } from '../../helpers/embedded.js'
import { startClient } from '../../helpers/inkcast-client.js'
import { plainValues, sentValues, shown } from '../../helpers/sent-values.js'
import { waitFor } from '../../helpers/wait.js'

/** Values arrive as they were sent, whatever the parsers and transports of sender and receiver. */

const gateway = await startEmbedded({ after }, {
  MAX_EVENTS_PER_SECOND: '100000', MAX_BYTES_PER_SECOND: '1000000000',
  MAX_STATE_BYTES: '60000'
})

/** Records that are sent without waiting for each. */
const AT_ONCE = 8

const WAYS = /** @type {const} */ ([
  ['json', 'websocket'], ['json', 'polling'], ['msgpack', 'websocket'], ['msgpack', 'polling']
])

/**
 * @param {import('node:test').TestContext} t
 * @param {'json' | 'msgpack'} codec
 * @param {string} transport
 */
const start = (t, codec, transport) =>
  startClient(t, gateway.url, { transports: [transport], ...(codec === 'msgpack' && { parser }) })

/** Opens a document with a client of each way. @param {import('node:test').TestContext} t @param {string} guid */
const openAll = (t, guid) => Promise.all(WAYS.map(async ([codec, transport]) => {
  const doc = await start(t, codec, transport).open(guid, { echo: true })
  /** @type {any[]} */
  const seen = []
  doc.on('value', (payload) => { seen.push(payload) })
  return { doc, codec, seen, name: `${codec} over ${transport}` }
}))

/**
 * @param {any[]} actual
 * @param {{ name: string, value: any }[]} sent
 * @param {import('../../helpers/sent-values.js').Ways} ways
 * @param {string} what
 */
function assertArrived (actual, sent, ways, what) {
  const wrong = sent.flatMap(({ name, value }, i) => {
    const [got, expected] = [shown(actual[i]), shown(value, ways)]
    return got === expected ? [] : [`${name}: ${got.slice(0, 150)} instead of ${expected.slice(0, 150)}`]
  })
  assert.deepEqual(wrong, [], what)
}

for (const [from, transport] of WAYS) {
  describe(`values of a ${from} client over ${transport}`, () => {
    const values = sentValues()

    test(`arrive as they were sent, as records and in the history: ${values.length} values, 4 receivers`, async (t) => {
      const receivers = await openAll(t, `records-${from}-${transport}`)
      const sender = await start(t, from, transport).open(`records-${from}-${transport}`)
      for (let at = 0; at < values.length; at += AT_ONCE)
        await Promise.all(values.slice(at, at + AT_ONCE).map(({ value }) => sender.send(value, { event: 'value' })))
      for (const { doc, codec: to, seen, name } of receivers) {
        await waitFor(() => seen.length === values.length, { message: () => `${name}: ${seen.length}` })
        assertArrived(seen, values, { from, to }, `records, ${name}`)
        /** @type {any[]} */
        const history = []
        for (let before; ;) {
          const { records, more } = await doc.history({ limit: 100, before })
          history.unshift(...records.map(({ payload }) => payload))
          before = records[0].meta.offset
          if (!more) break
        }
        assertArrived(history, values, { from, to }, `history, ${name}`)
      }
    })

    // over a transport each: that of a sender makes the same difference to records
    if ((from === 'json') === (transport === 'websocket')) test('arrive as they were sent, as signals', async (t) => {
      const receivers = await openAll(t, `signals-${from}-${transport}`)
      const sender = await start(t, from, transport).open(`signals-${from}-${transport}`)
      for (const [i, { value }] of values.entries()) {
        sender.signal('value', value, { combine: false })
        // a connection with much in its queue gets no signals
        await waitFor(() => receivers.every(({ seen }) => seen.length === i + 1), {
          message: () => receivers.map(({ seen }) => seen.length)
        })
      }
      for (const { codec: to, seen, name } of receivers) assertArrived(seen, values, { from, to }, `signals, ${name}`)
    })

    test('arrive as they were sent, as presence state: at the handshake, at a join, and set later', async (t) => {
      const guid = `states-${from}-${transport}`
      const plain = plainValues()
      const state = { list: plain.map(({ value }) => value) }
      const watchers = await Promise.all(WAYS.map(async ([codec, transport]) => {
        const doc = await start(t, codec, transport).open(guid, { presence: true })
        return { doc, codec, name: `${codec} over ${transport}` }
      }))
      const early = start(t, from, transport)
      const late = start(t, from, transport)
      await late.ready
      const docs = [
        await early.open(guid, { state }),
        await late.open(guid, { state }),
        await start(t, from, transport).open(guid, { state: {} })
      ]
      await docs[2].setState(state)
      for (const { doc, codec: to, name } of watchers) {
        const states = () =>
          [...doc.presence.values()].map(({ state }) => state).filter((state) => state?.list !== undefined)
        await waitFor(() => states().length === docs.length, { message: () => `${name}: ${states().length}` })
        // the gateway keeps states as JSON in UTF-8
        for (const state of states())
          assertArrived(state?.list, plain, { from: 'json', to, wellFormed: true }, `states, ${name}`)
      }
    })
  })
}
