import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as Y from 'yjs'
import { freePort } from '../services/ports.js'
import { waitFor } from './wait.js'

const COMMAND = fileURLToPath(new URL('../../examples/yjs/main.js', import.meta.url))

/**
 * The Yjs service of the examples as a separate program, with its own documents; stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {object} settings
 * @param {string} settings.apiUrl
 * @param {Record<string, string>} [settings.env] further settings
 */
export async function startYjsService (t, { apiUrl, env = {} }) {
  const directory = mkdtempSync(join(tmpdir(), 'inkcast-yjs-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let output = ''
  /** @type {import('node:child_process').ChildProcess} */
  let child
  /** @type {Promise<unknown>} */
  let exited

  async function start () {
    output = ''
    child = spawn(process.execPath, [COMMAND], {
      env: {
        PATH: process.env.PATH,
        YJS_PORT: String(port),
        YJS_DIRECTORY: directory,
        YJS_MERGE_INTERVAL: '100',
        YJS_KEEP_RECORDS: '0',
        INKCAST_API_URL: apiUrl,
        ...env
      }
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => { output = (output + chunk).slice(-20_000) })
    exited = new Promise((resolve) => child.once('exit', resolve))
    await waitFor(() => /documents at /.test(output), { timeout: 30_000, message: () => `the Yjs service: ${output}` })
  }

  /** @param {NodeJS.Signals} [signal] */
  async function stop (signal = 'SIGTERM') {
    child.kill(signal)
    await exited
  }

  t.after(async () => {
    await stop('SIGKILL')
    rmSync(directory, { recursive: true })
  })
  await start()
  return {
    start,
    stop,
    directory,
    output: () => output,
    url,
    /** @param {string} guid */
    load: (guid) => `${url}/documents/${guid}`,
    /** @param {string} guid @returns {Promise<string>} what the service has */
    async text (guid) {
      const response = await fetch(`${url}/documents/${guid}`)
      if (!response.ok) throw new Error(`the Yjs service answered ${response.status}: ${output}`)
      const doc = new Y.Doc()
      Y.applyUpdate(doc, new Uint8Array(await response.arrayBuffer()))
      return doc.getText('text').toString()
    }
  }
}
