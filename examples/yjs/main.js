#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { createDocuments } from './documents.js'
import { createHttp } from './http.js'
import { createInkcast } from './inkcast.js'
import { createRelay } from './relay.js'
import { createStore } from './store.js'

const {
  YJS_HOST = '127.0.0.1',
  YJS_PORT = '4100',
  YJS_DIRECTORY = fileURLToPath(new URL('data', import.meta.url)),
  YJS_MERGE_INTERVAL = '1000',
  YJS_KEEP_RECORDS = '100',
  YJS_GROUP_ID = 'yjs-service',
  INKCAST_API_URL = 'http://localhost:3001',
  INKCAST_API_TOKEN,
  KAFKA_BROKERS,
  YJS_TOPIC = 'documents.uplink'
} = process.env

const log = {
  info: (/** @type {string} */ message) => console.log(`yjs: ${message}`),
  error: (/** @type {string} */ message) => console.error(`yjs: ${message}`)
}
const stopping = new AbortController()
const { signal } = stopping
const inkcast = createInkcast({ url: INKCAST_API_URL, token: INKCAST_API_TOKEN, signal })
const store = createStore({ directory: YJS_DIRECTORY })
const documents = createDocuments(
  { store, inkcast, log },
  { interval: Number(YJS_MERGE_INTERVAL), keep: Number(YJS_KEEP_RECORDS) }
)
const http = createHttp({
  host: YJS_HOST,
  port: Number(YJS_PORT),
  page: fileURLToPath(new URL('page', import.meta.url)),
  documents,
  log
})
const relay = KAFKA_BROKERS === undefined ? null : createRelay({
  brokers: KAFKA_BROKERS.split(','),
  topic: YJS_TOPIC,
  groupId: YJS_GROUP_ID,
  publish: inkcast.publish,
  onRecord: documents.touch,
  signal,
  log
})

async function stop () {
  await http.stop()
  // ends work in progress: the log, and Kafka, still have it
  stopping.abort(new Error('the service stops'))
  await Promise.all([documents.stop(), relay?.stop()])
}

for (const name of /** @type {const} */ (['SIGTERM', 'SIGINT']))
  process.once(name, () => stop().then(() => process.exit(0), () => process.exit(1)))

await documents.start()
await relay?.start()
const port = await http.start()
log.info(`documents at http://${YJS_HOST}:${port}/documents/<guid>, page at http://${YJS_HOST}:${port}`)
