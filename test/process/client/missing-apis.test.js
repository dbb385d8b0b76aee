import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startEmbedded } from '../../helpers/embedded.js'

/**
 * The client without Web APIs (as in React Native, older browsers and workers): everything of it still works. APIs that
 * do not replace each other are missing together, because each process loads all that a client needs.
 */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CLIENT = `${ROOT}client/index.js`
const gateway = await startEmbedded({ after })

/** Node's own Web Locks (24 or later) call it. */
const NO_THROW_IF_ABORTED = 'delete AbortSignal.prototype.throwIfAborted; remove("navigator")'

/** What is removed before the client is loaded, after socket.io-client, which is not ours. */
const REMOVED = {
  'crypto, structuredClone, BroadcastChannel, and AbortSignal.any, timeout and abort':
    `remove("crypto"); remove("structuredClone"); remove("BroadcastChannel")
    delete AbortSignal.any; delete AbortSignal.timeout; delete AbortSignal.abort`,
  'crypto.getRandomValues, TextEncoder, Web Locks and navigator, events of a window':
    `Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true })
    remove("TextEncoder"); remove("TextDecoder"); remove("navigator")
    globalThis.window = globalThis; remove("addEventListener")`,
  'AbortSignal.throwIfAborted, String.toWellFormed, and a complete URL': `${NO_THROW_IF_ABORTED}
    delete String.prototype.toWellFormed; delete String.prototype.isWellFormed
    globalThis.URL = class extends URL {
      get pathname () { throw new Error('not implemented') }
      get protocol () { throw new Error('not implemented') }
    }`,
  'AbortSignal.reason, and storage that may be read':
    `delete AbortSignal.prototype.reason; ${NO_THROW_IF_ABORTED}
    Object.defineProperty(globalThis, "sessionStorage", { get () { throw new Error("forbidden") }, configurable: true })`
}

const program = (/** @type {string} */ removal, /** @type {string} */ guid) => `
await import('socket.io-client')
const parser = (await import('socket.io-msgpack-parser')).default
const remove = (name) => { delete globalThis[name]; if (name in globalThis) globalThis[name] = undefined }
${removal}
const { connect } = await import(${JSON.stringify(CLIENT)})
for (const options of [{}, { parser }]) {
  const client = connect(${JSON.stringify(gateway.url)}, { ...options, outbox: { user: 'ada' } })
  const controller = new AbortController()
  const doc = await client.open(${JSON.stringify(guid)}, {
    load: async ({ position, signal }) => position, echo: true, state: { name: 'ü' }, signal: controller.signal
  })
  const seen = []
  doc.on('message', (payload) => seen.push(payload))
  await doc.send({ text: 'plain ü' })
  await doc.send({ text: 'queued', bytes: new Uint8Array([1, 2, 3]).subarray(1), at: new Date(5) }, { queue: true })
  await doc.setState({ name: 'b' })
  doc.signal('cursor', { x: 1 })
  await doc.history()
  while (!await client.check()) await new Promise((resolve) => setTimeout(resolve, 5))
  while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  if (seen[1].bytes.length !== 2 && seen[1].bytes.byteLength !== 2) throw new Error('bytes')
  const gone = new AbortController()
  const opening = client.open('other', { load: () => new Promise(() => {}), signal: gone.signal })
  gone.abort()
  const error = await opening.catch((error) => error)
  if (error?.name !== 'AbortError') throw error
  client.drop(0)
  await new Promise((resolve) => doc.on('joined', resolve))
  client.close()
}
console.log('done')
`

describe('the client works without', { concurrency: 2 }, () => {
  for (const [name, removal] of Object.entries(REMOVED)) {
    test(name, async () => {
      const code = program(removal, `without-${name.replaceAll(/\W/g, '-')}`)
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath, ['--input-type=module', '--eval', code], { timeout: 30_000, cwd: ROOT }
      )
      assert.deepEqual([stdout.trim(), stderr], ['done', ''])
    })
  }
})
