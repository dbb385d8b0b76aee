import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const text = readFileSync(new URL('README.md', ROOT), 'utf8')

test('the README fits on a few screens', () => {
  assert.ok(text.split('\n').length <= 90, `${text.split('\n').length} lines`)
  assert.ok(text.split(/\s+/).length <= 900, `${text.split(/\s+/).length} words`)
  assert.ok(statSync(new URL('docs/images/demo.webp', ROOT)).size <= 2 ** 20)
})

test('each claim of the README has at most twelve words, a proof, and figures that the benchmarks have', () => {
  const claims = [.../^- (.+\.) \[(?:Measured|How this is checked)\]\(([^)#]+)(?:#([^)]+))?\)$/gm[Symbol.matchAll](text)]
  assert.equal(claims.length, 3)
  for (const [, claim, page] of claims) {
    assert.ok(claim.split(' ').length <= 12, claim)
    const proof = readFileSync(new URL(page, ROOT), 'utf8')
    for (const [figure] of claim.matchAll(/\d+\.\d+/g)) assert.ok(proof.includes(figure), `${figure} is in ${page}`)
  }
})
