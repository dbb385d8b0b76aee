import assert from 'node:assert/strict'
import { runBlock } from './code-blocks.js'
import { waitFor } from './wait.js'

/**
 * The JavaScript of docs/devices.md.
 * @param {object} parts
 * @param {{ gateway: { port: (listener: string) => number } }} parts.server
 * @param {(specifier: string) => Promise<any>} parts.load
 * @returns {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
export const mqttScenarios = ({ server, load }) => ({
  'docs/devices.md: mqtt.connect(': async (code, t) => {
    /** @type {unknown[]} */
    const printed = []
    const console = { log: (/** @type {unknown[]} */ ...args) => { printed.push(args) } }
    const at = `mqtt://127.0.0.1:${server.gateway.port('mqtt://127.0.0.1:0')}`
    const { device } = await runBlock(code.replace('mqtt://localhost:1883', at), { console }, load)
    t.after(() => device.end(true))
    await waitFor(() => printed.length > 0)
    assert.deepEqual(printed, [['doc/board', { celsius: 21.5 }]])
  }
})
