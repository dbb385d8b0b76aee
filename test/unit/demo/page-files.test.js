import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../../src/base/common/clock.js'
import { createBundles, loadEsbuild } from '../../../packages/demo/bundles.js'
import { createPageFiles } from '../../../packages/demo/page-files.js'
import { phoneUrls } from '../../../src/base/process/phone-urls.js'
import * as inkcast from '../../../src/operate/roles/demo-parts.js'
import { createLog } from '../../../src/base/common/log.js'
import { listen } from '../../../src/base/process/listen.js'

const PAGE = fileURLToPath(new URL('../../../packages/demo/page/', import.meta.url))
const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })

/**
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof createPageFiles>[1]['loadBundler']} [loadBundler]
 */
async function serve (t, loadBundler) {
  const files = createPageFiles(inkcast, { log, ...(loadBundler && { loadBundler }) })
  const server = createServer((req, res) => void files(req, res, { apiUrl: '</script>' }, () => res.writeHead(404).end()))
  t.after(() => server.close())
  await listen(server, { host: '127.0.0.1', port: 0 })
  const { port } = /** @type {import('net').AddressInfo} */ (server.address())
  return (/** @type {string} */ path, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
}

test('the page has its settings, which cannot end their element', async (t) => {
  const get = await serve(t)
  const html = await (await get('/?document=x')).text()
  const [, json] = /<script id="settings" type="application\/json">(.*?)<\/script>/.exec(html) ?? assert.fail(html)
  assert.deepEqual(JSON.parse(json), { apiUrl: '</script>' })
})

test('scripts and styles are bundled, compressed, and not sent again', async (t) => {
  const get = await serve(t)
  const types = {
    '/js/main.js': 'text/javascript', '/css/page.css': 'text/css', '/js/guest-worker.js': 'text/javascript'
  }
  for (const [path, type] of Object.entries(types)) {
    const answer = await get(path, { 'accept-encoding': 'br, gzip' })
    assert.deepEqual([answer.headers.get('content-type'), answer.headers.get('content-encoding')], [type, 'br'], path)
    assert.doesNotMatch(await answer.text(), /\bfrom ?"\.\/|@import/)
    const zipped = await get(path, { 'accept-encoding': 'gzip' })
    assert.equal(zipped.headers.get('content-encoding'), 'gzip')
    await zipped.text()
    const etag = answer.headers.get('etag') ?? ''
    assert.equal((await get(path, { 'if-none-match': etag })).status, 304)
  }
})

test('without esbuild the modules are served as they are', async (t) => {
  const get = await serve(t, async () => null)
  assert.match(await (await get('/js/main.js')).text(), /from '\.\/view\.js'/)
  assert.match(await (await get('/css/page.css')).text(), /@import/)
  assert.equal((await get('/js/view.js')).status, 200)
  assert.equal((await get('/js/nothing.js')).status, 404)
})

test('a changed module is bundled again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-page-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'css'))
  cpSync(join(PAGE, 'js'), join(folder, 'js'), { recursive: true })
  const bundles = createBundles({
    folder, client: fileURLToPath(new URL('../../../client/', import.meta.url)), esbuild: await loadEsbuild()
  })
  const first = await bundles.read('/js/main.js')
  assert.equal(await bundles.read('/js/main.js'), first)
  writeFileSync(join(folder, 'js/terminal.js'), 'export const createTerminal = () => "changed"')
  utimesSync(join(folder, 'js/terminal.js'), 1, 1)
  assert.match(String((await bundles.read('/js/main.js'))?.bytes), /changed/)
  writeFileSync(join(folder, 'js/terminal.js'), 'export const = error')
  await assert.rejects(async () => bundles.read('/js/main.js'), /terminal\.js/)
  for (const name of ['/js/nothing-worker.js', '/css/page.css', '/js/../js/main.js', '/js/view.js'])
    assert.equal(await bundles.read(name), null, name)
})

test('the page has the addresses for phones, if the gateway listens in the network', () => {
  const interfaces = () => /** @type {any} */ ({
    lo: [{ family: 'IPv4', internal: true, address: '127.0.0.1' }],
    wlan0: [
      { family: 'IPv6', internal: false, address: 'fe80::1' },
      { family: 'IPv4', internal: false, address: '192.168.1.5' }
    ]
  })
  const at = (/** @type {string} */ host) => phoneUrls({ host, scheme: 'http', port: 3000 }, interfaces)
  assert.deepEqual(at('127.0.0.1'), [])
  assert.deepEqual(at('localhost'), [])
  assert.deepEqual(at('0.0.0.0'), ['http://192.168.1.5:3000'])
  assert.deepEqual(at('::'), ['http://192.168.1.5:3000'])
  assert.deepEqual(at('10.0.0.7'), ['http://10.0.0.7:3000'])
})
