import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { spawnGuarded } from '../../services/guard.js'
import { identify, isAlive } from '../../services/process-identity.js'
import { waitUntil } from '../../services/wait.js'

const GUARD = new URL('../../services/guard.js', import.meta.url).href

/**
 * A process that starts a guarded one, which forks another, and then runs the code in `then`.
 * @param {import('node:test').TestContext} t
 * @param {string} then
 */
async function startParent (t, then) {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const script = `
    import { spawnGuarded } from '${GUARD}'
    const child = spawnGuarded('sh', ['-c', 'sleep 600 & echo $! >forked; wait'], {
      directory: '${directory}', cwd: '${directory}', log: '${directory}/log'
    })
    console.log(child.pid)
    ${then}`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  const exited = once(parent, 'exit')
  const [line] = await once(createInterface({ input: parent.stdout }), 'line')
  const child = identify(Number(line))
  assert.ok(child, 'the child runs')
  const forked = await waitUntil('the forked process', () => {
    const identity = identify(Number(readFileSync(join(directory, 'forked'), 'utf8')))
    assert.ok(identity)
    return identity
  })
  t.after(() => {
    if (isAlive(child)) process.kill(-child.pid, 'SIGKILL')
  })
  return { parent, exited, child, forked, directory }
}

/**
 * @param {{ child: import('../../services/process-identity.js').ProcessIdentity, forked:
 *   import('../../services/process-identity.js').ProcessIdentity, directory: string }} family
 */
const goneWithAll = ({ child, forked, directory }) => waitUntil('the end of everything', () => {
  assert.equal(isAlive(child), false, 'the child has ended')
  assert.equal(isAlive(forked), false, 'its child has ended')
  assert.equal(existsSync(directory), false, 'its directory is removed')
}, { timeoutMs: 30_000 })

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGKILL', 'SIGINT', 'SIGTERM'])) {
  test(`a guarded process ends with a parent that gets ${signal}`, async (t) => {
    const family = await startParent(t, 'setInterval(() => {}, 1000)')
    family.parent.kill(signal)
    await family.exited
    await goneWithAll(family)
  })
}

test('a guarded process does not keep its parent running, and does not survive it', async (t) => {
  const family = await startParent(t, 'process.stdin.resume()')
  family.parent.stdin.end()
  assert.deepEqual(await family.exited, [0, null])
  await goneWithAll(family)
})

test('a released process outlives its parent and keeps its directory', async (t) => {
  const { parent, exited, child, directory } = await startParent(t, 'await child.release(); process.stdin.resume()')
  parent.stdin.end()
  await exited
  // without an event to wait for: a remaining watcher would act within milliseconds
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(isAlive(child), true)
  assert.equal(existsSync(directory), true)
})

test('stop ends the process and its children', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const child = spawnGuarded('sh', ['-c', 'sleep 600 & echo $! >forked; wait'], {
    cwd: directory,
    log: join(directory, 'log')
  })
  const forked = await waitUntil(
    'the forked process',
    () => identify(Number(readFileSync(join(directory, 'forked'), 'utf8'))) ?? assert.fail('not yet')
  )
  await child.stop()
  assert.equal(child.running(), false)
  await waitUntil('the end of the forked process', () => assert.equal(isAlive(forked), false))
  await child.stop() // a second call does nothing
})

test('stop kills a process that ignores SIGTERM after the grace period', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const child = spawnGuarded('sh', ['-c', 'trap "" TERM; echo deaf; while :; do sleep 1; done'], {
    log: join(directory, 'log')
  })
  await waitUntil('the trap', () => assert.equal(child.lastOutput(), 'deaf'))
  await child.stop(100)
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' })
})

test('stop ends a suspended process without waiting for the grace period', async () => {
  const child = spawnGuarded('sleep', ['600'], { log: '/dev/null' })
  await child.kill('SIGSTOP')
  assert.equal(child.running(), true)
  await child.stop(60_000)
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGTERM' })
})

test('exit code, signal and output are the command\'s own', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const log = join(directory, 'log')
  const child = spawnGuarded('sh', ['-c', 'echo "said $1" >&2; exit 7', 'sh', 'two words'], { log })
  assert.deepEqual(await child.finished(), { code: 7, signal: null })
  assert.equal(child.lastOutput(), 'said two words')
})

test('a command that does not exist ends with 127', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const child = spawnGuarded('no-such-command', [], { log: join(directory, 'log') })
  assert.equal((await child.finished()).code, 127)
  assert.match(child.lastOutput(), /no-such-command.*not found/)
})

test('the cleanup command runs after the parent has ended', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  const witness = join(directory, 'witness')
  const script = `
    import { spawnGuarded } from '${GUARD}'
    spawnGuarded('sleep', ['600'], { cleanup: 'touch ${witness}', log: '/dev/null' })
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 300)`
  await once(spawn(process.execPath, ['--input-type=module', '-e', script]), 'exit')
  await waitUntil('the witness', () => assert.ok(existsSync(witness)), { timeoutMs: 30_000 })
})

test('waiting for a process that ends fails at once, with the end of its log', async (t) => {
  const directory = makeDirectory('guard-test')
  t.after(() => removeDirectory(directory))
  writeFileSync(join(directory, 'log'), '')
  const child = spawnGuarded('sh', ['-c', 'echo bad option; exit 3'], { log: join(directory, 'log') })
  await assert.rejects(
    waitUntil('the port', () => assert.fail('closed'), { processes: [child] }),
    /the port: the process ended \(exit code 3\)\nbad option/
  )
})

test('a timeout fails with the last reason', async () => {
  let tries = 0
  await assert.rejects(
    waitUntil(
      'the port',
      () => {
        throw new Error(`try ${++tries}`)
      },
      { timeoutMs: 50, everyMs: 5 }
    ),
    (/** @type {Error} */ error) =>
      error.message.startsWith(`the port: not ready after 50 ms: try ${tries}`) && tries > 1
  )
})
