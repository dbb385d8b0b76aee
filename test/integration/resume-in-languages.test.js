import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startCluster } from '../helpers/cluster.js'
import { codeBlocks } from '../helpers/code-blocks.js'
import { startEmbedded } from '../helpers/embedded.js'
import { javaClasspath, lacksJavaSocketio } from '../helpers/java-socketio.js'
import { publishOnce } from '../helpers/post.js'
import { gatewayKiller } from '../helpers/processes.js'
import { pythonEnvironment } from '../helpers/python-environment.js'
import { startRelay } from '../helpers/relay.js'
import { waitFor } from '../helpers/wait.js'
import { spawnGuarded } from '../services/guard.js'
import { onPath } from '../services/install.js'

/** The programs of docs/phones.md and docs/websocket.md, over cuts of their connections and kills of workers. */

const aioPython = pythonEnvironment(['aiohttp==3.14.5', 'python-socketio==5.18.1'])
const GO = fileURLToPath(new URL('../../examples/devices/go/', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** @param {string} language @returns {string} the block of the page */
function block (language) {
  const found = codeBlocks().filter((one) => one.file === 'docs/phones.md' && one.language === language)
  assert.equal(found.length, 1, language)
  return found[0].code
}

/**
 * Each returns the command that runs the program, or why it cannot run here.
 * @type {Record<string, (url: string) => Promise<string[] | string>>}
 */
const PROGRAMS = {
  async python (url) {
    const lacks = await aioPython.lacks()
    if (lacks) return lacks
    const file = join(folder, 'resume.py')
    writeFileSync(file, [
      block('python').replace('http://localhost:3000', url), 'def show(payload):', '    print(payload, flush=True)', '',
      'def reload():', '    print("reload", flush=True)', '', 'asyncio.run(main())', ''
    ].join('\n'))
    return [aioPython.python, file]
  },
  async java (url) {
    const lacks = await lacksJavaSocketio()
    if (lacks) return lacks
    writeFileSync(join(folder, 'Resume.java'), block('java'))
    writeFileSync(join(folder, 'Main.java'), `class Main { public static void main(String[] none) { new Resume("${url}"); } }`)
    await promisify(execFile)('javac', ['-Xlint:all,-path', '-Werror', '-cp', javaClasspath, 'Resume.java', 'Main.java'], { cwd: folder })
    return ['java', '-cp', `${folder}:${javaClasspath}`, 'Main']
  }
}

test('the lines for Java and Python get every record once and in order, over cuts and kills', async (t) => {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const cluster = await startCluster(t, { WORKERS: '2' })
  const line = await startRelay(Number(cluster.port), (client, upstream) => {
    client.pipe(upstream).pipe(client)
    sockets.add(client)
    return () => { sockets.delete(client) }
  })
  t.after(() => line.stop())
  /** @type {{ language: string, shown: () => string[] }[]} */
  const programs = []
  for (const [language, make] of Object.entries(PROGRAMS)) {
    const command = await make(`http://127.0.0.1:${line.port}`)
    if (typeof command === 'string') {
      t.diagnostic(`${language} is not tested: ${command}`)
      continue
    }
    const log = join(folder, `${language}.log`)
    const run = spawnGuarded(command[0], command.slice(1), { log })
    t.after(() => run.stop(1000))
    programs.push({ language, shown: () => readFileSync(log, 'utf8').split('\n').filter((text) => text !== '') })
  }
  if (programs.length === 0) return t.skip('there is neither Java nor Python')

  let n = 0
  const publish = async () => {
    await publishOnce(cluster, 'minutes', n + 1, { 'idempotency-key': `minutes-${n + 1}` })
    n++
  }
  const message = () => ({ n, ...Object.fromEntries(programs.map(({ language, shown }) => [language, shown().join(' ')])) })
  const allShow = () =>
    waitFor(() => programs.every(({ shown }) => shown().at(-1) === String(n)), { timeout: 30_000, message })
  await waitFor(async () => {
    await publish()
    return programs.every(({ shown }) => shown().length > 0)
  }, { timeout: 30_000, message })
  await allShow()
  const workers = gatewayKiller(cluster.pid, 2)
  for (let round = 0; round < 4; round++) {
    await workers.allRun()
    // those that lose their worker, and those that only lose their connection
    if (round % 2 === 0) workers.kill(round / 2)
    else for (const socket of sockets) socket.destroy()
    for (let i = 0; i < 3; i++) await publish()
    await allShow()
  }
  for (const { language, shown } of programs) {
    const [first] = shown()
    const all = Array.from({ length: n - Number(first) + 1 }, (_, i) => String(Number(first) + i))
    assert.deepEqual(shown(), all, language)
  }
})

/**
 * Each returns the command that follows the document `board` over a plain WebSocket, or why it cannot run here.
 * @type {Record<string, (port: number) => Promise<string[] | string>>}
 */
const DEVICES = {
  async 'The Python of docs/websocket.md' (port) {
    const lacks = await aioPython.lacks()
    if (lacks) return lacks
    const [{ code }] = codeBlocks().filter(({ file, language }) => file === 'docs/websocket.md' && language === 'python')
    const file = join(folder, 'sensor.py')
    writeFileSync(file, `${code.replace('localhost:3000', `127.0.0.1:${port}`)}\n\nasyncio.run(main())\n`)
    return [aioPython.python, file]
  },
  async 'The Go of examples/devices' (port) {
    if (!onPath('go')) return 'there is no go'
    const program = join(folder, 'display')
    try {
      await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: GO, env: { ...process.env, GOTOOLCHAIN: 'local' } })
    } catch (error) {
      return `it cannot be built: ${/** @type {Error} */ (error).message.split('\n')[1]}`
    }
    return [program, `ws://127.0.0.1:${port}/websocket/handshake?id=display-1`, 'board']
  }
}

for (const [name, make] of Object.entries(DEVICES)) test(`${name} gets every record once and in order, over cuts`, async (t) => {
  const inkcast = await startEmbedded(t, { LISTENERS: 'ws:/websocket/handshake' })
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const line = await startRelay(Number(new URL(inkcast.url).port), (client, upstream) => {
    client.pipe(upstream).pipe(client)
    sockets.add(client)
    return () => { sockets.delete(client) }
  })
  t.after(() => line.stop())
  const command = await make(line.port)
  if (typeof command === 'string') return t.skip(command)
  const log = join(mkdtempSync(join(folder, 'run-')), 'log')
  const run = spawnGuarded(command[0], command.slice(1), { log })
  t.after(() => run.stop(1000))

  const shown = () => readFileSync(log, 'utf8').split('\n').filter((text) => /^\d+$/.test(text)).map(Number)
  let n = 0
  const publish = () => inkcast.post('/v1/documents/board/broadcast', ++n)
  await waitFor(async () => {
    await publish()
    return shown().length > 0
  }, { timeout: 30_000, message: () => readFileSync(log, 'utf8') })
  for (let round = 0; round < 2; round++) {
    for (const socket of sockets) socket.destroy()
    for (let i = 0; i < 3; i++) await publish()
    await waitFor(() => shown().at(-1) === n, { timeout: 30_000, message: () => readFileSync(log, 'utf8') })
  }
  const [first] = shown()
  assert.deepEqual(shown(), Array.from({ length: n - first + 1 }, (_, i) => first + i))
})
