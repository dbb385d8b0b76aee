import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startEmbedded } from '../../helpers/embedded.js'
import { bundleForPhone, Phone } from '../../helpers/phone.js'
import { startProxy } from '../../helpers/proxy.js'
import { waitFor } from '../../helpers/wait.js'

/** examples/react-native on a phone without the Web (test/helpers/phone.js), with a real gateway. */

const EXAMPLE = fileURLToPath(new URL('../../../examples/react-native/client.ts', import.meta.url))
const server = await startEmbedded({ after })
const line = await startProxy(Number(new URL(server.url).port))
after(() => line.stop())
const bundle = await bundleForPhone(EXAMPLE, {
  'process.env.EXPO_PUBLIC_GATEWAY': JSON.stringify(`http://127.0.0.1:${line.port}`)
})

/**
 * Starts the app, and opens a document.
 * @param {Phone} phone
 * @param {string} guid
 */
async function startApp (phone, guid) {
  const { client } = phone.start()
  const doc = await client.open(guid, { offline: true, echo: true })
  /** @type {unknown[]} */
  const seen = []
  doc.on('message', (/** @type {any} */ payload) => { seen.push(payload) })
  doc.on('resync', () => { seen.push('resync') })
  return {
    client, doc, seen,
    joined: () => waitFor(() => doc.status === 'live' && client.state === 'connected', {
      timeout: 20_000, message: () => `${client.state} ${client.reason}`
    }),
    shows: (/** @type {unknown[]} */ ...payloads) => waitFor(
      () => JSON.stringify(seen) === JSON.stringify(payloads), { timeout: 20_000, message: () => seen }
    )
  }
}

/** @param {import('node:test').TestContext} t */
function newPhone (t) {
  const phone = new Phone(bundle)
  t.after(() => {
    phone.kill()
    line.heal()
  })
  return phone
}

const publish = (/** @type {string} */ guid, /** @type {unknown} */ value) =>
  server.post(`/v1/documents/${guid}/broadcast`, value)

test('an app that comes to the foreground on a dead line reconnects, and gets what it missed', async (t) => {
  const phone = newPhone(t)
  const app = await startApp(phone, 'background')
  await app.joined()
  await publish('background', 1)
  await app.shows(1)
  phone.background()
  // the network is gone, and nobody closes the connection
  line.hang()
  await publish('background', 2)
  await publish('background', 3)
  assert.equal(app.client.state, 'connected')
  phone.foreground()
  // long before the heartbeat would notice
  await waitFor(() => app.client.state === 'reconnecting', { message: () => app.client.state })
  line.heal()
  await app.shows(1, 2, 3)
  // another network, with the first one silent
  line.hang()
  phone.network('cellular')
  await waitFor(() => app.client.state === 'reconnecting', { message: () => app.client.state })
  line.heal()
  await publish('background', 4)
  await app.shows(1, 2, 3, 4)
  app.client.close()
  assert.equal(phone.listeners, 0)
})

test('an edit that was queued without a network survives the end of the app, and arrives once', async (t) => {
  const phone = newPhone(t)
  const first = await startApp(phone, 'queue')
  await first.joined()
  line.loseAnswers()
  phone.network('none')
  await publish('queue', 'cuts the connection')
  await waitFor(() => first.client.state === 'reconnecting', { message: () => first.client.state })
  first.doc.send({ text: 'ü', bytes: new Uint8Array([0, 255]) }, { queue: true }).catch(() => {})
  await waitFor(() => first.doc.pending.length === 1)
  assert.equal(phone.stored.size, 1)
  phone.kill()
  line.heal()
  const second = await startApp(phone, 'queue')
  await waitFor(() => second.seen.length === 1, { timeout: 20_000, message: () => second.client.state })
  const [{ text, bytes }] = /** @type {any[]} */ (second.seen)
  assert.deepEqual([text, [...new Uint8Array(bytes)]], ['ü', [0, 255]])
  await waitFor(() => phone.stored.size === 0, { message: () => [...phone.stored] })
  await second.doc.send('later', { queue: true })
  await waitFor(() => second.seen.length === 2, { message: () => second.seen })
})
