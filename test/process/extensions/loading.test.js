import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startCluster } from '../../helpers/cluster.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} files by name
 * @returns {string} the folder
 */
function folderOf (t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

describe('an extension that cannot be used', () => {
  for (const [what, name, code, message] of /** @type {[string, string, string | undefined, RegExp][]} */ ([
    ['is not there', 'none.mjs', undefined, /EXTENSIONS: .*none\.mjs: there is no file/],
    ['throws at its start', 'start.mjs', 'export default () => { throw new Error("no database") }',
      /extension start does not start: no database/]
  ])) {
    test(`stops the start of a process with one line: it ${what}`, async (t) => {
      const folder = folderOf(t, code === undefined ? {} : { [name]: code })
      await assert.rejects(
        startCluster(t, { EXTENSIONS: join(folder, name) }),
        (/** @type {Error} */ error) => {
          const lines = error.message.split('\n').filter((line) => line.includes('inkcast: '))
          assert.equal(lines.length, 1, error.message)
          assert.match(lines[0], message)
          assert.doesNotMatch(error.message, /^\s+at /m)
          return true
        }
      )
    })
  }

  for (const [what, name, code, message] of /** @type {[string, string, string, RegExp][]} */ ([
    ['exports no function', 'value.mjs', 'export default 1', /value\.mjs has no default export that is a function/],
    ['has a syntax error', 'syntax.mjs', 'export default (', /syntax\.mjs cannot be loaded: Unexpected/],
    ['throws when it is imported', 'import.mjs', 'throw new Error("no key")', /import\.mjs cannot be loaded: no key/],
    ['is rejected at its start', 'late.mjs', 'export default async () => { throw new Error("no table") }',
      /extension late does not start: no table/],
    ['has a name that is none', 'a b.mjs', 'export default () => {}', /"a b" cannot be the name of an extension/]
  ])) {
    test(`stops the start with the reason: it ${what}`, async (t) => {
      await assert.rejects(startEmbedded(t, { EXTENSIONS: join(folderOf(t, { [name]: code }), name) }), message)
    })
  }

  test('is a package that is not installed', async (t) => {
    await assert.rejects(startEmbedded(t, { EXTENSIONS: 'no-such-package' }), /no-such-package is not installed/)
  })

  test('has the name of another one', async (t) => {
    const folder = folderOf(t, { 'a/chat.mjs': 'export default () => {}', 'b/chat.mjs': 'export default () => {}' })
    await assert.rejects(
      startEmbedded(t, { EXTENSIONS: `${folder}/a/chat.mjs, ${folder}/b/chat.mjs` }),
      /there are two extensions named chat/
    )
  })
})

test('extensions start in their order, get their own settings, and stop in the opposite order', async (t) => {
  const code = (/** @type {string} */ name) => `
    export default ({ name, config, documents, sessions, publish, io }) => {
      io.order = [...io.order ?? [], name, config]
      io.on('connection', (socket) => {
        socket.on('${name}', async (answer) => {
          const published = await publish({ guid: 'd', event: 'news', data: { of: name } })
          const wrong = await publish({ guid: 'd', nonsense: 1 }).catch(({ code, message }) => ({ code, message }))
          const unknown = await publish({ operator: 'shout' }).catch(({ code }) => code)
          answer({
            published, wrong, unknown,
            position: await documents.position('d'), nothing: await documents.position('e'),
            members: await documents.members('d'), presence: await documents.presence('d'),
            sessions: (await sessions.of(socket.data.uid)).length
          })
        })
      })
      return async () => { io.order.push('stop ' + name) }
    }`
  const folder = folderOf(t, { 'one.mjs': code('one'), 'my-two/index.mjs': code('my-two') })
  const server = await startEmbedded(t, {
    EXTENSIONS: `${folder}/one.mjs,${folder}/my-two/index.mjs`,
    EXTENSION_ONE_KEY: '1',
    EXTENSION_MY_TWO_KEY: '2',
    EXTENSION_MY_TWO_OTHER: ''
  })
  const { io } = /** @type {any} */ (server.gateway)
  assert.deepEqual(io.order, ['one', { KEY: '1' }, 'my-two', { KEY: '2' }])
  const client = await connectClient(t, server.url)
  assert.equal((await client.ask('doc:join', { guid: 'd', state: { line: 1 } })).ok, true)
  const answer = await client.ask('one')
  assert.equal(answer.published.position.offset, 1)
  assert.deepEqual(answer.wrong, { code: 'bad_request', message: 'publish has no field nonsense' })
  assert.equal(answer.unknown, 'unknown_operator')
  assert.deepEqual(answer.position, answer.published.position)
  assert.equal(answer.nothing.offset, 0)
  assert.deepEqual(answer.members.members.map((/** @type {any} */ { state }) => state), [{ line: 1 }])
  assert.equal(answer.presence.count, 1)
  await waitFor(() => client.received.some(({ event }) => event === 'news'))
  const { payload, meta } = /** @type {any} */ (client.received.find(({ event }) => event === 'news'))
  assert.deepEqual([payload, meta.offset], [{ of: 'one' }, 1])
  await server.stop()
  assert.deepEqual(io.order.slice(4), ['stop my-two', 'stop one'])
})

test('an extension that does not stop is given up after 5 s', async (t) => {
  const folder = folderOf(t, { 'hang.mjs': 'export default () => () => new Promise(() => {})' })
  const server = await startEmbedded(t, { EXTENSIONS: `${folder}/hang.mjs` })
  await server.stop()
})
