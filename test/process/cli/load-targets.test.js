import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { commandFolder } from '../../helpers/command.js'

const inkcast = commandFolder({ after }, { dotenv: 'ADMIN_TOKEN=a-token-for-ADMIN_PORT\nAPI_TOKENS=editor:a-token-of-an-editor\n' })

describe('inkcast load sends the tokens of the settings', () => {
  for (const option of ['--url', '--api', '--admin']) {
    for (const host of ['192.0.2.1', '127.0.0.1.elsewhere.test', 'localhost:80@elsewhere.test']) {
      test(`to no other machine without --remote: ${option} http://${host}`, async () => {
        const { code, stderr } = await inkcast.run(['load', '-n', '1', '--hold', '1s', option, `http://${host}`])
        assert.equal(code, 1)
        assert.match(stderr, /is not this machine: confirm with --remote/)
        assert.ok(!stderr.includes('a-token'), stderr)
      })
    }
  }
})
