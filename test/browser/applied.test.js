import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { test } from 'node:test'
import { noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { seededRandom } from '../helpers/random.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'
import { bundleClient } from '../../scripts/build-packages.js'

const RECORDS = 300
const DEATHS = 6

/** As docs/client.md shows it: the record's effect and its position are written in one transaction. */
const PAGE = `<!doctype html><title>page</title><script type="module">
import { connect } from '/client.js'
const db = await new Promise((resolve, reject) => {
  const request = indexedDB.open('notes', 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore('lines', { autoIncrement: true })
    request.result.createObjectStore('positions')
  }
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})
const read = (store, get) => new Promise((resolve) => {
  const request = get(db.transaction(store).objectStore(store))
  request.onsuccess = () => resolve(request.result)
})
function apply (text, { epoch, offset }) {
  const change = db.transaction(['lines', 'positions'], 'readwrite')
  if (text !== undefined) change.objectStore('lines').add(text)
  change.objectStore('positions').put({ epoch, offset }, 'minutes')
}
globalThis.lines = () => read('lines', (store) => store.getAll())
const position = await read('positions', (store) => store.get('minutes'))
const doc = await connect(new URLSearchParams(location.search).get('gateway')).open('minutes', { position })
doc.on('joined', ({ position: now, recovered }) => { if (!recovered) apply(undefined, now) })
doc.on('resync', () => { globalThis.resynced = true })
doc.on('message', (text, meta) => apply(text, meta))
globalThis.opened = true
</script>`

test('a page that stores positions in its own transaction applies each record once, whenever it dies', {
  skip: noBrowser, timeout: 120_000
}, async (t) => {
  const random = seededRandom(4711)
  const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*' })
  const client = await bundleClient()
  const server = http.createServer((req, res) => {
    const isClient = req.url === '/client.js'
    res.writeHead(200, { 'content-type': isClient ? 'text/javascript' : 'text/html' }).end(isClient ? client : PAGE)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('net').AddressInfo} */ (server.address())
  const context = await (await sharedBrowser()).newContext()
  t.after(() => context.close())
  const address = `http://127.0.0.1:${port}/?gateway=${encodeURIComponent(gateway.url)}`
  const start = async () => {
    const page = await context.newPage()
    await page.goto(address)
    await page.waitForFunction(() => 'opened' in globalThis)
    return page
  }

  let page = await start()
  const publisher = await openDocument(startClient(t, gateway.url), 'minutes')
  const expected = Array.from({ length: RECORDS }, (_, i) => `line ${i}`)
  const publishing = (async () => {
    for (const text of expected) {
      await publisher.send(text)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  for (let death = 0; death < DEATHS; death++) {
    await new Promise((resolve) => setTimeout(resolve, random() * 200))
    // without a chance to finish anything
    const session = await context.newCDPSession(page)
    const crashed = page.waitForEvent('crash')
    session.send('Page.crash').catch(() => {})
    await crashed
    await page.close()
    page = await start()
  }
  await publishing
  const lines = () => page.evaluate(() => /** @type {any} */ (globalThis).lines())
  await waitFor(async () => (await lines()).at(-1) === expected.at(-1), {
    timeout: 20_000, message: async () => (await lines()).at(-1)
  })
  assert.deepEqual(await lines(), expected)
  assert.equal(await page.evaluate(() => 'resynced' in globalThis), false)
})
