import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS, countWords, totalOf } from '../../../scripts/words.js'

test('the hand-written pages for users can be finished: all of them, and the longest one (node scripts/words.js)', () => {
  const pages = countWords()
  const [longest] = pages
  assert.ok(totalOf(pages) <= BOUNDS.total, `${totalOf(pages)} words, at most ${BOUNDS.total}: write shorter, or cut elsewhere`)
  assert.ok(longest.words <= BOUNDS.longest, `${longest.path} has ${longest.words} words, at most ${BOUNDS.longest}`)
  const paths = pages.map(({ path }) => path)
  assert.ok(paths.includes('docs/kafka.md'))
  for (const left of ['docs/metrics.md', 'docs/proof.md', 'docs/internals/architecture.md']) assert.ok(!paths.includes(left), left)
})
