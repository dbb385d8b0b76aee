import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApi } from '../../helpers/api.js'
import { publicationWith } from '../../helpers/publication.js'
import { waitFor } from '../../helpers/wait.js'

const TOKEN = 'token-of-a-caller'
/** Ways to read a history. @type {Record<string, string>} */
const WAYS = {
  'the newest records': '/v1/documents/d/history',
  'records after a position': '/v1/documents/d/history?epoch=e&offset=0',
  'the log of a user': '/v1/users/u/history'
}

for (const [way, path] of Object.entries(WAYS)) {
  test(`of 50 histories at once four are read: ${way}`, async (t) => {
    /** @type {(() => void)[]} */
    const reading = []
    let most = 0
    const position = { epoch: 'e', offset: 1 }
    const { url } = await startApi(t, {
      tokens: [`one:${TOKEN}`],
      bus: {
        positions: async (guids) => guids.map(() => position),
        cut: async () => null,
        history: () => new Promise((resolve) => {
          most = Math.max(most, reading.push(() => {
            resolve({ position, gap: null, records: [{ ...position, publication: publicationWith(), ingestedAt: 1 }] })
          }))
        })
      }
    })
    const many = Array.from({ length: 50 }, async () => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${TOKEN}` } })
      await answer.arrayBuffer()
      return answer.status
    })
    await waitFor(() => reading.length === 4)
    // each that ends makes room for the next
    for (let i = 0; i < 50; i++) {
      await waitFor(() => reading.length > 0)
      reading.shift()?.()
    }
    assert.deepEqual(new Set(await Promise.all(many)), new Set([200]))
    assert.equal(most, 4)
  })
}
