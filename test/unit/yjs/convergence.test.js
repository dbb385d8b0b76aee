import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { InkcastProvider } from 'inkcast-yjs'
import * as Y from 'yjs'
import { manualTimers } from '../../helpers/manual-timers.js'
import { seededRandom } from '../../helpers/random.js'
import { ScriptedDocument, ScriptedPage } from '../../helpers/scripted-pages.js'

const SEEDS = 200
const PAGES = 3
const STEPS = 80

/**
 * A browser page with y-indexeddb: what it has stored survives a reload.
 * @param {ScriptedDocument} document
 * @param {() => number} newId of a Y.Doc
 */
function createPage (document, newId) {
  /** @type {Uint8Array | null} */
  let stored = null
  /** @type {Y.Doc} */
  let doc
  /** @type {ScriptedPage} */
  let page
  /** @type {InkcastProvider} */
  let provider
  const self = {
    get doc () { return doc },
    get page () { return page },
    get provider () { return provider },
    start () {
      doc = new Y.Doc()
      doc.clientID = newId()
      if (stored !== null) Y.applyUpdate(doc, stored, 'indexeddb')
      doc.on('update', () => { stored = Y.encodeStateAsUpdate(doc) })
      page = new ScriptedPage(document)
      provider = new InkcastProvider(/** @type {any} */ (page), 'text', doc, {
        load: async () => document.snapshot(), presence: false
      })
    },
    reload () {
      self.stop()
      self.start()
    },
    stop () {
      page.drop()
      provider.destroy()
    }
  }
  self.start()
  return self
}

/**
 * @param {import('node:test').TestContext} t
 * @param {ReturnType<typeof manualTimers>} timers
 * @param {number} seed
 */
async function run (t, timers, seed) {
  const random = seededRandom(seed)
  const pick = (/** @type {number} */ n) => Math.floor(random() * n)
  t.mock.method(Math, 'random', random)
  const document = new ScriptedDocument()
  const pages = Array.from({ length: PAGES }, () => createPage(document, () => pick(2 ** 32)))
  const deletes = seed % 2 === 0
  /** @type {string[]} */
  const tokens = []
  const pass = async (/** @type {number} */ ms) => {
    timers.tick(ms)
    // promises of loads and answers
    await setImmediate()
  }
  await pass(1)

  for (let step = 0; step < STEPS; step++) {
    const mine = pages[pick(PAGES)]
    const text = mine.doc.getText('text')
    const action = pick(20)
    if (action < 7) {
      const token = `<${seed}:${tokens.length}>`
      tokens.push(token)
      // not within another token
      const places = [0, ...[...text.toString().matchAll(/>/g)].map(({ index }) => index + 1)]
      text.insert(deletes ? pick(text.length + 1) : places[pick(places.length)], token)
    } else if (action < 9) {
      if (deletes && text.length > 0) text.delete(pick(text.length), 1)
    } else if (action < 13) {
      mine.page.answer()
    } else if (action === 13) {
      mine.page.drop(random)
    } else if (action < 16) {
      await mine.page.comeBack()
    } else if (action === 16) {
      mine.reload()
    } else if (action === 17) {
      document.merge()
      if (pick(2) === 0) document.cut()
    } else if (action === 18 && pick(4) === 0) {
      document.lose()
    } else {
      await pass(pick(1500))
    }
    await pass(pick(30))
  }

  for (let round = 0; round < 60; round++) {
    for (const { page } of pages) {
      await page.comeBack()
      page.answer()
    }
    await pass(500)
  }
  document.merge()
  const texts = pages.map(({ doc }) => doc.getText('text').toString())
  for (const { provider } of pages) assert.deepEqual(
    [provider.synced, provider.unsent, provider.status], [true, false, 'connected'], `seed ${seed}: all is sent`
  )
  for (const content of [...texts, document.stored.getText('text').toString()])
    assert.equal(content, texts[0], `seed ${seed}: pages and service have the same text`)
  if (!deletes)
    for (const token of tokens) assert.equal(texts[0].split(token).length, 2, `seed ${seed}: ${token} once`)
  for (const page of pages) page.stop()
  return document.sent
}

test(`pages and service converge in ${SEEDS} random schedules, with each edit once`, async (t) => {
  const timers = manualTimers(t)
  let sent = 0
  for (let seed = 1; seed <= SEEDS; seed++) sent += await run(t, timers, seed)
  assert.ok(sent > SEEDS, 'records were sent')
})
