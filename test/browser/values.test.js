import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import parser from 'socket.io-msgpack-parser'
import { newTab, noBrowser } from '../helpers/browser.js'
import { serveBundled } from '../helpers/bundled-page.js'
import { startEmbedded } from '../helpers/embedded.js'
import { fileScope } from '../helpers/file-scope.js'
import { startClient } from '../helpers/inkcast-client.js'
import { shown } from '../helpers/sent-values.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'

/**
 * The values of test/process/client/values.test.js, which sends them over polling as well, in a browser: its build of
 * the msgpack parser is another one.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const PAGE = `
import { connect } from ${JSON.stringify(`${ROOT}client/index.js`)}
import { sentValues, shown } from ${JSON.stringify(`${ROOT}test/helpers/sent-values.js`)}
import parser from 'socket.io-msgpack-parser'

const start = (url, codec) => connect(url, { transports: ['websocket'], ...(codec === 'msgpack' && { parser }) })

/** Sends all values, and resolves with what has not arrived on this page as it should. */
globalThis.run = async ({ url, guid, from }) => {
  const values = sentValues()
  const receivers = []
  for (const to of ['json', 'msgpack']) {
    const doc = await start(url, to).open(guid)
    const seen = []
    doc.on('value', (payload) => { seen.push(payload) })
    const signals = []
    doc.on('signal', (data) => { signals.push(data) })
    receivers.push({ doc, to, seen, signals })
  }
  const sender = await start(url, from).open(guid)
  const wrong = []
  const check = (what, i, got, to) => {
    const expected = shown(values[i].value, { from, to })
    if (shown(got) !== expected) wrong.push([what, to, values[i].name, shown(got).slice(0, 150), expected.slice(0, 150)].join(' | '))
  }
  for (const { value } of values) await sender.send(value, { event: 'value' })
  for (const { seen } of receivers) while (seen.length < values.length) await new Promise((resolve) => setTimeout(resolve, 5))
  // after the records and one after the other, because a connection with much in its queue gets no signals
  for (const [i, { value }] of values.entries()) {
    sender.signal('signal', value, { combine: false })
    while (!receivers.every(({ signals }) => signals.length === i + 1)) await new Promise((resolve) => setTimeout(resolve))
  }
  for (const { doc, to, seen, signals } of receivers) {
    seen.forEach((got, i) => check('record', i, got, to))
    signals.forEach((got, i) => check('signal', i, got, to))
    const { records, position } = await doc.history({ limit: 100 })
    for (const { payload, meta } of records) check('history', meta.offset - 1, payload, to)
  }
  return {
    wrong,
    expected: Object.fromEntries(['json', 'msgpack'].map((to) => [to, values.map(({ value }) => shown(value, { from, to }))]))
  }
}
globalThis.ready = true
`

describe('values that a browser sends and receives', { skip: noBrowser, timeout: 120_000 }, () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof sharedBrowser>>} */
  let browser
  /** @type {Awaited<ReturnType<typeof startEmbedded>>} */
  let gateway
  let origin = ''
  before(async () => {
    browser = await sharedBrowser()
    gateway = await startEmbedded(scope, {
      ALLOWED_ORIGINS: '*', MAX_EVENTS_PER_SECOND: '100000', MAX_BYTES_PER_SECOND: '1000000000'
    })
    origin = await serveBundled(scope, PAGE)
  })

  for (const from of /** @type {const} */ (['json', 'msgpack'])) {
    test(`arrive as they were sent: ${from}`, async (t) => {
      const guid = from
      const nodes = await Promise.all(/** @type {const} */ (['json', 'msgpack']).map(async (to) => {
        const doc = await startClient(t, gateway.url, to === 'msgpack' ? { parser } : {}).open(guid)
        /** @type {any[]} */
        const seen = []
        doc.on('value', (payload) => { seen.push(payload) })
        return { to, seen }
      }))
      const page = await newTab(t, browser)
      await page.goto(origin)
      await page.waitForFunction(() => 'ready' in globalThis)
      const { wrong, expected } = await page.evaluate(
        (options) => /** @type {any} */ (globalThis).run(options), { url: gateway.url, guid, from }
      )
      assert.deepEqual(wrong, [])
      for (const { to, seen } of nodes) {
        await waitFor(() => seen.length === expected[to].length)
        assert.deepEqual(seen.map((value) => shown(value)), expected[to], `in Node, ${to}`)
      }
    })
  }
})
