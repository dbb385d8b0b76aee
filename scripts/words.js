#!/usr/bin/env node
/**
 * Counts the words of the hand-written pages for users, as `wc -w` does: `node scripts/words.js`. Code blocks and
 * tables count. Left out: generated pages, and docs/internals.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { ROOT } from './site/groups.js'
import { userPages } from './site/links.js'

/**
 * The bounds that test/unit/docs/words.test.js holds: of all pages, and of the longest one. They only fall: the aim is
 * 80,000 and 3,500.
 */
export const BOUNDS = { total: 80_000, longest: 3200 }

const GENERATED = /^<!-- Generated /m

/** @typedef {{ path: string, words: number }} Counted */

/** @returns {Counted[]} longest first */
export const countWords = () => userPages()
  .map((path) => ({ path, text: readFileSync(ROOT + path, 'utf8') }))
  .filter(({ text }) => !GENERATED.test(text))
  .map(({ path, text }) => ({ path, words: text.split(/\s+/).filter((word) => word !== '').length }))
  .sort((a, b) => b.words - a.words)

/** @param {Counted[]} pages */
export const totalOf = (pages) => pages.reduce((sum, { words }) => sum + words, 0)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const pages = countWords()
  for (const { path, words } of pages) console.log(String(words).padStart(7), path)
  console.log(String(totalOf(pages)).padStart(7), `in ${pages.length} pages, at most ${BOUNDS.total}, ${BOUNDS.longest} in one`)
}
