import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRenderedDocs } from '../../../src/operate/admin/rendered-docs.js'

/** @param {import('node:test').TestContext} t */
function folderOf (t) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('a page is rendered once, also for requests at the same time, and again when its file changes', async (t) => {
  const folder = folderOf(t)
  writeFileSync(join(folder, 'one.md'), '# One\n')
  const rendered = createRenderedDocs(folder)
  const pages = await Promise.all(Array.from({ length: 100 }, () => rendered('one.md')))
  assert.match(pages[0].toString(), /<h1 id="one">One<\/h1>/)
  // the stats of the first requests are read at the same time
  const page = await rendered('one.md')
  assert.ok(new Set(pages).size <= 1 && pages[0] === page)
  writeFileSync(join(folder, 'one.md'), '# Another one\n')
  assert.match((await rendered('one.md')).toString(), /Another one/)
})

test('a page that does not exist is not kept', async (t) => {
  const folder = folderOf(t)
  const rendered = createRenderedDocs(folder)
  await assert.rejects(rendered('none.md'), { code: 'ENOENT' })
  writeFileSync(join(folder, 'none.md'), '# Now it is\n')
  assert.match((await rendered('none.md')).toString(), /Now it is/)
})
