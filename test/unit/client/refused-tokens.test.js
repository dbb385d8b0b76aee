import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientTime } from '../../helpers/client-time.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/**
 * A client whose token the gateway has refused.
 * @param {import('node:test').TestContext} t
 * @param {(why: string, call: number) => string} [give] the token
 */
async function refused (t, give = (why) => why) {
  const time = clientTime(t)
  /** @type {string[]} */
  const asked = []
  const scripted = scriptedClient(t, { token: (why) => give(why, asked.push(why)) })
  await settle()
  const refuse = () => scripted.socket.refuses({ code: 'token_expired', retryable: false })
  refuse()
  return {
    ...scripted, asked, refuse,
    async pass (/** @type {number} */ ms) {
      time.advance(ms)
      await settle()
    }
  }
}

describe('another token than the refused one', () => {
  test('is requested when the page comes back, or connects at once', async (t) => {
    for (const hurry of /** @type {const} */ (['check', 'connect'])) {
      const { client, asked, pass } = await refused(t)
      client[hurry]()
      await pass(300)
      assert.deepEqual(asked, ['connect', 'refused'], hurry)
    }
  })

  test('is requested until the function gives one', async (t) => {
    const { socket, asked, pass } = await refused(t, (why, call) => {
      if (call === 2) throw new Error('offline')
      return why
    })
    await pass(1000)
    await pass(2000)
    assert.deepEqual(asked, ['connect', 'refused', 'refused'])
    socket.accepts()
    assert.equal(socket.handshakes.at(-1).token, 'refused')
    socket.disconnects('transport close')
    await pass(4000)
    assert.equal(asked.at(-1), 'connect')
  })

  test('is requested by connect() after the gateway has refused two', async (t) => {
    const { client, asked, refuse, pass } = await refused(t)
    await pass(1000)
    refuse()
    assert.equal(client.state, 'refused')
    client.connect()
    await pass(0)
    assert.deepEqual(asked, ['connect', 'refused', 'refused'])
  })
})
