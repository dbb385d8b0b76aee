/**
 * A reporter for `node --test`: one line of JSON per test, for scripts/test.js to count. Each line is written when its
 * test ends, so that a killed run still has results.
 */
import { resolve } from 'node:path'

/** @typedef {{ result: 'passed' | 'failed' | 'skipped', name: string, file: string }} TestResult */

/**
 * @param {AsyncIterable<import('node:test/reporters').TestEvent>} source
 * @returns {AsyncGenerator<string>}
 */
export default async function* ringReporter (source) {
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, nesting, file = '', skip, todo, details } = event.data
    const failed = event.type === 'test:fail'
    // A file is a test too, named after itself. It only counts if it fails as a whole, for instance at an import.
    if (!failed && nesting === 0 && resolve(name) === file) continue
    // Node 20 reports tests that a name filter excludes; later versions don't
    if (skip === 'test name does not match pattern') continue
    // a suite counts only if it failed itself, for instance in a hook, not because of its tests
    const cause = /** @type {{ failureType?: string } | undefined} */ (failed ? event.data.details.error : undefined)
    if (details.type === 'suite' && (!failed || cause?.failureType === 'subtestsFailed')) continue
    /** @type {TestResult} */
    const line = {
      result: skip !== undefined || todo !== undefined ? 'skipped' : failed ? 'failed' : 'passed',
      name,
      file
    }
    yield `${JSON.stringify(line)}\n`
  }
}
