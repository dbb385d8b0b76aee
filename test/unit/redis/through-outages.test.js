import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { throughOutages } from '../../../src/redis/through-outages.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @param {Error[]} errors of the first tries */
function begin (errors) {
  const [clock, { log, lines }, stopping] = [manualClock(), recordingLog(), new AbortController()]
  let tries = 0
  const done = throughOutages(async () => {
    if (tries < errors.length) throw errors[tries++]
    return 'started'
  }, { clock, log, random: /** @type {any} */ ({ number: () => 1 }), signal: stopping.signal })
  done.catch(() => {})
  return { clock, lines, stopping, done, tries: () => tries }
}

const lost = () => new Error('Connection is closed.')
const reply = (/** @type {string} */ message) => Object.assign(new Error(message), { name: 'ReplyError' })

test('a step is tried again while Redis is unavailable, and one line a minute says so', async () => {
  const { clock, lines, done } = begin([lost(), reply('LOADING Redis is loading'), ...Array.from({ length: 20 }, lost)])
  await clock.pass(59_000)
  assert.deepEqual(lines, [{ level: 'warn', text: '{"cause":"Connection is closed."} the start waits for redis' }])
  await clock.pass(60_000)
  assert.equal(lines.length, 2)
  assert.equal(await done, 'started')
})

test('a permission that is missing, a mistake and an error of our own fail the start', async () => {
  for (const error of [
    reply('NOPERM this user has no permissions to run the \'eval\' command'),
    new InkcastError('unavailable', undefined, { cause: reply('NOPERM no permissions to access a key') }),
    reply('ERR wrong number of arguments'),
    new InkcastError('unavailable', 'all 4096 worker numbers are taken')
  ]) {
    const { done, tries } = begin([error])
    await assert.rejects(done, error)
    assert.equal(tries(), 1)
  }
})

test('a process that stops does not wait', async () => {
  const { clock, done, stopping } = begin([lost(), lost(), lost()])
  await clock.pass(10)
  stopping.abort(new Error('stopped'))
  await assert.rejects(done, /stopped/)
})
