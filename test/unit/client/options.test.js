import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from '../../../client/index.js'
// loaded on demand
import '../../../client/common/known-options.js'
import { scriptedClient, settle } from '../../helpers/scripted-socket.js'

/** Options that plain JavaScript would ignore. */

describe('a misspelled option', () => {
  for (const [call, right, names] of /** @type {[string, string, string[]][]} */ ([
    ['connect', 'token', ['tokn', 'tokens', 'Token', 'toekn']],
    ['connect', 'storage', ['storge', 'Storage']],
    ['connect', 'outbox', ['outBox', 'outbx']],
    ['open', 'position', ['postion', 'positon', 'Position']],
    ['open', 'echo', ['ecko', 'ehco']],
    ['open', 'load', ['laod', 'onload']],
    ['outbox', 'user', ['users', 'usr']],
    ['send', 'event', ['evnt', 'events', 'Event']],
    ['send', 'queue', ['que', 'queu', 'queued']]
  ])) {
    for (const name of names) {
      test(`\`${name}\` of ${call} is a warning, once`, async (t) => {
        const warn = t.mock.method(console, 'warn', () => {})
        for (let i = 0; i < 2; i++) {
          const options = /** @type {any} */ ({ [name]: undefined })
          const { client, socket } = scriptedClient(t, call === 'connect'
            ? options
            : { outbox: { user: 'ada', ...(call === 'outbox' && options) } })
          const opening = client.open('doc', call === 'open' ? options : {})
          await settle()
          socket.accepts()
          socket.tells('doc:joined', { guid: 'doc', position: { epoch: 'e', offset: 1 }, recovered: false })
          const doc = await opening
          doc.send('x', call === 'send' ? options : {}).catch(() => {})
          await settle()
        }
        assert.deepEqual(warn.mock.calls.map(({ arguments: [text] }) => text), [
          `inkcast: \`${call}\` has no option \`${name}\`: did you mean \`${right}\`?`
        ])
      })
    }
  }
})

for (const outbox of [true, {}, { user: undefined }, { user: 5 }, { usr: 'ada' }, 'ada', null]) {
  test(`the outbox ${JSON.stringify(outbox)} has no owner and is refused`, () => {
    assert.throws(() => connect('http://gateway', { outbox: /** @type {any} */ (outbox) }), {
      name: 'TypeError', message: /`outbox` of connect must be/
    })
  })
}
