/**
 * A reporter for `node --test`: one line of JSON for each test, as it ends, for scripts/test.js to count. Lines rather
 * than a summary at the end, so that a run that is killed still tells what it did.
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
    // a file is a test too, named after itself. It counts where it fails as a whole, such as at an import; one without
    // tests is no test
    if (!failed && nesting === 0 && resolve(name) === file) continue
    // how Node 20 reports what a name filter left out; later versions don't
    if (skip === 'test name does not match pattern') continue
    // a suite counts where it failed by itself, such as in a hook, and not for the tests in it
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
