import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

const LOG = new URL('../../../src/base/common/log.js', import.meta.url).href
const CLOCK = new URL('../../../src/base/common/clock.js', import.meta.url).href
const LINES = 40_000

/** Sixty times as long: a busy machine may stop a process for seconds. */
const PATIENT = '(ms, run) => systemClock.timer(60 * ms, run)'

/**
 * Runs a module that logs with `log`.
 * @param {import('node:test').TestContext} t
 * @param {string} code
 * @param {string} [timer] of its clock
 */
function run (t, code, timer = 'systemClock.timer') {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `
    import { createLog } from '${LOG}'
    import { systemClock } from '${CLOCK}'
    const dropped = { full: 0, repeated: 0 }
    const clock = { ...systemClock, timer: ${timer} }
    const log = createLog({
      level: 'trace', pretty: process.argv[1] === 'pretty', role: 'test', clock,
      onDrop: (reason, lines) => { dropped[reason] += lines }
    })
    ${code}`], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  t.after(() => { child.kill('SIGKILL') })
  return child
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<string>} */
async function outputOf (child) {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => { text += chunk })
  await once(child, 'close')
  return text
}

/** @param {string} text @returns {number[]} the `number` of each line that has one */
function numbersOf (text) {
  return text.trim().split('\n').map((line) => JSON.parse(line).number).filter((number) => number !== undefined)
}

test('a pipe that nothing reads holds up no turn of the event loop; lines above 8 MB are dropped and counted', { timeout: 60_000 },
  async (t) => {
    const child = run(t, `
    for (let number = 0; number < ${LINES}; number++) log.debug({ number, text: 'x'.repeat(300) }, 'a line')
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.send({ dropped })
    process.once('message', () => process.disconnect())
  `)
    const [{ dropped }] = await once(child, 'message')
    assert.ok(dropped.full > 0 && dropped.full < LINES, `${dropped.full} dropped`)
    const text = outputOf(child)
    child.send('go on')
    assert.equal((await text).split('\n').length - 1, LINES - dropped.full, 'the others are written when it reads again')
  })

test('no line is lost, and their order is kept, at the end of a process, also when what reads them is slow', async (t) => {
  const child = run(t, `
    const { exitAfterLog } = await import('${LOG}')
    for (let number = 0; number < 3000; number++) log.debug({ number }, 'a line')
    await new Promise((resolve) => setTimeout(resolve, 5))
    for (let number = 3000; number < 3500; number++) log.debug({ number }, 'a line')
    process.send('ending', () => exitAfterLog(log, 0))`, PATIENT)
  await once(child, 'message')
  // a pipe takes less than these lines
  await delay(200)
  assert.deepEqual(numbersOf(await outputOf(child)), Array.from({ length: 3500 }, (_, number) => number))
})

test('no line is lost at the end of a process if what reads them takes long: the wait begins again with each read', async (t) => {
  const child = run(t, `
    const { writeSync } = await import('node:fs')
    const { exitAfterLog } = await import('${LOG}')
    for (let number = 0; number < 4000; number++) log.debug({ number, text: 'x'.repeat(400) }, 'a line')
    let started = 0
    let running = 0
    let most = 0
    // it never runs
    clock.timer = () => {
      started++
      most = Math.max(most, ++running)
      return { stop () { running-- } }
    }
    process.on('exit', () => writeSync(2, JSON.stringify({ started, running, most })))
    exitAfterLog(log, 0)`)
  const errors = once(/** @type {import('node:stream').Readable} */ (child.stderr), 'data')
  assert.deepEqual(numbersOf(await outputOf(child)), Array.from({ length: 4000 }, (_, number) => number))
  const { started, running, most } = JSON.parse(String((await errors)[0]))
  assert.ok(started > 10, `the wait began ${started} times`)
  assert.deepEqual([running, most], [0, 1])
})

test('a process ends although nothing reads its lines', { timeout: 60_000 }, async (t) => {
  const child = run(t, `
    const { exitAfterLog } = await import('${LOG}')
    for (let number = 0; number < 3000; number++) log.debug({ number }, 'a line')
    exitAfterLog(log, 3)`)
  const [code] = await once(child, 'exit')
  assert.equal(code, 3)
})

for (const end of ['process.exit(0)', 'log.fatal(\'end\'); process.kill(process.pid, \'SIGKILL\')']) {
  test(`lines of the last turn are written with ${end}`, async (t) => {
    // as on a machine where the thread that writes comes late
    const child = run(t, `
      const { pbkdf2 } = await import('node:crypto')
      for (let thread = 0; thread < 8; thread++) pbkdf2('password', 'salt', 200_000, 64, 'sha512', () => {})
      for (let number = 0; number < 500; number++) log.debug({ number }, 'a line')
      ${end}`)
    assert.deepEqual(numbersOf(await outputOf(child)), Array.from({ length: 500 }, (_, number) => number))
  })
}

test('a repeated line is limited, and counted', async (t) => {
  const child = run(t, `
    for (let number = 0; number < 1000; number++) log.warn({ number }, 'again')
    console.error(dropped.repeated)
    process.exit()`)
  const errors = once(/** @type {import('node:stream').Readable} */ (child.stderr), 'data')
  assert.equal((await outputOf(child)).trim().split('\n').length, 20)
  assert.equal(String((await errors)[0]), '980\n')
})

test('under PM2, which replaces the write of stdout, the lines of a turn go there together, within the same bound', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `
    const written = []
    const callbacks = []
    process.stdout.write = (text, encoding, callback) => { written.push(text); callbacks.push(callback) }
    const { createLog } = await import('${LOG}')
    const { systemClock } = await import('${CLOCK}')
    const clock = { ...systemClock, timer: ${PATIENT} }
    let dropped = 0
    const log = createLog({
      level: 'debug', pretty: false, role: 'test', clock, onDrop: (reason, lines) => { dropped += lines }
    })
    const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    for (let number = 0; number < 3; number++) log.debug({ number }, 'a line')
    await turn()
    for (let number = 0; number < 100; number++) { log.debug('x'.repeat(100_000)); await turn() }
    const full = dropped
    for (const callback of callbacks.splice(0)) callback()
    log.debug('again')
    await turn()
    process.send({ first: written[0].split('\\n').length - 1, full, dropped, last: JSON.parse(written.at(-1)).msg })
    process.disconnect()
  `], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  t.after(() => { child.kill('SIGKILL') })
  const [{ first, full, dropped, last }] = await once(child, 'message')
  assert.equal(first, 3)
  assert.ok(full > 10 && full < 25, `${full} dropped`)
  assert.equal(dropped, full)
  assert.equal(last, 'again')
})
