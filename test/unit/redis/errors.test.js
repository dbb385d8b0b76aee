import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { isRefusal, toInkcastError } from '../../../src/redis/errors.js'

/** @param {string} message @param {string} [name] */
const error = (message, name = 'ReplyError') =>
  Object.assign(new Error(message), { name, command: { name: 'evalsha', args: ['secret'] } })

describe('errors of redis', () => {
  test('that are temporary are unavailable', () => {
    for (const message of [
      'LOADING Redis is loading',
      'OOM command not allowed',
      'READONLY You can\'t write',
      'CLUSTERDOWN Hash slot not served',
      'TRYAGAIN Multiple keys',
      'BUSY Redis is busy',
      'MISCONF Redis is configured',
      'NOREPLICAS Not enough'
    ]) {
      assert.equal(toInkcastError(error(message)).code, 'unavailable', message)
    }
    for (const message of [
      'Connection is closed.',
      'Stream isn\'t writeable and enableOfflineQueue options is false',
      'Reached the max retries per request limit (which is 0).',
      'Too many Cluster redirections. Last error: x'
    ]) {
      assert.equal(toInkcastError(error(message, 'Error')).code, 'unavailable', message)
    }
  })

  test('about permissions are unavailable: they may be granted again', () => {
    for (const message of [
      'NOPERM this user has no permissions',
      'NOAUTH Authentication required.',
      'WRONGPASS invalid username-password pair',
      'ERR The user executing the script can\'t run this command or subcommand script: 60493, on @user_script:1.',
      'ERR ACL failure in script: User u has no permissions to run the \'xadd\' command script: 4dc25, on @user_script:1.',
      'NOPERM ACL failure in script'
    ]) {
      assert.equal(toInkcastError(error(message)).code, 'unavailable', message)
    }
  })

  test('that are permanent are internal', () => {
    for (const message of [
      'WRONGTYPE Operation against a key',
      'ERR wrong number of arguments',
      'CROSSSLOT Keys in request'
    ]) {
      assert.equal(toInkcastError(error(message)).code, 'internal', message)
    }
    assert.equal(toInkcastError('thrown').code, 'internal')
  })

  test('are all retryable, keep their cause without its arguments, and errors of inkcast stay unchanged', () => {
    const mapped = toInkcastError(error('OOM'))
    assert.ok(mapped.retryable)
    assert.deepEqual(/** @type {any} */ (mapped.cause).command, { name: 'evalsha' })
    assert.ok(toInkcastError(error('WRONGTYPE')).retryable)
    const own = new InkcastError('timeout')
    assert.equal(toInkcastError(own), own)
  })

  test('at login are recognized', () => {
    for (const message of [
      'WRONGPASS invalid username-password pair',
      'NOAUTH Authentication required.',
      'NOPERM this user',
      'ERR AUTH <password> called without any password configured'
    ])
      assert.ok(isRefusal(error(message)), message)
    assert.ok(!isRefusal(error('LOADING')))
  })
})
