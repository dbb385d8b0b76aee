import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as Y from 'yjs'
import { freePort } from '../services/ports.js'
import { waitFor } from './wait.js'
import { SECRET } from './webhook-service.js'

const PACKAGE = fileURLToPath(new URL('../../packages/yjs-server/', import.meta.url))

/**
 * @returns {Promise<{ port: number, env: Record<string, string> }>} env: of the gateway, for the service at this port
 */
export async function yjsGateway () {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/events`
  return {
    port,
    env: {
      UPLINK_URL: url, UPLINK_SECRETS: SECRET, EXTENSIONS: `${PACKAGE}yjs.js`,
      // in a process of a test, the extension does not see the two above
      EXTENSION_YJS_URL: url, EXTENSION_YJS_SECRET: SECRET
    }
  }
}

/**
 * A signed request of the gateway.
 * @param {string} url @param {unknown} body
 */
export function askYjsService (url, body) {
  const [id, timestamp, text] = ['test', String(Math.floor(Date.now() / 1000)), JSON.stringify(body)]
  const signature = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64')).update(`${id}.${timestamp}.${text}`)
  return fetch(url, {
    method: 'POST',
    headers: {
      'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature.digest('base64')}`
    },
    body: text
  })
}

/**
 * inkcast-yjs-server as a separate program, with its own documents; stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {object} settings
 * @param {string} settings.apiUrl
 * @param {number} settings.port that the gateway calls
 * @param {string[]} [settings.args] further options
 * @param {string} [settings.directory] of another one, which removes it
 */
export async function startYjsService (t, { apiUrl, port, args = [], directory: given }) {
  const directory = given ?? mkdtempSync(join(tmpdir(), 'inkcast-yjs-'))
  const url = `http://127.0.0.1:${port}`
  let output = ''
  /** @type {import('node:child_process').ChildProcess} */
  let child
  /** @type {Promise<unknown>} */
  let exited

  async function start () {
    output = ''
    child = spawn(process.execPath, [
      `${PACKAGE}command.js`, '--directory', directory, '--port', String(port), '--api', apiUrl, '--keep', '0',
      '--interval', '100', ...args
    ], { env: { PATH: process.env.PATH, UPLINK_SECRETS: SECRET } })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => { output = (output + chunk).slice(-20_000) })
    exited = new Promise((resolve) => child.once('exit', resolve))
    await waitFor(() => /documents are in /.test(output), { timeout: 30_000, message: () => `the Yjs service: ${output}` })
  }

  /** @param {NodeJS.Signals} [signal] */
  async function stop (signal = 'SIGTERM') {
    child.kill(signal)
    await exited
  }

  t.after(async () => {
    await stop('SIGKILL')
    if (given === undefined) rmSync(directory, { recursive: true })
  })
  await start()
  return {
    start,
    stop,
    directory,
    output: () => output,
    url,
    /** @param {string} guid @returns {Promise<string>} what the service has */
    async text (guid) {
      const doc = new Y.Doc()
      let [version, update] = [/** @type {string | undefined} */ (undefined), new Uint8Array()]
      for (let size = 1; update.length < size;) {
        const answer = await askYjsService(`${url}/load`, { guid, version, from: update.length })
        if (!answer.ok) throw new Error(`the Yjs service answered ${answer.status}: ${output}`)
        size = Number(answer.headers.get('x-size'))
        if (size === 0) return ''
        version = answer.headers.get('x-version') ?? ''
        update = Buffer.concat([update, new Uint8Array(await answer.arrayBuffer())])
      }
      Y.applyUpdate(doc, update)
      return doc.getText('text').toString()
    }
  }
}
