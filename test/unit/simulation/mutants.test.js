import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { SCENARIOS } from '../../../test/simulation/scenario.js'
import { machineMutants, patchMutants, sitesOf } from '../../../test/simulation/run/mutants.js'

const ROOT = new URL('../../../', import.meta.url).pathname

for (const { name, patch } of patchMutants(ROOT)) {
  test(`the mutation "${name}" still applies to the code`, () => {
    execFileSync('git', ['apply', '--check', patch], { cwd: ROOT, stdio: 'pipe' })
  })
}

test('a mutation says in its first line what it breaks, and names a scenario that exists', () => {
  for (const { name, patch, scenario = 'default' } of patchMutants(ROOT)) {
    assert.ok(name.length > 10, patch)
    assert.ok(!name.startsWith('diff'), patch)
    assert.ok(Object.hasOwn(SCENARIOS, scenario), `${patch}: ${scenario}`)
  }
})

test('by machine, conditions are negated and statements are dropped, but not those that only observe', () => {
  const text = 'if (a > 1) run(a)\nlog.warn("x")\nmetrics.errors.inc()\nawait store.write(b)\n'
  const sites = sitesOf(text, 'x.js')
  assert.deepEqual(sites.map(({ from = 0, to, by }) => [text.slice(from, to), by]), [
    ['a > 1', '!(a > 1)'], ['run(a)', ';'], ['await store.write(b)', ';']
  ])
})

test('the same seed draws the same changes', () => {
  const names = (/** @type {number} */ seed) => machineMutants(ROOT, 20, seed).map(({ name }) => name)
  assert.equal(new Set(names(1)).size, 20)
  assert.deepEqual(names(1), names(1))
  assert.notDeepEqual(names(1), names(2))
})
