import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { InkcastError } from '../../../src/base/common/errors.js'
import { createErrorSerializer } from '../../../src/base/common/log-error.js'
import { freePort } from '../../services/ports.js'

const describeError = createErrorSerializer(() => false)
/** @param {unknown} error */
const isExpected = (error) => !('stack' in Object(describeError(error)))

/** @returns {Promise<Error>} of a connection to a port that nothing listens on */
const refused = () => once(connect(1, '127.0.0.1'), 'connect').then(() => assert.fail('it listens'), (error) => error)

test('an error of the network or a file is a sentence, without a stack', async () => {
  assert.deepEqual(describeError(await refused()), {
    type: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1', code: 'ECONNREFUSED'
  })
  assert.throws(() => readFileSync('/nope'), (error) => isExpected(error))
  const error = await fetch(`http://127.0.0.1:${await freePort()}`).catch((error) => error)
  assert.equal(isExpected(error), true)
  assert.match(/** @type {any} */ (describeError(error)).message, /^fetch failed: /)
})

test('a command without a connection to Redis is a sentence, without a stack', async (t) => {
  const redis = new Redis({
    port: await freePort(), lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null
  })
  t.after(() => redis.disconnect())
  redis.on('error', () => {})
  await redis.connect().catch(() => {})
  const cluster = new Cluster([{ port: await freePort() }], {
    lazyConnect: true, enableOfflineQueue: false, clusterRetryStrategy: () => null
  })
  cluster.on('error', () => {})
  const connecting = cluster.connect()
  const refused = [await redis.get('x').catch((error) => error), await connecting.catch((error) => error)]
  for (const error of refused) assert.ok(isExpected(error), error.stack)
})

test('the causes of an expected error are in its sentence, each once', () => {
  const cause = new Error('the disk is full')
  assert.equal(
    /** @type {any} */ (describeError(new InkcastError('unavailable', 'Redis is unavailable', { cause }))).message,
    'Redis is unavailable: the disk is full'
  )
  assert.equal(/** @type {any} */ (describeError(new InkcastError('unavailable', 'no: full', {
    cause: new Error('full')
  }))).message, 'no: full')
})

test('a defect has a stack, with those of its causes, but no other properties: they may hold payloads', () => {
  const error = Object.assign(new TypeError('x is not a function', { cause: new Error('first') }), { payload: 'secret' })
  const shown = /** @type {any} */ (describeError(error))
  assert.match(shown.stack, /log-error\.test\.js[\s\S]*caused by: Error: first/)
  assert.deepEqual(Object.keys(shown), ['type', 'message', 'stack'])
  assert.equal(isExpected(new InkcastError('internal')), false)
  assert.equal(isExpected(Object.assign(new Error('no'), { code: 'ERR_INVALID_ARG_TYPE' })), false)
})

test('at debug every error has its stack', async () => {
  assert.match(/** @type {any} */ (createErrorSerializer(() => true)(await refused())).stack, /ECONNREFUSED/)
})
