import assert from 'node:assert/strict'
import WebSocket from 'ws'
import { runBlock } from './code-blocks.js'
import { mqttScenarios } from './mqtt-blocks.js'
import { waitFor } from './wait.js'

/**
 * The JavaScript of docs/websocket.md, whose connection is cut once, and of docs/devices.md.
 * @param {object} parts
 * @param {{ gateway: { port: (listener: string) => number } }} parts.server
 * @param {(specifier: string) => Promise<any>} parts.load
 * @param {(guid: string, value: unknown) => Promise<unknown>} parts.publish
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const websocketScenarios = ({ server, load, publish }) => ({
  ...mqttScenarios({ server, load }),
  'docs/websocket.md: new WebSocket(': async (code, t) => {
    /** @type {unknown[]} */
    const printed = []
    /** @type {WebSocket[]} */
    const opened = []
    class OneOfPage extends WebSocket {
      /** @param {string} address @param {string[]} protocols */
      constructor (address, protocols) {
        super(address.replace('ws://http', 'ws'), protocols)
        opened.push(this)
      }
    }
    let ended = false
    const setTimeout = (/** @type {() => void} */ run) => { if (!ended) run() }
    t.after(() => {
      ended = true
      opened.at(-1)?.terminate()
    })
    const console = { log: printed.push.bind(printed) }
    await runBlock(code, { console, WebSocket: OneOfPage, setTimeout }, load)
    await waitFor(async () => {
      await publish('board', 'first')
      return printed.length > 0
    })
    await publish('board', 'before the cut')
    await waitFor(() => printed.includes('before the cut'))
    opened[0].terminate()
    await publish('board', 'missed')
    await waitFor(() => printed.at(-1) === 'missed', { message: () => printed })
    assert.deepEqual(printed.filter((text) => text !== 'first'), ['before the cut', 'missed'])
  }
})
