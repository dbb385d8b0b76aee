import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { runBlock } from './code-blocks.js'

/**
 * Scenarios of the JavaScript blocks of docs/publishers.md.
 *
 * @param {object} dependencies
 * @param {(specifier: string) => Promise<unknown>} dependencies.load
 * @returns {Record<string, (code: string) => Promise<void>>}
 */
export const publisherScenarios = ({ load }) => ({
  'docs/publishers.md: new Publisher(': async (code) => {
    /** @type {any[]} */
    const printed = []
    await runBlock(
      code.replaceAll('minutes', 'published'),
      { console: { log: (/** @type {any[]} */ ...args) => printed.push(...args) } },
      load
    )
    assert.equal(printed[0].offset, 1)
    assert.deepEqual(printed.slice(1), [2, 0])
  },

  'docs/publishers.md: verifyWebhook(': async (code) => {
    const key = Buffer.alloc(24, 1)
    const env = { UPLINK_SECRET: `whsec_${key.toString('base64')}` }
    const { eventsOf } = await runBlock(code, { process: { env } }, load)
    const [body, time] = ['[{"operator":"online"}]', Math.round(Date.now() / 1000)]
    const signature = createHmac('sha256', key).update(`a.${time}.${body}`).digest('base64')
    const headers = { 'webhook-id': 'a', 'webhook-timestamp': String(time), 'webhook-signature': `v1,${signature}` }
    assert.deepEqual(eventsOf(headers, body), [{ operator: 'online' }])
    assert.throws(() => eventsOf(headers, '[]'), { code: 'unauthorized' })
  }
})
