import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { checkServer } from '../../../src/redis/server-check.js'
import { createLog } from '../../../src/base/common/log.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
/** @param {string | Error} answer @returns {any} */
const serverThatSays = (answer) => ({ info: async () => {
  if (answer instanceof Error) throw answer
  return answer
} })

describe('the check of the server', () => {
  test('refuses versions before 7, with the version in the error', async () => {
    await assert.rejects(
      checkServer(serverThatSays('# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n'), log),
      /7 or later .* this is 6\.2\.14/
    )
    await assert.rejects(checkServer(serverThatSays('# Server\r\nsomething:else\r\n'), log), /7 or later/)
  })

  test('accepts 7 and later', async () => {
    for (const version of ['7.0.15', '7.4.1', '8.0.0', '10.1.0']) {
      await checkServer(serverThatSays(`# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\nmaster_replid:0123\r\n`), log)
    }
  })

  test('refuses a server that cannot show whether it has lost data', async () => {
    await assert.rejects(checkServer(serverThatSays('redis_version:7.2.0\r\n'), log), /reports no replication id/)
  })

  test('refuses a cluster node in place of a single server', async () => {
    await assert.rejects(
      checkServer(serverThatSays('redis_version:7.2.0\r\nredis_mode:cluster\r\nmaster_replid:0123\r\n'), log),
      /node of Redis Cluster/
    )
    // Valkey
    await assert.rejects(
      checkServer(serverThatSays('redis_version:7.2.4\r\nserver_mode:cluster\r\nmaster_replid:0123\r\n'), log),
      /node of Redis Cluster/
    )
  })

  test('accepts a server that denies the check', async () => {
    await checkServer(serverThatSays(new Error('NOPERM this user has no permissions to run the \'info\' command')), log)
  })
})
