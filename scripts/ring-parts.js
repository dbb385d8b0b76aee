/**
 * Test files that share a process. A process of `node --test` for each file loads Node, the helpers and most of src
 * again, and compiles all of it, which takes longer than the tests of most files.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** @typedef {{ path: string, files: string[] }} Part path: what `node --test` gets: the file, or one that loads them */

/**
 * @param {string[]} files of a ring
 * @param {Pick<import('./rings.js').Ring, 'together' | 'apart'>} ring
 * @param {string} directory for the files that load several
 * @returns {Part[]} neighbors share a process
 */
export function partsOf (files, { together = 1, apart = [] }, directory) {
  /** @type {Map<string, string[]>} by the entry of `apart`: a folder's files share processes with each other only */
  const groups = new Map()
  for (const file of files) {
    const group = apart.includes(file) ? file : apart.find((entry) => entry.endsWith('/') && file.startsWith(entry)) ?? ''
    groups.set(group, [...groups.get(group) ?? [], file])
  }
  /** @type {Part[]} */
  const parts = []
  for (const group of groups.values()) {
    for (let at = 0; at < group.length; at += together) {
      const some = group.slice(at, at + together)
      const path = some.length === 1 ? resolve(some[0]) : join(directory, `part-${parts.length + 1}.test.mjs`)
      if (some.length > 1) writeFileSync(path, loading(some))
      parts.push({ path, files: some })
    }
  }
  return parts
}

/** @param {string[]} files @returns {string} a module that loads them in order, and runs their tests afterwards */
const loading = (files) => `
import { before, test } from 'node:test'
let loaded
const all = new Promise((resolve) => { loaded = resolve })
before(() => all)
for (const [name, url] of ${JSON.stringify(files.map((file) => [file, pathToFileURL(resolve(file)).href]))}) {
  try {
    await import(url)
  } catch (error) {
    process.exitCode = 1 // also if a filter excludes the test
    test(name + ' can be loaded', () => { throw error })
  }
}
loaded()
`
