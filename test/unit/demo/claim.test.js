import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClaim } from '../../../packages/demo/page/js/claim.js'

/** For a busy machine, ms. */
const patience = 1000

/** @param {import('node:test').TestContext} t */
function tab (t) {
  const channel = new BroadcastChannel('claim test')
  t.after(() => channel.close())
  return createClaim(/** @type {any} */ (channel), { patience })
}

test('an identity that no other tab has can be claimed, again after its tab has closed', async (t) => {
  const channel = new BroadcastChannel('claim test')
  assert.equal(await createClaim(/** @type {any} */ (channel), { patience })('ada'), true)
  channel.close()
  assert.equal(await tab(t)('ada'), true)
})

test('a duplicated tab cannot have the identity of the other tab', async (t) => {
  const claim = tab(t)
  assert.equal(await claim('ada'), true)
  const duplicate = tab(t)
  assert.equal(await duplicate('ada'), false)
  assert.equal(await duplicate('grace'), true)
  assert.equal(await tab(t)('ada'), false)
})

test('of tabs that claim an identity at the same time exactly one gets it', async (t) => {
  const results = await Promise.all([tab(t), tab(t), tab(t)].map((claim) => claim('ada')))
  assert.deepEqual(results.sort(), [false, false, true])
})

test('a response that waits until a page has stalled counts', async () => {
  /** @type {any[]} */
  const sent = []
  /** @type {(event: any) => void} */
  let receive = () => {}
  const claim = createClaim(/** @type {any} */ ({
    postMessage: (/** @type {any} */ message) => sent.push(message),
    addEventListener (/** @type {string} */ _type, /** @type {typeof receive} */ listener) { receive = listener }
  }), { patience: 1 })
  const claimed = claim('ada')
  // timers of equal delay run in their order: this one is right after the end of the patience
  setTimeout(() => receive({ data: { id: 'ada', takenFrom: sent[0].from } }), 1)
  assert.equal(await claimed, false)
})
