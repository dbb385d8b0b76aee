/**
 * Publishes to a document over HTTP: one record that is repeated until the outcome is known, and many at once.
 *
 *   node examples/http/publish.js [GUID] [URL of the api]
 *
 * TOKEN is the token of a caller; none is needed on your own machine.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

const [guid = 'minutes', url = 'http://localhost:3001'] = process.argv.slice(2)
const { TOKEN } = process.env

/** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] */
async function post (path, body, headers = {}) {
  // the same key on each retry: it is published once
  const idempotencyKey = randomUUID()
  for (let tries = 1; ; tries++) {
    const result = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
        ...(TOKEN && { authorization: `Bearer ${TOKEN}` }),
        ...headers
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000)
    }).then((response) => response.json(), (error) => ({ error: { message: error.message, retryable: true } }))
    const { error } = /** @type {any} */ (result)
    if (error === undefined) return /** @type {any} */ (result)
    if (!error.retryable || tries === 5) throw new Error(`${error.code ?? 'failed'}: ${error.message}`)
    await delay(error.retryInMs ?? 200 * 2 ** tries)
  }
}

const { position } = await post(`/v1/documents/${encodeURIComponent(guid)}/broadcast`, { cell: 'A1', text: 'hello' }, { 'x-event': 'edit' })
console.log(JSON.stringify({ published: position?.offset ?? 'by Kafka' }))

// all or none of a document; the items of a batch have keys of their own
const publications = Array.from({ length: 100 }, (_, number) => ({ guid, event: 'edit', value: { number }, idempotencyKey: randomUUID() }))
const { failed, results } = await post('/v1/publish', { publications })
console.log(JSON.stringify({ batch: results.length, failed }))
