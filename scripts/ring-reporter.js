/**
 * A reporter for `node --test`: one line of JSON per test and per file, for scripts/test.js to count. Each line is
 * written when its test or file ends, so that a killed run still has results.
 */
import { resolve } from 'node:path'

/** Of the reason of a failed test. */
const MAX_LINES = 20
const MAX_LENGTH = 2000

/**
 * @typedef {{ result: 'passed' | 'failed' | 'skipped', name: string, file: string, reason?: string }} TestResult `file`
 *   has the test's code; a suite that several files share is a file of its own
 * @typedef {{ ended: string }} FileEnd a test file
 */

/**
 * @param {AsyncIterable<import('node:test/reporters').TestEvent>} source
 * @returns {AsyncGenerator<string>}
 */
export default async function* ringReporter (source) {
  for await (const event of source) {
    if (event.type === 'test:complete' && isFile(event.data)) yield line({ ended: event.data.name })
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, file = '', skip, todo, details } = event.data
    const failed = event.type === 'test:fail'
    // a file only counts as a test if it fails as a whole, for instance at an import
    if (!failed && isFile(event.data)) continue
    // Node 20 reports tests that a name filter excludes; later versions don't
    if (skip === 'test name does not match pattern') continue
    // a suite counts only if it failed itself, for instance in a hook, not because of its tests
    const cause = /** @type {{ failureType?: string } | undefined} */ (failed ? event.data.details.error : undefined)
    if (details.type === 'suite' && (!failed || cause?.failureType === 'subtestsFailed')) continue
    yield line({
      result: skip !== undefined || todo !== undefined ? 'skipped' : failed ? 'failed' : 'passed',
      name,
      file,
      ...(failed && { reason: reasonOf(event.data.details.error) })
    })
  }
}

/** @param {TestResult | FileEnd} entry */
const line = (entry) => `${JSON.stringify(entry)}\n`

/** A file is a test too, named after itself. @param {{ name: string, nesting: number, file?: string }} data */
const isFile = ({ name, nesting, file }) => nesting === 0 && resolve(name) === file

/** @param {any} error of node:test, which has the test's own as its cause @returns {string} its first lines */
function reasonOf (error) {
  const { cause = error } = error ?? {}
  const text = cause instanceof Error ? cause.stack ?? cause.message : String(cause?.stack ?? cause?.message ?? cause)
  return text.split('\n').slice(0, MAX_LINES).join('\n').slice(0, MAX_LENGTH)
}
