import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { ERRORS } from '../../../src/base/common/errors.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { METRICS } from '../../../src/observe/metrics/table/metrics-table.js'
import { BEGUN_COUNTERS } from '../../../src/observe/metrics/table/begun-counters.js'
import { OPERATORS } from '../../../src/wire/operators.js'
import { readExpression } from '../../helpers/promql.js'

const RULES = new URL('../../../deploy/helm/inkcast/monitoring/rules.yml', import.meta.url)
const SOURCE = new URL('../../../src/', import.meta.url)
const ROLES = ['gateway', 'ingest', 'api', 'embedded', 'launcher']
/** Counters whose labels are known later. Tests: api/server.test.js and ingest-lost-end.test.js. */
const BEGUN_LATER = ['api_requests', 'kafka_lost_ends']

/** @type {Record<string, import('../../../src/observe/metrics/table/metric-entry.js').MetricEntry>} */
const TABLE = METRICS
/** @type {{ alert: string, expr: string }[]} */
const alerts = parse(readFileSync(RULES, 'utf8')).groups.flatMap((/** @type {any} */ { rules }) => rules)
const selectors = alerts.flatMap(({ alert, expr }) =>
  readExpression(expr).selectors.filter(({ rated, name }) => rated && name.endsWith('_total')).map((selector) =>
    ({ alert, counter: selector.name.replace(/^inkcast_|_total$/g, ''), matchers: selector.matchers })))

/** @returns {Promise<Record<string, string>[]>} labels of the series that are 0 at the start @param {string} name */
async function begunIn (name) {
  const found = await Promise.all(ROLES.map(async (role) => {
    const metrics = /** @type {any} */ (createMetrics({ role, processMetrics: false }))
    const { values } = await metrics[name].get()
    return values.filter((/** @type {any} */ { value }) => value === 0)
      .map((/** @type {any} */ { labels }) => ({ role, ...labels }))
  }))
  return found.flat()
}

/** @param {string} operator of PromQL @param {string} wanted @param {string} value */
function matches (operator, wanted, value) {
  const same = operator.endsWith('~') ? new RegExp(`^(?:${wanted})$`).test(value) : wanted === value
  return operator.startsWith('!') ? !same : same
}

describe('counters of alerts', () => {
  test('begin at 0, so that Prometheus sees the first event as an increase', async () => {
    assert.ok(selectors.length > 20)
    /** @type {string[]} */
    const missing = []
    for (const { alert, counter, matchers } of selectors) {
      if (BEGUN_LATER.includes(counter)) continue
      const begun = await begunIn(counter)
      const shown = `${alert}: ${counter}{${matchers.map((matcher) => matcher.join('')).join(',')}}`
      const read = begun.filter((labels) =>
        matchers.every(([label, operator, value]) => matches(operator, value, labels[label])))
      if (read.length === 0) missing.push(shown)
      for (const [label, operator, value] of matchers) {
        if (operator !== '=' && operator !== '=~') continue
        for (const one of value.split('|'))
          if (!read.some((labels) => labels[label] === one)) missing.push(`${shown}: ${label} ${one}`)
      }
    }
    assert.deepEqual(missing, [])
  })

  test('have values for all of their labels, the same as in their text', () => {
    /** @type {string[]} */
    const wrong = []
    for (const [name, { roles = [], values }] of Object.entries(BEGUN_COUNTERS)) {
      const { type, labels = [], help } = TABLE[name]
      assert.equal(type, 'counter', name)
      assert.deepEqual(Object.keys(values), labels, name)
      for (const role of roles) if (!ROLES.includes(role)) wrong.push(`${name}: no role ${role}`)
      // these texts do not list every value
      if (/error code|HTTP status/.test(help)) continue
      const all = Object.values(values).flat()
      for (const value of [values.result, values.reason].flat())
        if (value !== undefined && !help.includes(`\`${value}\``)) wrong.push(`${name}: no ${value}`)
      for (const [, value] of help.matchAll(/`([a-z_]+)`/g))
        if (!(value in METRICS) && !all.includes(value)) wrong.push(`${name} without ${value}`)
    }
    assert.deepEqual(wrong, [])
  })

  test('have the operators, results and operations that the code counts', () => {
    assert.deepEqual(BEGUN_COUNTERS.records.values.operator, [...OPERATORS, 'unknown'])
    for (const name of ['records', 'handshakes', 'uplink_records'])
      for (const result of BEGUN_COUNTERS[name].values.result)
        assert.ok(result in ERRORS || ['ok', 'refused'].includes(result), `${name}: ${result}`)
    const code = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js'))
      .map((path) => [path, readFileSync(new URL(path, SOURCE), 'utf8')])
    const counted = code.flatMap(([path, text]) => [
      ...text.matchAll(/\bbus_errors\.inc\(\{ operation: '(\w+)'/g),
      ...path === 'log/bus/redis-bus.js' ? text.matchAll(/\b(?:attempt|complain)\('(\w+)'/g) : []
    ].map(([, operation]) => operation))
    assert.deepEqual(new Set(BEGUN_COUNTERS.bus_errors.values.operation), new Set(counted))
  })

  test('are few, so that /metrics stays short', () => {
    const series = Object.values(BEGUN_COUNTERS).map(({ values }) =>
      Object.values(values).reduce((count, { length }) => count * length, 1))
    assert.ok(series.reduce((sum, count) => sum + count) < 400, series.join(' '))
  })
})
