import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const PAGE = new URL('../../../packages/demo/page/', import.meta.url)
const ENTITIES = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }

/** @param {string} name */
const read = (name) => readFileSync(new URL(name, PAGE), 'utf8')

/** The code that the page shows, by part: lines with the file that they are from. */
function shownCode () {
  const blocks = read('index.html').matchAll(/<code data-part="([^"]+)">([^]*?)<\/code>/g)
  return new Map(Array.from(blocks, ([, part, code]) => {
    let file = ''
    const lines = []
    for (const line of code.replace(/&\w+;/g, (entity) => ENTITIES[/** @type {'&lt;'} */ (entity)]).split('\n')) {
      const named = /^\/\/ ([\w-]+\.js)$/.exec(line)?.[1]
      if (named !== undefined) file = named
      else lines.push({ file, line: line.trim() })
    }
    return [part, lines]
  }))
}

test('each part of the page shows how it is done', () => {
  const parts = ['sheet', 'cursors', 'presence', 'comments', 'cut', 'conflict', 'guests', 'presenting', 'reset']
  assert.deepEqual([...shownCode().keys()].sort(), parts.sort())
})

for (const [part, lines] of shownCode()) {
  test(`the code shown for "${part}" is that of the page`, () => {
    assert.ok(lines.length > 0)
    for (const { file, line } of lines) {
      const source = read(`js/${file}`)
      assert.ok(source.includes(line), `js/${file} has no line ${line}`)
    }
  })
}
