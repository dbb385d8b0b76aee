import { api } from './api.js'
import { gateway } from './gateway.js'
import { ingest } from './ingest.js'
import { overview } from './overview.js'
import { kafka, redis } from './stores.js'

/** @typedef {import('./panels.js').Panel} Panel */

/** @type {readonly import('./panels.js').Dashboard[]} */
const ALL = [overview, gateway, ingest, api, redis, kafka]
/** The chart includes them, and compose mounts them. */
const FOLDER = 'deploy/helm/inkcast/monitoring/dashboards'
const HEIGHT = { stat: 4, timeseries: 8 }
const WIDTH = { stat: 4, timeseries: 8 }
const SOURCE = { type: 'prometheus', uid: '${datasource}' }

/** Files of the dashboards and their content, for `npm run docs`. @type {Record<string, () => string>} */
export const DASHBOARDS = Object.fromEntries(
  ALL.map((one) => [`${FOLDER}/${one.name}.json`, () => `${JSON.stringify(dashboard(one), null, 2)}\n`])
)

/** @param {import('./panels.js').Dashboard} dashboard */
function dashboard ({ name, title, about, rows }) {
  let id = 0
  let y = 0
  /** @type {object[]} */
  const panels = []
  for (const [heading, content] of Object.entries(rows)) {
    panels.push({ id: ++id, type: 'row', title: heading, collapsed: false, panels: [], gridPos: { x: 0, y, w: 24, h: 1 } })
    y += 1
    let x = 0
    let lineHeight = 0
    for (const panel of content) {
      const type = panel.type ?? 'timeseries'
      const w = panel.width ?? WIDTH[type]
      if (x + w > 24) {
        x = 0
        y += lineHeight
        lineHeight = 0
      }
      panels.push({ id: ++id, ...draw(panel), gridPos: { x, y, w, h: HEIGHT[type] } })
      x += w
      lineHeight = Math.max(lineHeight, HEIGHT[type])
    }
    y += lineHeight
  }
  return {
    uid: name,
    title,
    description: about,
    tags: ['inkcast'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '15s',
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    annotations: { list: [] },
    links: [{ type: 'dashboards', title: 'inkcast', tags: ['inkcast'], asDropdown: true, keepTime: true, includeVars: true }],
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1 },
        variable('job', 'Job', 'label_values(inkcast_connections, job)', false),
        variable('instance', 'Machine', 'label_values(inkcast_connections{job="$job"}, instance)', true)
      ]
    },
    panels
  }
}

/** @param {string} name @param {string} label @param {string} query @param {boolean} several */
function variable (name, label, query, several) {
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: several,
    includeAll: several,
    ...(several ? { allValue: '.*', current: { text: 'All', value: '$__all' } } : {})
  }
}

/** @param {Panel} panel */
function draw ({ type = 'timeseries', title, about, unit, series, alarm }) {
  const steps = [{ color: 'green', value: null }, ...(alarm === undefined ? [] : [{ color: 'red', value: alarm }])]
  return {
    type,
    title,
    description: about,
    datasource: SOURCE,
    targets: series.map(([legendFormat, expr], i) => ({
      refId: String.fromCharCode(65 + i), datasource: SOURCE, expr, legendFormat
    })),
    fieldConfig: {
      defaults: {
        unit,
        thresholds: { mode: 'absolute', steps },
        ...(type === 'timeseries' ? { min: 0, custom: { fillOpacity: 10, lineWidth: 1, showPoints: 'never' } } : {})
      },
      overrides: []
    },
    options: type === 'stat'
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: alarm === undefined ? 'none' : 'value', graphMode: 'area' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
  }
}
