/**
 * A reporter for `node --test`: one line of JSON per test, for scripts/test.js to count. Each line is written when its
 * test ends, so that a killed run still has results.
 */
import { resolve } from 'node:path'

/** Of the reason of a failed test. */
const MAX_LINES = 20
const MAX_LENGTH = 2000

/** @typedef {{ result: 'passed' | 'failed' | 'skipped', name: string, file: string, reason?: string }} TestResult */

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
      file,
      ...(failed && { reason: reasonOf(event.data.details.error) })
    }
    yield `${JSON.stringify(line)}\n`
  }
}

/** @param {any} error of node:test, which has the test's own as its cause @returns {string} its first lines */
function reasonOf (error) {
  const { cause = error } = error ?? {}
  const text = cause instanceof Error ? cause.stack ?? cause.message : String(cause?.stack ?? cause?.message ?? cause)
  return text.split('\n').slice(0, MAX_LINES).join('\n').slice(0, MAX_LENGTH)
}
