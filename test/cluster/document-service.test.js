import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { startDocumentService } from '../helpers/document-service.js'
import { fileScope } from '../helpers/file-scope.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { waitFor } from '../helpers/wait.js'
import { SECRET } from '../helpers/webhook-service.js'
import { freePort } from '../services/ports.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)
/** @type {Record<string, () => Promise<{ env: Record<string, string>, settings: object }>>} */
const UPLINKS = {
  async Kafka () {
    const { env } = freshTopics(scope)
    return { env, settings: { kafka: env } }
  },
  async 'a webhook' () {
    const port = await freePort()
    return {
      env: { UPLINK_URL: `http://127.0.0.1:${port}`, UPLINK_SECRETS: SECRET },
      settings: { webhook: { port, secret: SECRET } }
    }
  }
}

/** @param {{ received: { event: string, payload: any, meta: any }[] }} client */
const changesOf = ({ received }) =>
  received.filter(({ event }) => event === 'sheet:changes').flatMap(({ payload }) => payload.changes)

for (const [uplink, open] of Object.entries(UPLINKS)) {
  describe(`a document service over ${uplink}`, () => {
    /** @type {Awaited<ReturnType<typeof startCluster>>} */
    let cluster
    /** @type {Awaited<ReturnType<typeof startDocumentService>>} */
    let service
    before(async () => {
      const port = await freePort()
      const { env, settings } = await open()
      cluster = await startCluster(scope, {
        WORKERS: '2',
        REDIS_URL,
        EXTENSION_DEMO_DOCUMENTS_URL: `http://127.0.0.1:${port}`,
        ...env
      })
      service = await startDocumentService(scope, { port, apiUrl: cluster.apiUrl, ...settings })
    }, { timeout: 90_000 })

    /** Loads the document as the page does. @param {string} guid @returns {Promise<any>} */
    const load = async (guid) => (await fetch(`${cluster.url}/documents/${guid}`)).json()

    test(
      'a client\'s operation is checked, stored and published; a later client loads it and continues from there',
      { timeout: 180_000 },
      async (t) => {
        const guid = `plan-${randomUUID()}`
        const [ada, grace] = await Promise.all([0, 1].map(() => connectClient(t, cluster.url)))
        for (const client of [ada, grace]) assert.equal((await client.ask('doc:join', { guid })).ok, true)

        const { traceId } = await ada.ask('doc:send', {
          guid,
          event: 'sheet:edit',
          data: { id: 'ada:1', cells: { A2: 'Bake the cake' } }
        })
        await ada.ask('doc:send', { guid, event: 'sheet:edit', data: { id: 'ada:2', cells: { Z9: 'nowhere' } } })
        await grace.ask('doc:send', {
          guid,
          event: 'sheet:comment',
          data: { id: 'grace:1', text: 'with nuts?', name: 'Grace', color: '#1d3557', cell: 'A2' }
        })
        for (const client of [ada, grace]) {
          await waitFor(() => changesOf(client).length >= 2, {
            timeout: 20_000,
            message: () => ({ received: client.received, service: service.output() })
          })
          assert.deepEqual(
            changesOf(client).map(({ version, id }) => [version, id]),
            [
              [1, 'ada:1'],
              [2, 'grace:1']
            ]
          )
          assert.equal(changesOf(client)[0].traceId, traceId)
        }
        const refused = await waitFor(() => ada.received.find(({ event }) => event === 'sheet:refused'), {
          timeout: 20_000
        })
        assert.deepEqual([refused?.payload.id, refused?.payload.code], ['ada:2', 'no_such_cell'])
        assert.equal(
          grace.received.some(({ event }) => event === 'sheet:refused'),
          false
        )

        const { document, position } = await load(guid)
        assert.deepEqual(
          [document.version, document.cells.A2, document.comments[0].text],
          [2, 'Bake the cake', 'with nuts?']
        )
        await grace.ask('doc:send', { guid, event: 'sheet:resolve', data: { id: 'grace:2', comment: 'grace:1' } })
        await waitFor(() => changesOf(ada).length === 3, { timeout: 20_000 })
        const late = await connectClient(t, cluster.url)
        assert.equal((await late.ask('doc:join', { guid, position })).recovered, true)
        await waitFor(() => changesOf(late).length > 0)
        assert.deepEqual(
          changesOf(late).map(({ version, resolved }) => [version, resolved]),
          [[3, 'grace:1']]
        )
      }
    )

    test(
      'a killed service loses no operation and publishes none twice',
      { timeout: 270_000 },
      async (t) => {
        const guid = `killed-${randomUUID()}`
        const edits = 150
        const clients = await Promise.all([0, 1, 2].map(() => connectClient(t, cluster.url)))
        for (const client of clients) assert.equal((await client.ask('doc:join', { guid })).ok, true)
        const [sender] = clients
        for (let i = 1; i <= edits; i++) {
          assert.equal(
            (
              await sender.ask('doc:send', {
                guid,
                event: 'sheet:edit',
                data: { id: `ada:${i}`, cells: { A2: String(i) } }
              })
            ).ok,
            true
          )
          if (i === 40) await waitFor(() => changesOf(sender).length > 0, { timeout: 20_000 })
          if (i === 60) await service.stop('SIGKILL')
          if (i === 100) await service.start()
        }
        const all = Array.from({ length: edits }, (_, i) => [i + 1, `ada:${i + 1}`])
        for (const client of clients) {
          await waitFor(() => changesOf(client).length >= edits, {
            timeout: 60_000,
            message: () => ({ changes: changesOf(client).length, service: service.output() })
          })
          assert.deepEqual(
            changesOf(client).map(({ version, id }) => [version, id]),
            all
          )
        }
        assert.equal((await load(guid)).document.cells.A2, String(edits))
      }
    )
  })
}
