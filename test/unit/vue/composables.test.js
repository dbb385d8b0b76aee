import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInkcast, useDocument } from 'inkcast-vue'
import { createRenderer, nextTick, ref } from 'vue'
import { settle } from '../../helpers/scripted-socket.js'

/** Mounts components without a page. */
const { createApp } = createRenderer(/** @type {any} */ ({
  createComment: () => ({}),
  insert: () => {},
  remove: () => {},
  parentNode: () => null,
  nextSibling: () => null
}))

test('a document stays open while its guid is the same', async (t) => {
  /** @type {string[]} */
  const opened = []
  const client = (/** @type {string} */ name) => /** @type {any} */ ({
    on: () => () => {},
    open (/** @type {string} */ guid) {
      opened.push(`${guid} ${name}`)
      return new Promise(() => {})
    }
  })
  const selected = ref({ guid: 'plan', title: 'Plan' })
  const app = createApp({
    setup () {
      useDocument(() => selected.value.guid)
      return () => null
    }
  })
  app.use(createInkcast({ client: client('a') }))
  app.mount({})
  t.after(() => app.unmount())
  for (const next of [{ guid: 'plan', title: 'The plan' }, { guid: 'notes', title: 'Notes' }]) {
    selected.value = next
    await nextTick()
    await settle()
  }
  assert.deepEqual(opened, ['plan a', 'notes a'])
})
