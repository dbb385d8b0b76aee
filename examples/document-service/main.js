#!/usr/bin/env node
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createHttp } from './http.js'
import { createInkcast } from './inkcast.js'
import { createService } from './service.js'
import { createFileStore } from './stores.js'
import { createUplink } from './uplink.js'
import { createWebhook } from './webhook.js'

const {
  // kafka or webhook: how the messages of clients come
  DOCUMENTS_UPLINK = 'kafka',
  DOCUMENTS_WEBHOOK_PORT = '4001',
  UPLINK_SECRETS = '',
  KAFKA_BROKERS = 'localhost:9092',
  DOCUMENTS_TOPIC = 'documents.uplink',
  DOCUMENTS_GROUP_ID = 'document-service',
  DOCUMENTS_HOST = '127.0.0.1',
  DOCUMENTS_PORT = '4000',
  DOCUMENTS_DIRECTORY = fileURLToPath(new URL('data', import.meta.url)),
  INKCAST_API_URL = 'http://localhost:3001',
  INKCAST_API_TOKEN
} = process.env

const log = {
  info: (/** @type {string} */ message) => console.log(`documents: ${message}`),
  error: (/** @type {string} */ message) => console.error(`documents: ${message}`)
}
const stopping = new AbortController()
const inkcast = createInkcast({ url: INKCAST_API_URL, token: INKCAST_API_TOKEN, signal: stopping.signal, log })
const store = createFileStore({ directory: DOCUMENTS_DIRECTORY })
const service = createService({ store, publish: inkcast.publish, newKey: randomUUID })
const http = createHttp({
  host: DOCUMENTS_HOST,
  port: Number(DOCUMENTS_PORT),
  read: service.read,
  position: inkcast.position,
  log
})
const uplink = DOCUMENTS_UPLINK === 'webhook'
  ? createWebhook({
      host: DOCUMENTS_HOST,
      port: Number(DOCUMENTS_WEBHOOK_PORT),
      secret: UPLINK_SECRETS.split(',')[0],
      receive: service.receive,
      log
    })
  : createUplink({
      brokers: KAFKA_BROKERS.split(','),
      topic: DOCUMENTS_TOPIC,
      groupId: DOCUMENTS_GROUP_ID,
      receive: service.receive,
      log
    })

async function stop () {
  await http.stop()
  // aborts work in progress; it is delivered again
  stopping.abort(new Error('the service stops'))
  await uplink.stop()
}

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  process.once(signal, () => stop().then(() => process.exit(0), () => process.exit(1)))
}

await store.start()
const port = await http.start()
log.info(`documents at http://${DOCUMENTS_HOST}:${port}/documents/<guid>`)
await uplink.start()
log.info(DOCUMENTS_UPLINK === 'webhook'
  ? `reads what inkcast sends to http://${DOCUMENTS_HOST}:${DOCUMENTS_WEBHOOK_PORT}`
  : `reads ${DOCUMENTS_TOPIC}`)
