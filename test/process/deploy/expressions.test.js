import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { METRICS } from '../../../src/observe/metrics/table/metrics-table.js'
import { startAdmin } from '../../helpers/admin.js'
import { readExpression } from '../../helpers/promql.js'
import { ensureInstalled, onPath } from '../../services/install.js'
import { SETTINGS } from '../../helpers/settings.js'

/** Every expression of the dashboards and of the alerts, compared with what `/metrics` of a process serves. */

const MONITORING = new URL('../../../deploy/helm/inkcast/monitoring/', import.meta.url)
const ROLES = ['gateway', 'ingest', 'api', 'embedded', 'launcher']
/** @type {Record<string, import('../../../src/observe/metrics/table/metric-entry.js').MetricEntry>} */
const TABLE = METRICS
/** Labels that Prometheus adds. */
const ADDED = ['job', 'instance', 'role']

const { groups } = parse(readFileSync(new URL('rules.yml', MONITORING), 'utf8'))
/** @type {any[]} */
const alerts = groups.flatMap((/** @type {any} */ group) => group.rules)
const dashboards = readdirSync(new URL('dashboards/', MONITORING))
  .map((name) => ({ name, ...JSON.parse(readFileSync(new URL(`dashboards/${name}`, MONITORING), 'utf8')) }))
const panels = dashboards.flatMap(({ name, panels }) => panels
  .filter((/** @type {any} */ { type }) => type !== 'row')
  .map((/** @type {any} */ panel) => ({ where: `${name}: ${panel.title}`, ...panel })))

const noPromtool = await lacksPromtool()

/** @param {string} text with variables of Grafana */
const withoutVariables = (text) => text.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:job|instance)/g, '.*')

/** @type {{ where: string, text: string, shown: string[] }[]} shown: labels in legends and texts */
const expressions = [
  ...alerts.map(({ alert, expr, annotations }) => ({
    where: alert,
    text: expr,
    shown: [...Object.values(annotations).join(' ').matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label)
  })),
  ...panels.flatMap(({ where, targets }) => targets.map((/** @type {any} */ { expr, legendFormat }) => ({
    where,
    text: withoutVariables(expr),
    shown: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label)
  }))),
  ...dashboards.flatMap(({ name, templating }) => templating.list
    .filter((/** @type {any} */ { type }) => type === 'query')
    .map((/** @type {any} */ { definition }) => ({
      where: name, text: withoutVariables(/^label_values\((.*), \w+\)$/.exec(definition)?.[1] ?? definition), shown: []
    })))
]

/**
 * What /metrics has: the type of each metric, the labels of those that the code names, and of those with a sample.
 * @param {string} text
 */
function metricsIn (text) {
  /** @type {Map<string, { type: string, labels: Set<string>, texts: string }>} */
  const found = new Map()
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
    const own = name.replace(/^inkcast_/, '').replace(/_total$/, '')
    const entry = TABLE[own]
    found.set(name, { type, labels: new Set(entry?.labels), texts: `${entry?.help} ${entry?.worry}` })
  }
  for (const [, name, labels] of text.matchAll(/^([a-z]\w*)\{(.*)\} \S+$/gm))
    for (const [, label] of labels.matchAll(/(\w+)="/g)) seriesOf(found, name)?.labels.add(label)
  return found
}

/** @param {ReturnType<typeof metricsIn>} metrics @param {string} name of a series */
const seriesOf = (metrics, name) => metrics.get(name) ?? metrics.get(name.replace(/_(?:bucket|sum|count)$/, ''))

describe('expressions of alerts and dashboards', () => {
  test('read metrics, labels and values that exist', async (t) => {
    const { url } = await startAdmin(t)
    const metrics = metricsIn(await (await fetch(`${url}/metrics`)).text())
    assert.ok(expressions.length > 100)
    /** @type {string[]} */
    const wrong = []
    for (const { where, text, shown } of expressions) {
      const { selectors, kept } = readExpression(text)
      for (const { name, matchers, rated, groupings } of selectors) {
        if (name === 'up') continue
        const metric = seriesOf(metrics, name)
        if (metric === undefined) {
          wrong.push(`${where}: there is no ${name}`)
          continue
        }
        const isBucket = name.endsWith('_bucket')
        const labels = [...ADDED, ...metric.labels, ...(isBucket ? ['le'] : [])]
        for (const label of [...matchers.map(([one]) => one), ...groupings.flat()])
          if (!labels.includes(label)) wrong.push(`${where}: ${name} has no label ${label}`)
        for (const [label, operator, value] of matchers)
          for (const one of valuesIn(operator, value))
            if (!isValue(metric.texts, label, one)) wrong.push(`${where}: ${label} of ${name} is never ${one}`)
        const counts = metric.type === 'counter' || metric.type === 'histogram'
        if (rated !== counts) wrong.push(`${where}: ${name} is a ${metric.type}, ${rated ? 'with' : 'without'} a rate`)
        const named = selectors.some((one) => one.groupings.length === 0) ? [...kept, ...labels] : kept
        for (const label of shown) if (!named.includes(label)) wrong.push(`${where}: the result has no label ${label}`)
      }
    }
    assert.deepEqual(wrong, [])
  })

  test('cover what docs/metrics.md calls an alert, and tenants', () => {
    const used = new Set(expressions.flatMap(({ text }) => readExpression(text).selectors.map(({ name }) => name)))
    const series = Object.entries(METRICS).map(([name, { type }]) =>
      `inkcast_${name}${type === 'counter' ? '_total' : type === 'histogram' ? '_bucket' : ''}`)
    const unused = series.filter((name) => !used.has(name))
    assert.ok(unused.length < series.length / 4, `in no dashboard: ${unused.join(', ')}`)
    assert.deepEqual(unused.filter((name) => name.startsWith('inkcast_tenant_')), [])
  })
})

describe('alerts', () => {
  test('have a severity, a text, a condition in words and a line of the run-book each', () => {
    for (const { alert, labels, annotations } of alerts) {
      assert.match(labels.severity, /^(?:page|ticket)$/, alert)
      assert.match(annotations.summary, /\w/, alert)
      assert.match(annotations.when, /^[^\n|]{20,}$/, alert)
      assert.match(annotations.runbook, /^[^\n|]{40,}[.?]$/, alert)
    }
    assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length)
  })

  test('fire on what `when` says: it has every time and threshold of the rule', () => {
    /** @type {string[]} */
    const missing = []
    for (const { alert, expr, for: lasting = '', annotations: { when } } of alerts) {
      const times = [...`${expr} [${lasting}]`.matchAll(/\b(\d+)([smh])\b/g)]
        .map(([, number, unit]) => `${number} ${unit === 'm' ? 'min' : unit}`)
      const thresholds = [...expr.matchAll(/[<>] ([\d.]+)(?![\d.]| \*)/g)].map(([, number]) => Number(number))
        .filter((number) => number > 0).map((number) => number.toLocaleString('en'))
      const shares = [...expr.matchAll(/[<>]\s+([\d.]+) \*/g)].map(([, share]) => `${Math.round(share * 100)} %`)
      for (const part of [...times, ...thresholds, ...shares])
        if (!new RegExp(`(?<![\\d.,])${part}(?![\\d%])`).test(when)) missing.push(`${alert}: ${part}`)
    }
    assert.deepEqual(missing, [])
  })

  test('name settings, metrics and pages that exist', () => {
    const text = alerts.map(({ annotations }) => annotations.runbook).join(' ')
    for (const [, name] of text.matchAll(/inkcast_(\w+?)(?:_total)?\b/g)) assert.ok(name in METRICS, name)
    for (const [name] of text.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)) assert.ok(SETTINGS.has(name), name)
    for (const [name] of text.matchAll(/\bdocs\/[\w/]+\.md\b/g)) readFileSync(new URL(`../../../${name}`, import.meta.url))
  })

  test('pass promtool, alone and with series that cause them', { skip: noPromtool }, async () => {
    const run = (/** @type {string[]} */ ...args) => promisify(execFile)('promtool', args)
    await run('check', 'rules', fileURLToPath(new URL('rules.yml', MONITORING)))
    await run('test', 'rules', fileURLToPath(new URL('rules-test.yml', import.meta.url)))
  })
})

describe('panels', () => {
  test('have a description, a unit and a place of their own', () => {
    for (const { where, description, fieldConfig, targets } of panels) {
      assert.match(description, /\w.*\.$/, where)
      assert.match(fieldConfig.defaults.unit, /^(?:short|none|ms|bytes|Bps|s)$/, where)
      assert.ok(targets.length > 0, where)
    }
    for (const { name, panels: all } of dashboards) {
      const cells = new Set()
      for (const { gridPos: { x, y, w, h } } of all) {
        assert.ok(x + w <= 24, name)
        for (let i = x; i < x + w; i++) {
          for (let j = y; j < y + h; j++) {
            assert.ok(!cells.has(`${i},${j}`), `${name}: two panels at ${i},${j}`)
            cells.add(`${i},${j}`)
          }
        }
      }
    }
  })
})

/** @param {string} operator @param {string} value @returns {string[]} values that a matcher names */
function valuesIn (operator, value) {
  if (value === '.*') return []
  return operator.endsWith('~') ? value.split('|') : [value]
}

/** @param {string} texts of the metric @param {string} label @param {string} value */
function isValue (texts, label, value) {
  if (label === 'role') return ROLES.includes(value)
  if (label === 'quantile') return texts.includes(value)
  return label === 'job' || label === 'status' || texts.includes(`\`${value}\``)
}

/** @returns {Promise<string | false>} */
async function lacksPromtool () {
  if (onPath('promtool')) return false
  try {
    await ensureInstalled(['promtool'])
    return false
  } catch (error) {
    return String(error)
  }
}
