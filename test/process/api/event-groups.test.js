import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { callersFile } from '../../helpers/callers-file.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { grpcClient } from '../../helpers/grpc.js'
import { openDocument, startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'

const GROUPS = ['billing', 'billing-2', 'audit']
const PERMISSION_DENIED = 7

/** Patterns of callers, and the groups that they cover. @type {[string, string[] | undefined, string[]][]} */
const CALLERS = [
  ['any-group', undefined, GROUPS],
  ['all-groups', ['*'], GROUPS],
  ['no-group', [], []],
  ['one-group', ['billing'], ['billing']],
  ['a-prefix', ['billing*'], ['billing', 'billing-2']],
  ['another', ['ausit'], []]
]
const token = (/** @type {string} */ name) => `${name}-token-of-a-test`

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const { path } = callersFile(t, {
    callers: CALLERS.map(([name, groups]) =>
      ({ name, tokens: [{ text: token(name) }], operations: ['events'], ...(groups && { groups }) }))
  })
  return startEmbedded(t, { API_CALLERS_FILE: path, GRPC_PORT: '0', UPLINK_GROUPS: GROUPS.join() })
}

test('a caller reads the events of its groups and of no other', async (t) => {
  const server = await start(t)
  const doc = await openDocument(startClient(t, server.url), 'minutes')
  await doc.send('hello')
  await Promise.all(CALLERS.flatMap(([name, , groups]) => GROUPS.map(async (group) => {
    const events = grpcClient(t, server.grpcPort(), token(name)).stream('Events')
    const ended = once(events, 'error').then(([error]) => error.code)
    events.resume()
    events.write({ group })
    if (!groups.includes(group)) assert.equal(await ended, PERMISSION_DENIED, `${name} ${group}`)
    else {
      // streams of a group share the parts, so a stream that is accepted may get nothing
      events.end()
      await once(events, 'end')
    }
  })))
})

test('a client cannot acknowledge what it has not read: ids of batches cannot be guessed', async (t) => {
  const server = await start(t)
  const doc = await openDocument(startClient(t, server.url), 'minutes')
  await doc.send('one')
  const open = () => grpcClient(t, server.grpcPort(), token('one-group')).stream('Events')
  const first = open()
  /** @type {any[]} */
  const batches = []
  first.on('data', (/** @type {any} */ message) => batches.push(message))
  first.write({ group: 'billing' })
  for (let i = 0; i < 20; i++) first.write({ done: String(i) })
  await waitFor(() => batches.some(({ events }) => events.some((/** @type {any} */ { value }) => String(value) === '"one"')))
  for (let i = 0; i < 20; i++) first.write({ done: String(i) })
  first.end()
  await once(first, 'end')
  assert.equal(new Set(batches.map(({ batch }) => batch)).size, batches.length)
  for (const { batch } of batches) assert.match(batch, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  // nothing was acknowledged, so it comes again
  const second = open()
  let again = false
  second.on('data', (/** @type {any} */ { events }) => {
    again ||= events.some((/** @type {any} */ { value }) => String(value) === '"one"')
  })
  second.write({ group: 'billing' })
  await waitFor(() => again, { timeout: 20_000 })
  second.end()
  await once(second, 'end')
})
