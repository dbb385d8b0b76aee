import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startStore } from '../differential/built-in.js'
import { differ } from '../differential/differ.js'
import { startReal } from '../differential/real.js'
import { noClock } from '../differential/shim.js'
import { fileScope } from '../helpers/file-scope.js'

/** More: node test/differential/run.js --sequences 100000 --seed 1 */
const [SEED, SEQUENCES] = [1, 3000]

/** Branches that no sequence reaches, with the reason. */
const ELSEWHERE = new Map(['publish:51 then', 'publish:57 then', 'publish:62 then', 'publish:97 then', 'publish:101 then']
  .map((branch) => [branch, 'for a user of Redis without permissions: redis-permissions.test.js']))

describe('the built-in store', { skip: noClock }, () => {
  const scope = fileScope()
  const name = `${SEQUENCES} sequences of commands and scripts, from seed ${SEED}`
  /** @type {Map<string, number>} */
  const branches = new Map()

  test(`replies, pushes and keeps what Redis does: ${name}`, async () => {
    /** @type {string[]} */
    const reports = []
    await differ(await startReal(scope), await startStore(), {
      seed: SEED, sequences: SEQUENCES, onDifference: (report) => reports.push(report), branches
    })
    assert.equal(reports.join('\n'), '')
  })

  test('each branch of each script runs in these sequences', () => {
    assert.ok(branches.size > 400, `${branches.size} branches`)
    const never = [...branches].filter(([, count]) => count === 0).map(([branch]) => branch)
    assert.deepEqual(never, [...ELSEWHERE.keys()])
  })
})
