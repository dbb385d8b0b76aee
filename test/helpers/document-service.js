import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitFor } from './wait.js'

const COMMAND = fileURLToPath(new URL('../../examples/document-service/main.js', import.meta.url))

/**
 * The document service of the examples as a separate program, with its own documents and consumer group; stopped after
 * the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {object} settings
 * @param {number} settings.port of its HTTP server
 * @param {string} settings.apiUrl
 * @param {Record<string, string>} [settings.kafka] settings from `freshTopics`
 * @param {{ port: number, secret: string }} [settings.webhook] where it gets events, in place of Kafka
 */
export async function startDocumentService (t, { port, apiUrl, kafka, webhook }) {
  const directory = mkdtempSync(join(tmpdir(), 'inkcast-documents-'))
  const env = {
    PATH: process.env.PATH,
    ...(kafka && {
      KAFKA_BROKERS: kafka.KAFKA_BROKERS,
      DOCUMENTS_TOPIC: /,uplink:([^,]+)/.exec(kafka.KAFKA_TOPICS)?.[1],
      DOCUMENTS_GROUP_ID: `documents-${kafka.KAFKA_GROUP_ID}`
    }),
    ...(webhook && {
      DOCUMENTS_UPLINK: 'webhook',
      DOCUMENTS_WEBHOOK_PORT: String(webhook.port),
      UPLINK_SECRETS: webhook.secret
    }),
    DOCUMENTS_PORT: String(port),
    DOCUMENTS_DIRECTORY: directory,
    INKCAST_API_URL: apiUrl
  }
  let output = ''
  /** @type {import('node:child_process').ChildProcess} */
  let child
  /** @type {Promise<unknown>} */
  let exited

  async function start () {
    output = ''
    child = spawn(process.execPath, [COMMAND], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => { output = (output + chunk).slice(-20_000) })
    exited = new Promise((resolve) => child.once('exit', resolve))
    await waitFor(() => /reads /.test(output), { timeout: 30_000, message: () => `the document service: ${output}` })
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
  return { start, stop, output: () => output, url: `http://127.0.0.1:${port}` }
}
