#!/usr/bin/env node
/**
 * Takes the pictures of docs/status.md: a cluster of two workers with Redis and Kafka, under some load and reloads.
 *
 *   node scripts/status-pictures.js [minutes of load, default 12]
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../test/helpers/browser.js'
import { createClient } from '../test/helpers/clients.js'
import { startCluster } from '../test/helpers/cluster.js'
import { openStatus, PHONE } from '../test/helpers/status-page.js'
import { startKafka } from '../test/services/kafka.js'
import { startRedis } from '../test/services/redis.js'

const OUTPUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
const minutes = Number(process.argv[2] ?? 12)
/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

/** The name of this machine is nobody's business. @param {import('playwright-core').Page} page */
const rename = (page) => page.evaluate('{ const title = document.getElementById("title"); title.textContent = title.textContent.replace(/^\\S+/, "machine-1") }')

try {
  const [redis, kafka] = await Promise.all([startRedis(), startKafka()])
  t.after(() => Promise.all([redis.stop(), kafka.stop()]))
  const inkcast = await startCluster(t, {
    REDIS_URL: redis.url, KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PARTITIONS: '4', WORKERS: '2'
  })
  load(inkcast)
  const browser = await startBrowser(t)
  // an open page has samples every 5 s
  const { page } = await openStatus(t, browser, inkcast.adminUrl, { mayComplain: /./ })
  for (let minute = 0; minute < minutes; minute++) {
    await delay(60_000)
    // its clients resume
    if (minute % 5 === 3) process.kill(inkcast.pid, 'SIGHUP')
  }
  mkdirSync(OUTPUT, { recursive: true })
  await rename(page)
  await page.screenshot({ path: `${OUTPUT}status-light.png`, fullPage: true })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.screenshot({ path: `${OUTPUT}status-dark.png` })
  await page.emulateMedia({ colorScheme: 'light' })
  await inspect(page, inkcast)
  const phone = await openStatus(t, browser, inkcast.adminUrl, { context: { ...PHONE, deviceScaleFactor: 1 } })
  await rename(phone.page)
  await phone.page.screenshot({ path: `${OUTPUT}status-phone.png` })
} finally {
  for (const stop of stops) await stop()
}

/** @param {import('playwright-core').Page} page @param {Awaited<ReturnType<typeof startCluster>>} inkcast */
async function inspect (page, inkcast) {
  await page.click('#to-inspector')
  await page.fill('#watch-id', 'sheet-1')
  await page.click('#watch-start')
  await delay(1000)
  const client = createClient(t, inkcast.url, { auth: { client: 'tab-1' } })
  client.on('cell', (_, __, acknowledge) => acknowledge?.())
  await client.next('connect')
  await client.ask('doc:join', { guid: 'sheet-1' })
  await inkcast.post('/v1/documents/sheet-1/broadcast', 1, { 'x-event': 'cell', 'x-receipt': 'true' })
  await fetch(`${inkcast.apiUrl}/v1/sockets/${client.id}`, { method: 'DELETE' })
  await delay(4000)
  await page.click('#watch-stop')
  await page.click('#records thead th:nth-child(9) button')
  await page.click('#records tbody tr:first-child button')
  await page.evaluate(`{
    for (const row of [...document.querySelectorAll('#records tbody tr')].slice(8)) row.remove()
    for (const row of [...document.querySelectorAll('#happenings tbody tr')].slice(8)) row.remove()
    for (const mention of document.querySelectorAll('#hops .hint, #happenings td:last-child'))
      mention.textContent = mention.textContent.replace(/\\S+ ((gateway|ingest|api)-\\d)/, 'machine-1 $1')
    scrollTo(0, 0)
  }`)
  await rename(page)
  await page.screenshot({ path: `${OUTPUT}inspector-light.png`, fullPage: true })
}

/** @param {Awaited<ReturnType<typeof startCluster>>} inkcast */
function load (inkcast) {
  for (let i = 0; i < 200; i++) {
    const client = createClient(t, inkcast.url, { reconnection: true })
    const guid = `sheet-${i % 10}`
    /** @type {{ epoch: string, offset: number } | undefined} */
    let position
    client.on('connect', async () => {
      const answer = await client.ask('doc:join', { guid, ...(position && { position }) }).catch(() => undefined)
      position = answer?.position ?? position
    })
    client.on('cell', (_, { offset }) => { if (position !== undefined) position.offset = offset })
  }
  let sent = 0
  const publishing = setInterval(() => {
    sent++
    // more and less, as people do
    if (Math.sin(sent / 900) + 1 < Math.random() * 1.6) return
    const guid = `sheet-${sent % 10}`
    inkcast.post(`/v1/documents/${guid}/broadcast`, { cell: 'A1', value: sent }, { 'x-event': 'cell' }).catch(() => {})
  }, 40)
  t.after(() => clearInterval(publishing))
}
