import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createWebhook } from '../../../examples/document-service/webhook.js'

const ROOT = new URL('../../../', import.meta.url)
const FOLDER = new URL('examples/document-service/', ROOT)

test('the document service imports only what its image has', () => {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
  for (const name of readdirSync(FOLDER).filter((one) => one.endsWith('.js'))) {
    for (const [, path] of readFileSync(new URL(name, FOLDER), 'utf8').matchAll(/^import .* from '([^']+)'$/gm))
      assert.ok(/^(?:node:|\.\/)/.test(path) || path in dependencies, `${name}: ${path}`)
  }
})

test('the receiver of webhooks takes what is signed, and nothing else', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  /** @type {import('../../../examples/document-service/service.js').UplinkMessage[]} */
  const received = []
  const parts = {
    host: '127.0.0.1', port: 0, log: { info () {}, error () {} },
    receive: async (/** @type {typeof received} */ messages) => { received.push(...messages) }
  }
  assert.throws(() => createWebhook({ ...parts, secret: '' }), /UPLINK_SECRETS is not set/)
  const webhook = createWebhook({ ...parts, secret })
  const url = `http://127.0.0.1:${await webhook.start()}`
  t.after(() => webhook.stop())
  const body = JSON.stringify([{ operator: 'message', guid: 'plan', data: { text: 'ü' }, time: '2026-01-01T00:00:00Z', sequence: '1' }])
  const post = async (/** @type {Record<string, string>} */ changed, seconds = 0, key = secret) => {
    const at = new Date(Date.now() + 1000 * seconds)
    const { status } = await fetch(url, {
      method: 'POST',
      headers: {
        'webhook-id': 'a',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(key).sign('a', at, body),
        ...changed
      },
      body
    })
    return status
  }
  assert.equal(await post({}), 204)
  assert.deepEqual(received.map(({ guid, value }) => [guid, value.toString()]), [['plan', '{"text":"ü"}']])
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  for (const seconds of [-400, 400]) assert.equal(await post({}, seconds), 401)
  assert.equal(await post({}, 0, other), 401)
  for (const name of ['id', 'timestamp', 'signature']) assert.equal(await post({ [`webhook-${name}`]: '' }), 401, name)
  assert.equal(received.length, 1)
  const right = new Webhook(secret).sign('a', new Date(), body)
  assert.equal(await post({ 'webhook-signature': `v1,AAAA v1a,BBBB ${right}` }), 204, 'beside others')
})
