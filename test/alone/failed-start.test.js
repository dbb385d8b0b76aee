import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'
import { redisUrl } from '../helpers/env.js'
import { noSlotSockets } from '../helpers/slot-sockets.js'
import { freePorts } from '../services/ports.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Runs the launcher to its end.
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} env
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function runLauncher (t, env) {
  const child = spawn(process.execPath, ['cluster.js'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(() => { child.kill('SIGKILL') })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk })
  // 'close' comes when the last process that shares the output has ended: then nothing is left
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

describe('a failed start logs the reason in one line, exits with code 1, and leaves nothing', () => {
  /**
   * @param {import('node:test').TestContext} t
   * @param {Record<string, string>} env
   * @param {RegExp} reason
   */
  async function fails (t, env, reason) {
    const temporary = mkdtempSync(path.join(tmpdir(), 'inkcast-test-'))
    t.after(() => rmSync(temporary, { recursive: true, force: true }))
    const [port, apiPort, adminPort] = await freePorts(3)
    const { code, output } = await runLauncher(t, {
      WORKERS: '1',
      REDIS_URL: redisUrl(),
      TMPDIR: temporary,
      PORT: String(port),
      API_PORT: String(apiPort),
      ADMIN_PORT: String(adminPort),
      ...env
    })
    assert.equal(code, 1, output)
    // Redis may pause for longer than its answer is awaited
    const lines = output.split('\n').filter((line) => line !== '' && !/^Redis cannot be used.*trying again/.test(line))
    assert.equal(lines.length, 1, output)
    assert.match(lines[0], reason)
    assert.deepEqual(readdirSync(temporary), [])
  }

  for (const [name, role] of [['PORT', 'gateway-\\d'], ['ADMIN_PORT', '']]) {
    test(`${name} is taken`, { timeout: 90_000 }, async (t) => {
      const server = createServer()
      // the port is taken even if the other process allows sharing it
      server.listen({ port: 0, host: '127.0.0.1', reusePort: noSlotSockets === false })
      await once(server, 'listening')
      t.after(() => server.close())
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      await fails(
        t,
        { [name]: String(port) },
        new RegExp(
          `^inkcast: ${role && `${role}: `}port ${port} is in use: stop what uses it, or set PORT, API_PORT or ADMIN_PORT`
        )
      )
    })
  }

  test('a wrong Redis password', { timeout: 90_000 }, async (t) => {
    await fails(
      t,
      { REDIS_URL: redisUrl().replace('redis://', 'redis://nobody:wrong@') },
      /^inkcast: [a-z]+-\d: redis: .*(password|user)/i
    )
  })

  test('TMPDIR is too long for a unix socket', { timeout: 90_000 }, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), `inkcast-${'long-'.repeat(16)}`))
    t.after(() => rmSync(folder, { recursive: true }))
    await fails(t, { TMPDIR: folder }, /too long for a unix socket: choose a shorter TMPDIR/)
    assert.deepEqual(readdirSync(folder), [])
  })
})
