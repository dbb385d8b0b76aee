import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SharedDocuments } from '../../../client/shared/documents.js'

const refusal = (/** @type {boolean} */ retryable) => ({ ok: false, error: { code: 'state_too_large', retryable } })

/** A document of two tabs with states, the second one's the newest, and what the gateway is asked. */
async function tabsWithStates () {
  const position = { epoch: 'e', offset: 1 }
  /** @type {any[]} */
  const joins = []
  /** Answers to `doc:state`; then it is accepted. @type {object[]} */
  const answers = []
  const documents = new SharedDocuments({
    request: async (event, argument) => {
      if (event === 'doc:join') joins.push(argument)
      return (event === 'doc:state' && answers.shift()) || { ok: true, guid: 'doc', position }
    },
    emit: () => {}, emitAll: () => {}
  })
  const [first, second, third] = /** @type {any[]} */ (['a', 'b', 'c'].map((client) => ({ client })))
  await documents.join(first, { guid: 'doc', position, state: { n: 1 } })
  await documents.join(second, { guid: 'doc', position, state: { n: 2 } })
  return {
    first, second, answers,
    set: (/** @type {any} */ tab, /** @type {any} */ change) => documents.setState(tab, { guid: 'doc', ...change }),
    /** The state in the next join. */
    async joined () {
      await documents.join(third, { guid: 'doc', position })
      return joins.at(-1).state
    }
  }
}

describe('the state of a member with several tabs', () => {
  test('stays when a tab becomes idle', async () => {
    const { first, second, set, joined } = await tabsWithStates()
    await set(second, { idle: true })
    await set(first, { idle: true })
    assert.deepEqual(await joined(), { n: 2 })
  })

  test('is not one that the gateway has refused', async () => {
    const { second, set, answers, joined } = await tabsWithStates()
    answers.push({ ok: true }, refusal(false), refusal(false))
    await Promise.all([3, 4, 5].map((n) => set(second, { state: { n } })))
    assert.deepEqual(await joined(), { n: 3 })
  })

  test('is the one of an attempt that may succeed later', async () => {
    const { second, set, answers, joined } = await tabsWithStates()
    answers.push(refusal(true))
    await set(second, { state: { n: 3 } })
    assert.deepEqual(await joined(), { n: 3 })
  })
})
