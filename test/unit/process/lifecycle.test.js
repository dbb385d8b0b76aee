import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLifecycle } from '../../../src/base/process/lifecycle.js'
import { recordingLog } from '../../helpers/recording-log.js'

function created () {
  const { log, lines } = recordingLog()
  /** @type {string[]} */
  const events = []
  const part = (/** @type {string} */ name) => ({
    async start () { events.push(`start ${name}`) },
    async stop () { await new Promise(setImmediate); events.push(`stop ${name}`) }
  })
  return { lifecycle: createLifecycle({ log }), lines, events, part }
}

test('parts are stopped in reverse order, one after the other', async () => {
  const { lifecycle, events, part } = created()
  await lifecycle.start('a', part('a'))
  lifecycle.onStop('b', part('b').stop)
  await lifecycle.start('c', part('c'))
  await lifecycle.stop()
  assert.deepEqual(events, ['start a', 'start c', 'stop c', 'stop b', 'stop a'])
})

test('start returns the part, and parts need neither start nor stop', async () => {
  const { lifecycle } = created()
  const nothing = { value: 7 }
  assert.equal(await lifecycle.start('nothing', nothing), nothing)
  await lifecycle.stop()
})

test('a part that fails to stop is logged, and others are still stopped', async () => {
  const { lifecycle, events, lines, part } = created()
  await lifecycle.start('a', part('a'))
  await lifecycle.start('b', { stop: () => { throw new Error('stuck') } })
  await lifecycle.start('c', { stop: () => Promise.reject(new Error('stuck as well')) })
  await lifecycle.stop()
  assert.deepEqual(events, ['start a', 'stop a'])
  assert.deepEqual(lines.map(({ level }) => level), ['error', 'error'])
  assert.match(lines[1].text, /stuck.*"part":"b"/s)
})

test('a part whose start fails is stopped as well, because it may own resources', async () => {
  const { lifecycle, events, part } = created()
  await lifecycle.start('a', part('a'))
  await assert.rejects(
    lifecycle.start('b', { ...part('b'), start: () => Promise.reject(new Error('port taken')) }),
    /port taken/
  )
  await lifecycle.stop()
  assert.deepEqual(events, ['start a', 'stop b', 'stop a'])
})

test('everything is stopped once, and further calls wait for it', async () => {
  const { lifecycle, events, part } = created()
  await lifecycle.start('a', part('a'))
  lifecycle.stop()
  await lifecycle.stop()
  assert.deepEqual(events, ['start a', 'stop a'])
  await lifecycle.stop()
  assert.deepEqual(events, ['start a', 'stop a'])
})
