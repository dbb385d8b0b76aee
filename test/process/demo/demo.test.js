import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { fileScope } from '../../helpers/file-scope.js'
import { waitFor } from '../../helpers/wait.js'

const scope = fileScope()
const inkcast = await startEmbedded(scope)
/** @param {string} guid @returns {Promise<any>} */
const load = async (guid) => (await fetch(`${inkcast.url}/documents/${encodeURIComponent(guid)}`)).json()

/**
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 * @param {Parameters<typeof connectClient>[2]} [options]
 */
async function member (t, guid, options) {
  const client = await connectClient(t, inkcast.url, options)
  assert.equal((await client.ask('doc:join', { guid })).ok, true)
  return client
}

for (const codec of /** @type {const} */ (['json', 'msgpack'])) {
  test(`a ${codec} client edits the document that pages load`, async (t) => {
    const guid = `plan/${codec}`
    const [writer, reader] = await Promise.all([member(t, guid, { codec }), member(t, guid)])
    assert.equal(
      (await writer.ask('doc:send', { guid, event: 'sheet:edit', data: { id: '1', cells: { A2: 'Grüße' } } })).ok,
      true
    )
    await waitFor(() => reader.received.length > 0)
    const [{ event, payload: { changes }, meta }] = reader.received
    assert.deepEqual(
      [event, changes.length, changes[0].version, changes[0].id, changes[0].cells],
      ['sheet:changes', 1, 1, '1', { A2: 'Grüße' }]
    )
    const { document, position } = await load(guid)
    assert.deepEqual([document.version, document.cells.A2, position.offset], [1, 'Grüße', meta.offset])
  })
}

test('an invalid operation is reported to its sender only', async (t) => {
  const guid = 'refused'
  const [writer, reader] = await Promise.all([member(t, guid), member(t, guid)])
  assert.equal(
    (await writer.ask('doc:send', { guid, event: 'sheet:edit', data: { id: '1', cells: { Z99: 'x' } } })).ok,
    true
  )
  await waitFor(() => writer.received.length > 0)
  assert.deepEqual([writer.received[0].event, writer.received[0].payload.code], ['sheet:refused', 'no_such_cell'])
  await writer.ask('doc:send', { guid, data: 'after it' })
  await waitFor(() => reader.received.length > 0)
  assert.equal(reader.received[0].payload, 'after it')
})

test('events of other documents are not affected', async (t) => {
  const guid = 'others'
  const [writer, reader] = await Promise.all([member(t, guid), member(t, guid)])
  await writer.ask('doc:send', { guid, event: 'edit', data: { own: true } })
  await waitFor(() => reader.received.length > 0)
  assert.deepEqual(
    [reader.received[0].event, reader.received[0].payload, reader.received[0].meta.from],
    ['edit', { own: true }, writer.id]
  )
})

test('an unused document has the position before its first record', async () => {
  const { document, position } = await load('untouched')
  assert.deepEqual([document.version, position.offset], [0, 0])
})
