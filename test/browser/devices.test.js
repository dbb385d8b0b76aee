import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import sirv from 'sirv'
import { newTab, noBrowser } from '../helpers/browser.js'
import { startEmbedded } from '../helpers/embedded.js'
import { pythonEnvironment } from '../helpers/python-environment.js'
import { sharedBrowser } from '../helpers/shared-browser.js'
import { waitFor } from '../helpers/wait.js'
import { spawnGuarded } from '../services/guard.js'

const EXAMPLE = fileURLToPath(new URL('../../examples/devices/', import.meta.url))
const MQTT = 'mqtt://127.0.0.1:0'
const paho = pythonEnvironment(['paho-mqtt==2.1.0'])

test('the board shows what sensors in Python publish over MQTT', { skip: noBrowser }, async (t) => {
  const lacks = await paho.lacks()
  if (lacks) return t.skip(lacks)
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await build({
    entryPoints: [join(EXAMPLE, 'board.js')], bundle: true, format: 'esm', outdir: join(folder, 'dist'), logLevel: 'silent'
  })
  const [page, bundles] = [sirv(EXAMPLE), sirv(folder)]
  const server = http.createServer((req, res) =>
    String(req.url).startsWith('/dist/') ? bundles(req, res) : page(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const gateway = await startEmbedded(t, { ALLOWED_ORIGINS: '*', LISTENERS: MQTT })
  const tab = await newTab(t, await sharedBrowser())
  const { port } = /** @type {import('net').AddressInfo} */ (server.address())
  await tab.goto(`http://127.0.0.1:${port}/board.html?gateway=${encodeURIComponent(gateway.url)}`)

  const sensors = ['sensor-1', 'sensor-2'].map((name) => {
    const run = spawnGuarded(
      paho.python, [join(EXAMPLE, 'sensor.py'), name, '127.0.0.1', String(gateway.gateway.port(MQTT))],
      { log: join(folder, `${name}.log`) })
    t.after(() => run.stop(1000))
    return run
  })
  const rows = async () => (await tab.locator('tbody tr').allTextContents()).sort()
  const message = () => sensors.map((run) => run.lastOutput()).join()
  await waitFor(async () => (await rows()).length === 2, { timeout: 30_000, message })
  for (const [i, row] of (await rows()).entries()) assert.match(row, new RegExp(`^sensor-${i + 1}(?:1[89]|2[0-4])\\.\\d\\d+:`))
  const before = (await rows()).join()
  await waitFor(async () => (await rows()).join() !== before, { timeout: 30_000, message })
})
