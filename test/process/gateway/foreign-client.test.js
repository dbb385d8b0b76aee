import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connectClient } from '../../helpers/clients.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rulesFile } from '../../helpers/rules-file.js'
import { SECRET, signToken } from '../../helpers/tokens.js'
import { waitFor } from '../../helpers/wait.js'
import { SECRET as WEBHOOK_SECRET, startWebhookService } from '../../helpers/webhook-service.js'

// a service that excludes the sender of each message from the record that it publishes
const service = await startWebhookService({ after }, {
  answer (events) {
    const publish = events.filter(({ operator }) => operator === 'message')
      .map(({ guid, data, sender, sid }) => ({ operator: 'broadcast', guid, value: data, except: [sender ?? sid] }))
    return { body: { publish } }
  }
})
// without the webhook the gateway excludes the sender by the rule
const file = rulesFile({ after }, { rules: [{ prefix: 'mute/', echo: false, webhook: false }] })
const { url } = await startEmbedded({ after }, {
  DOCUMENT_RULES_FILE: file.path, AUTH_JWT_SECRET: SECRET, AUTH_ALLOW_ANONYMOUS: 'true',
  UPLINK_URL: service.url, UPLINK_SECRETS: WEBHOOK_SECRET
})

/** Undefined: an anonymous user. */
const USERS = ['ada', 'ben', undefined]
/** @param {string | undefined} sub */
const tokenOf = (sub) =>
  sub === undefined ? {} : signToken({ sub, documents: [{ guid: '*', access: 'write' }] }).then((token) => ({ token }))

/**
 * @param {import('node:test').TestContext} t
 * @param {string} guid
 * @param {string | undefined} uid
 * @param {string | undefined} client
 * @param {object} [position]
 */
async function joined (t, guid, uid, client, position) {
  const auth = { ...await tokenOf(uid), ...(client !== undefined && { client }) }
  const page = await connectClient(t, url, { auth })
  const answer = await page.ask('doc:join', { guid, ...(position && { position }) })
  assert.equal(answer.ok, true)
  return Object.assign(page, { position: answer.position })
}

/** @param {Awaited<ReturnType<typeof joined>>} page */
const texts = ({ received }) => received.filter(({ event }) => event === 'message').map(({ payload }) => payload)

let documents = 0

describe('a record that excludes its sender', () => {
  for (const [kind, prefix] of [['the gateway', 'mute/'], ['a service', 'served/']]) {
    for (const owner of USERS) {
      for (const other of USERS) {
        const same = owner === other
        const name = `${other ?? 'an anonymous user'} with a client id of ${owner ?? 'an anonymous user'}`
        test(`${same ? 'passes over' : 'reaches'} the page with the same client id: by ${kind}, ${name}`, async (t) => {
          const guid = `${prefix}${++documents}`
          const page = await joined(t, guid, owner, 'page-1')
          const witness = await joined(t, guid, 'witness', undefined)
          const sender = await joined(t, guid, other, 'page-1')
          assert.equal((await sender.ask('doc:send', { guid, data: 'edit' })).ok, true)
          await waitFor(() => texts(witness).length === 1)
          assert.equal((await witness.ask('doc:send', { guid, data: 'end' })).ok, true)
          await waitFor(() => texts(page).includes('end') && texts(sender).includes('end'))
          assert.deepEqual(texts(sender), ['end'])
          assert.deepEqual(texts(page), same ? ['end'] : ['edit', 'end'])
          // from the log as well
          const [again, own] = await Promise.all([owner, other].map((uid) => joined(t, guid, uid, 'page-1', page.position)))
          assert.deepEqual([texts(again), texts(own)], [texts(page), ['end']])
        })
      }
    }
  }

  test('reaches a page whose sender id is the client id of another one', async (t) => {
    const guid = 'served/id'
    const page = await joined(t, guid, 'ada', 'page-2')
    await page.ask('doc:send', { guid, data: 'first' })
    const sent = () => service.events.find((event) => event.guid === guid && event.operator === 'message')
    await waitFor(sent)
    const other = await joined(t, guid, 'ben', sent().sender)
    assert.equal((await other.ask('doc:send', { guid, data: 'edit' })).ok, true)
    await waitFor(() => texts(page).length > 0)
    assert.deepEqual(texts(page), ['edit'])
  })
})
