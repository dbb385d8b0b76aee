/**
 * One PublishStream, written as fast as flow control allows. Tells its parent once a second what is done; ends the
 * stream on the message `end`.
 *
 *   node bench/grpc/client.js PORT PUBLICATIONS_PER_MESSAGE DOCUMENTS MAX_PER_SECOND
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { credentials, loadPackageDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { fileURLToPath } from 'node:url'

const PROTO = fileURLToPath(new URL('../../src/services/api/grpc/inkcast.proto', import.meta.url))
const [port, perMessage, documents, maxPerSecond] = process.argv.slice(2).map(Number)
const VALUE = Buffer.from(JSON.stringify({ cell: 'A1', text: 'x'.repeat(100) }))

const { Gateway } = /** @type {any} */ (loadPackageDefinition(loadSync(PROTO, { longs: Number }))).inkcast.v1
const stream = new Gateway(`127.0.0.1:${port}`, credentials.createInsecure()).PublishStream()
let sent = 0
let done = 0
let ending = false
/** @type {Record<string, number>} by code */
const errors = {}

stream.on('data', (/** @type {{ results: any[] }} */ { results }) => {
  for (const { ok, error } of results) {
    done++
    if (!ok) errors[error.code] = (errors[error.code] ?? 0) + 1
  }
})
stream.on('error', (/** @type {Error} */ error) => { process.send?.({ failed: error.message }) })
process.on('message', (message) => { if (message === 'end') ending = true })
const timer = setInterval(() => process.send?.({ sent, done, errors }), 1000)

const begun = performance.now()
while (!ending) {
  const publications = Array.from({ length: perMessage }, () => ({ guid: `d-${sent++ % documents}`, value: VALUE }))
  if (!stream.write({ publications })) await once(stream, 'drain')
  const ahead = sent / maxPerSecond * 1000 - (performance.now() - begun)
  if (ahead > 5) await delay(ahead)
}
stream.end()
await once(stream, 'end')
clearInterval(timer)
process.send?.({ sent, done, errors, ended: true }, () => process.exit())
