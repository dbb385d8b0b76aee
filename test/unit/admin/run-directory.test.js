import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { leaveRunDirectory, makeRunDirectory, openRunDirectory } from '../../../src/operate/admin/run-directory.js'
import { TICKET_FILE } from '../../../src/config/tls/ticket-keys.js'

/** Listens, prints a line, and waits to be killed, so that its socket remains. */
const LISTENER = 'require("node:net").createServer().listen(process.argv[1], () => console.log("there"))'

test('leftovers of killed inkcasts are removed at the next start, other files are not', async (t) => {
  const parent = mkdtempSync(path.join(tmpdir(), 'inkcast-run-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const listener = spawn(process.execPath, ['-e', LISTENER, path.join(parent, 'killed.sock')], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(() => { listener.kill('SIGKILL') })
  await once(listener.stdout, 'data')
  listener.kill('SIGKILL')
  await once(listener, 'exit')
  const gone = listener.pid

  const make = (/** @type {string} */ name) => {
    mkdirSync(path.join(parent, name))
    return path.join(parent, name)
  }
  const abandoned = make(`inkcast-${gone}-aaaaaa`)
  renameSync(path.join(parent, 'killed.sock'), path.join(abandoned, 'gateway-0.1.sock'))
  make(`inkcast-${gone}-bbbbbb`)
  const inUse = make(`inkcast-${gone}-cccccc`)
  const server = net.createServer().listen(path.join(inUse, 'gateway-0.1.sock'))
  t.after(() => server.close())
  await once(server, 'listening')
  make(`inkcast-${process.pid}-dddddd`)
  make(`inkcast-redis-${gone}`)
  writeFileSync(path.join(make(`inkcast-${gone}-eeeeee`), 'no-socket'), '')

  const made = path.basename(await makeRunDirectory(parent))
  assert.match(made, new RegExp(`^inkcast-${process.pid}-`))
  assert.deepEqual(
    readdirSync(parent).sort(),
    [made, `inkcast-${gone}-cccccc`, `inkcast-${process.pid}-dddddd`, `inkcast-redis-${gone}`].sort()
  )
})

test('leftovers of another user stay, also when root starts', async (t) => {
  const parent = mkdtempSync(path.join(tmpdir(), 'inkcast-run-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const ended = spawn(process.execPath, ['-e', ''])
  await once(ended, 'exit')
  mkdirSync(path.join(parent, `inkcast-${ended.pid}-aaaaaa`))
  symlinkSync(parent, path.join(parent, `inkcast-${ended.pid}-bbbbbb`))
  const uid = process.getuid?.() ?? 0
  t.mock.method(/** @type {any} */ (process), 'getuid', () => uid + 1)
  const first = path.basename(await makeRunDirectory(parent))
  assert.deepEqual(
    readdirSync(parent).sort(),
    [first, `inkcast-${ended.pid}-aaaaaa`, `inkcast-${ended.pid}-bbbbbb`].sort()
  )
  t.mock.restoreAll()
  const second = path.basename(await makeRunDirectory(parent))
  assert.deepEqual(
    readdirSync(parent).sort(),
    [first, second, `inkcast-${ended.pid}-bbbbbb`].sort(),
    'a link is not a run directory'
  )
})

test('the last process removes the directory with the secret of session tickets, others leave it', async (t) => {
  const parent = mkdtempSync(path.join(tmpdir(), 'inkcast-run-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const directory = path.join(parent, 'run')
  await openRunDirectory(directory)
  const files = [TICKET_FILE, `gateway-0.${process.pid}.sock`]
  for (const file of files) writeFileSync(path.join(directory, file), '')
  await leaveRunDirectory(directory)
  assert.deepEqual(readdirSync(directory).sort(), files.sort())
  rmSync(path.join(directory, `gateway-0.${process.pid}.sock`))
  await leaveRunDirectory(directory)
  assert.deepEqual(readdirSync(parent), [])
})
