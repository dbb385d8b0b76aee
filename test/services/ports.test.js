import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { freePort } from './ports.js'

const PORTS = new URL('./ports.js', import.meta.url).href

/**
 * @param {import('node:test').TestContext} t
 * @param {number[]} drawn numbers that another process draws, in this order
 */
async function drawElsewhere (t, drawn) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `
    import crypto from 'node:crypto'
    import { syncBuiltinESMExports } from 'node:module'
    const drawn = ${JSON.stringify(drawn)}
    crypto.randomInt = () => drawn.shift()
    syncBuiltinESMExports()
    const { freePort } = await import('${PORTS}')
    process.send(await freePort())
    setInterval(() => {}, 1000)`
  ], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  t.after(() => { child.kill('SIGKILL') })
  return { port: (await once(child, 'message'))[0], child }
}

test('a free port belongs to one process until that process ends, in whatever way', async (t) => {
  const mine = await freePort()
  // above the range of the others
  const other = randomInt(32_000, 32_700)
  const third = other + 1
  const { port, child } = await drawElsewhere(t, [mine, other])
  assert.equal(port, other)
  assert.equal((await drawElsewhere(t, [mine, other, third])).port, third)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal((await drawElsewhere(t, [mine, other])).port, other)
})
