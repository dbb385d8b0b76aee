import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { Ports } from '../../../src/gateway/ports.js'

/** Ports whose launcher and listening do only what a test says. */
async function scriptedPorts () {
  /** @type {string[]} */
  const calls = []
  /** @type {(message: any, handle?: any) => void} */
  let tell
  /** @type {() => void} */
  let listening = () => {}
  const ports = new Ports({
    launcher: {
      onMessage (listener) {
        tell = listener
        return () => {}
      },
      send: (message) => { calls.push(/** @type {any} */ (message).type) },
      exit: (/** @type {number} */ code) => { calls.push(`exit ${code}`) }
    },
    createPort: () => ({
      open: async () => {},
      pause: () => { calls.push('pause') },
      resume: () => new Promise((resolve) => {
        calls.push('resume')
        listening = () => resolve()
      }),
      leave: async () => {},
      connections: () => 0
    })
  })
  ports.add({ host: '127.0.0.1', port: 0 }, createServer())
  await ports.open()
  return {
    calls,
    say: (/** @type {string[]} */ ...types) => { for (const type of types) tell({ type }) },
    listens: async () => {
      listening()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

test('a worker that paused and resumes listens before it says so', async () => {
  const { calls, say, listens } = await scriptedPorts()
  say('pause', 'resume')
  assert.deepEqual(calls, ['pause', 'resume'])
  await listens()
  assert.deepEqual(calls, ['pause', 'resume', 'resumed'])
})

test('what the launcher says while a worker begins to listen is done afterwards, and never twice', async () => {
  const { calls, say, listens } = await scriptedPorts()
  say('pause', 'resume', 'pause', 'resume')
  await listens()
  assert.deepEqual(calls.splice(0), ['pause', 'resume', 'resumed'])
  say('pause', 'resume', 'pause')
  await listens()
  assert.deepEqual(calls.splice(0), ['pause', 'resume', 'pause'])
})
