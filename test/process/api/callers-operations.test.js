import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { operations } from '../../../src/services/api/operations/index.js'
import { startApi } from '../../helpers/api.js'
import { callersFile } from '../../helpers/callers-file.js'

/**
 * Every operation of the table, those that are added later included, is refused to a caller without the right to it. An
 * operation with publications in its body must refuse each of them.
 */

const TOKEN = '0123456789abcdef'
const IDS = { guid: 'minutes', uid: 'ada', sid: 'abc' }
/** Operations with a user who is not in the path. */
const NAMES_USER = /(revoke|restore)$/
/** For the operations of publications in a body: each is refused, in the answer. */
const BATCH = JSON.stringify({ publications: [{ operator: 'broadcast', guid: 'minutes', value: 1 }] })

/** Callers who have some right, but none to the operation. */
const CALLERS = {
  'to nothing else': () => ({ operators: ['none-of-these'], operations: [] }),
  'to other documents and users only': () => ({ operators: ['*'], operations: ['*'], guids: ['x/*'], uids: ['x/*'] })
}

for (const [which, rights] of Object.entries(CALLERS)) {
  describe(`a caller with rights ${which}`, () => {
    for (const { method, path, operation, publishes, answer } of operations) {
      test(`is refused ${operation}`, async (t) => {
        const settings = rights()
        // an operator or operation that is never the one asked for
        if (settings.operators[0] === 'none-of-these') {
          settings.operators = [/broadcast|publish/.test(path) ? 'kick' : 'broadcast']
          settings.operations = [operation === 'position' ? 'history' : 'position']
        }
        const { path: file } = callersFile(t, { callers: [{ name: 'editor', tokens: [{ text: TOKEN }], ...settings }] })
        const reached = /** @type {string[]} */ ([])
        const untouched = (/** @type {string} */ name) => async () => {
          reached.push(name)
          return /** @type {any} */ ([])
        }
        const api = await startApi(t, {
          callersFile: file,
          sink: async () => { reached.push('sink') },
          bus: { positions: untouched('positions'), history: untouched('history'), cut: untouched('cut') },
          sessions: {
            sessions: untouched('sessions'), session: untouched('session'), documents: untouched('documents')
          }
        })
        const url = path.replace(/:(\w+)/g, (_, name) => IDS[/** @type {'guid'} */ (name)])
        const { status, body } = await api.call(method, url, {
          headers: { authorization: `Bearer ${TOKEN}`, ...(NAMES_USER.test(path) ? { 'x-uid': 'ada' } : {}) },
          body: method === 'POST' && !NAMES_USER.test(path) ? BATCH : undefined
        })
        // only a batch may answer: with a refusal of each item
        if (!(publishes && answer !== undefined)) assert.equal(`${status} ${body.error?.code}`, '403 forbidden')
        assert.deepEqual(reached, [])
      })
    }
  })
}

test('a parameter that an operation does not have opens it to no caller with limited rights', async (t) => {
  const { path } = callersFile(t, {
    callers: [{ name: 'editor', tokens: [{ text: TOKEN }], operators: ['*'], operations: ['*'], guids: ['acme/*'] }]
  })
  const api = await startApi(t, { callersFile: path })
  const refused = []
  for (const { method, path, operation, query } of operations) {
    if (method !== 'GET' || /:/.test(path) || query?.prefix !== undefined) continue
    for (const more of ['', '?prefix=acme/', '?prefix=acme/&prefix=acme/', '?__proto__=x']) {
      const { status } = await api.call(method, path + more, { headers: { authorization: `Bearer ${TOKEN}` } })
      assert.equal(status, 403, path + more)
      refused.push(operation)
    }
  }
  assert.ok(refused.includes('overview'), String(refused))
})
