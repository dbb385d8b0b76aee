import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig, readSettings } from '../../../src/config/load.js'
import { TenantNames } from '../../../src/people/tenants/names.js'
import { Patterns } from '../../../src/services/api/callers/pattern.js'

/** @param {unknown} given */
const problemsOf = (given) =>
  readSettings({ env: { TENANTS: typeof given === 'string' ? given : JSON.stringify(given) } }).problems.join()

test('TENANTS is JSON with budgets by name, and names what is wrong', () => {
  const { tenants } = loadConfig({ env: { TENANTS: '{"acme":{"connections":10,"events":5},"globex":{}}' } }).limits
  assert.deepEqual([...tenants ?? []], [['acme', { connections: 10, events: 5 }], ['globex', {}]])
  assert.equal(loadConfig({ env: {} }).limits.tenants, undefined)
  for (const [given, reason] of /** @type {[unknown, RegExp][]} */ ([
    ['acme', /must be JSON/], [{ 'a/b': {} }, /name/], [{ ['x'.repeat(65)]: {} }, /name/], [{ acme: { events: 0 } }, /acme: events/],
    [{ acme: { event: 1 } }, /acme: has an unknown field "event"/], [{ acme: 5 }, /acme/],
    [Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`t${i}`, {}])), /more than 1000/]
  ])) assert.match(problemsOf(given), reason)
})

test('an id belongs to the tenant whose name is before its first slash', () => {
  const names = new TenantNames(new Map([['acme', {}], ['a', {}]]))
  assert.deepEqual(
    ['acme/plan', 'a/acme/x', 'acme', '/acme/x', 'acmes/x', 'acme-/x', 'plan', '', '__proto__/x'].map((id) => names.of(id)),
    ['acme', 'a', undefined, undefined, undefined, undefined, undefined, undefined, undefined])
  assert.equal(names.mayMeet('acme/ada', 'a/plan'), false)
  assert.equal(names.mayMeet('ada', 'other/plan'), true)
})

test('patterns of a caller with a tenant match its ids only, and never all', () => {
  for (const list of [['*'], ['acme/*'], ['*plan'], ['acme/plan', 'globex/plan']]) {
    const patterns = new Patterns(list, 'acme/')
    assert.equal(patterns.all, false)
    assert.deepEqual(['acme/plan', 'globex/plan', 'plan'].map((id) => patterns.match(id)), [true, false, false], list.join())
    assert.equal(patterns.covers(''), false)
  }
  assert.equal(new Patterns(['*'], 'acme/').covers('acme/x'), true)
})
