import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handle as join } from '../../../src/gateway/handlers/join.js'
import { OpenDocument } from '../../../src/gateway/open-document.js'

const BEFORE = { epoch: 'before', offset: 9 }
const AFTER = { epoch: 'after', offset: 8 }
const STATE = { color: 'red' }

/**
 * Joins documents whose log is replaced while the answer waits: for the presence, or for the room.
 * @param {object} argument
 * @param {{ waitsForRoom?: boolean, isOpen?: boolean, isReplaced?: boolean }} options
 */
async function joinWhileReplaced (argument, { waitsForRoom = false, isOpen = false, isReplaced = true }) {
  let position = BEFORE
  const replace = async () => { if (isReplaced) position = AFTER }
  const open = Object.assign(new OpenDocument(), { joined: true })
  const connection = {
    identity: {},
    document: () => isOpen ? open : undefined,
    addDocument: () => new OpenDocument(),
    enterRoom: () => waitsForRoom ? replace() : undefined
  }
  const answerOf = (/** @type {any} */ recovered) => ({ position: { ...position }, recovered })
  return join(/** @type {any} */ (connection), /** @type {any} */ ({ guid: 'doc', ...argument }), /** @type {any} */ ({
    access: { check: () => true, readOnly: () => false },
    feeds: { join: async () => answerOf(true), resume: async () => answerOf(true), position: () => ({ ...position }) },
    connectionListeners: { joined () {} },
    presence: {
      checkState () {},
      async join () {
        await replace()
        return { members: [], count: 0, version: 1 }
      }
    },
    rulesOf: () => ({ presence: true })
  }))
}

for (const [name, argument, options] of /** @type {[string, object, object][]} */ ([
  ['with a state', { position: BEFORE, state: STATE }, {}],
  ['that waits for its room', { position: BEFORE }, { waitsForRoom: true }],
  ['of a document that is open, with a state', { position: BEFORE, state: STATE }, { isOpen: true }]
])) {
  test(`a join ${name} is answered with the position of the log that the last resync named`, async () => {
    const { position, recovered } = await joinWhileReplaced(argument, options)
    assert.deepEqual([position, recovered], [AFTER, false])
  })

  test(`a join ${name} keeps its position if the log stays`, async () => {
    const { position, recovered } = await joinWhileReplaced(argument, { ...options, isReplaced: false })
    assert.deepEqual([position, recovered], [BEFORE, true])
  })
}
