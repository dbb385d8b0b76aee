import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccess } from '../../../src/documents/access.js'
import { handle as readHistory } from '../../../src/gateway/handlers/history.js'
import { handle as join } from '../../../src/gateway/handlers/join.js'
import { handle as listMembers } from '../../../src/gateway/handlers/members.js'
import { mayWrite } from '../../../src/gateway/handlers/send.js'
import { OpenDocument } from '../../../src/gateway/open-document.js'
import { httpService } from '../../helpers/http-service.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** Rights that change while a handler waits. */

const ADA = Object.freeze({ uid: 'ada', grants: null, issuedAt: null, expiresAt: null, anonymous: false })

/**
 * A client that writes while the access service is asked; the test gives the answers.
 * @param {import('node:test').TestContext} t
 * @param {{ sendsUnopened?: boolean }} [options] as clients of MQTT do
 */
async function writeWhileAsked (t, { sendsUnopened = false } = {}) {
  /** @type {((allow: boolean) => void)[]} */
  const questions = []
  const service = await httpService(t, () => new Promise((resolve) => {
    questions.push((allow) => resolve({ body: JSON.stringify({ allow }) }))
  }))
  const access = createAccess({
    settings: { accessUrl: service.url }, log: recordingLog().log, clock: manualClock()
  })
  t.after(() => access.stop())
  const opened = () => Object.assign(new OpenDocument(), { joined: true })
  let document = sendsUnopened ? undefined : opened()
  const connection = {
    /** @type {any} */
    identity: ADA,
    document: () => document,
    unopened: () => sendsUnopened ? { hasMessage: false } : undefined
  }
  let mayAct = true
  const context = /** @type {any} */ ({ access, mayAct: () => mayAct })
  const written = mayWrite(/** @type {any} */ (connection), 'doc', context).then(() => 'accepted', ({ code }) => code)
  const asked = (/** @type {number} */ count) =>
    waitFor(() => questions.length === count, { message: () => questions.length })
  await asked(1)
  return {
    access, connection, written, asked,
    answer: (/** @type {number} */ number, /** @type {boolean} */ allow) => questions[number](allow),
    joinAgain () { document = opened() },
    cutOff () { mayAct = false }
  }
}

test('a write is accepted if nothing has changed while the service was asked', async (t) => {
  const { written, answer } = await writeWhileAsked(t)
  answer(0, true)
  assert.equal(await written, 'accepted')
})

test('after a revoke the service is asked again, also if the document was joined again meanwhile', async (t) => {
  const { access, written, asked, answer, joinAgain } = await writeWhileAsked(t)
  access.orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: 'doc' }, 1000)
  joinAgain()
  answer(0, true)
  await asked(2)
  answer(1, false)
  assert.equal(await written, 'forbidden')
})

test('a document that is closed to the user meanwhile takes no message of a client that sends without joining', async (t) => {
  const { access, written, answer } = await writeWhileAsked(t, { sendsUnopened: true })
  access.orders.noteOrder({ operator: 'revoke', uid: 'ada', guid: 'doc', ttl: 3600 }, 1_700_000_000_000)
  answer(0, true)
  assert.equal(await written, 'forbidden')
})

test('a user who is banned meanwhile sends nothing more', async (t) => {
  const { access, written, answer } = await writeWhileAsked(t, { sendsUnopened: true })
  access.orders.noteOrder({ operator: 'kick', uid: 'ada', ttl: 3600 }, 1_700_000_000_000)
  answer(0, true)
  assert.equal(await written, 'forbidden')
})

test('a new token with fewer rights holds for a write that waits', async (t) => {
  const { connection, written, answer } = await writeWhileAsked(t)
  connection.identity = { ...ADA, grants: [{ guid: 'doc', access: 'read' }] }
  answer(0, true)
  assert.equal(await written, 'forbidden')
})

test('a worker that is cut off meanwhile accepts no write', async (t) => {
  const { written, answer, cutOff } = await writeWhileAsked(t)
  cutOff()
  answer(0, true)
  assert.equal(await written, 'unavailable')
})

test('a worker that is cut off meanwhile joins no document, and answers neither history nor members', async () => {
  let mayAct = true
  const cutOff = async (/** @type {any} */ answer) => {
    mayAct = false
    return answer
  }
  const document = Object.assign(new OpenDocument(), { joined: true })
  const connection = /** @type {any} */ ({
    identity: ADA, uid: 'ada', codec: 'json', document: () => document, answered () {}
  })
  const context = /** @type {any} */ ({
    mayAct: () => mayAct,
    access: { check: () => cutOff(true), readOnly: () => false },
    rulesOf: () => ({ presence: true }),
    feeds: { position: () => ({ epoch: 'e', offset: 1 }) },
    presence: { members: () => cutOff({ members: [], count: 0, version: 1 }) },
    reads: { of: () => ({ positions: () => cutOff([null]) }) }
  })
  for (const handle of [join, readHistory, listMembers]) {
    mayAct = true
    await assert.rejects(async () => handle(connection, { guid: 'doc' }, context), { code: 'unavailable' })
  }
})
