#!/usr/bin/env node
/**
 * Writes the pages that are generated from tables in the code:
 *
 *   npm run docs             writes them
 *   npm run docs -- --check  changes nothing; exit code 1 if a page is outdated
 */
import { readFile, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { ERRORS } from '../src/base/common/errors.js'
import { HOOKS } from '../src/base/common/hooks.js'
import { METRICS } from '../src/observe/metrics/table/metrics-table.js'
import { alertsPage } from './alerts-page.js'
import { areasPicture } from './areas-picture.js'
import { capacityPage } from './capacity.js'
import { clientApiPage } from './client-api.js'
import { commandPage } from './command-page.js'
import { DASHBOARDS } from './dashboards/dashboards.js'
import { decisionsIndex, docsIndex, internalsIndex } from './site/index-pages.js'
import { httpApiPage } from './http-api-page.js'
import { markdownTable } from './markdown-table.js'
import { proto } from './proto.js'
import { scalePage, workersPicture } from './scale.js'
import { settingsPage, startHere } from './settings-page.js'

const ROOT = new URL('../', import.meta.url)

/** @typedef {import('../src/observe/metrics/table/metric-entry.js').MetricEntry} MetricEntry */
/** @typedef {import('../src/base/common/errors.js').ErrorEntry} ErrorEntry */

/** Content of each page, by path. */
export const PAGES = {
  'docs/alerts.md': alertsPage,
  'docs/command.md': commandPage,
  'docs/capacity.md': capacityPage,
  'docs/internals/areas.svg': areasPicture,
  'docs/README.md': docsIndex,
  'docs/client-api.md': clientApiPage,
  'docs/configuration.md': settingsPage,
  'docs/internals/README.md': internalsIndex,
  'docs/internals/decisions/README.md': decisionsIndex,
  '.env.example': envExample,
  'docs/errors.md': errors,
  'docs/internals/hooks.md': hooks,
  'docs/http-api.md': httpApiPage,
  'docs/metrics.md': metrics,
  'docs/scale.md': scalePage,
  'docs/images/workers-cost.svg': workersPicture,
  'src/services/api/grpc/inkcast.proto': proto,
  ...DASHBOARDS
}

/** @returns {Promise<string[]>} paths of the pages that differ from the code */
export async function outdated () {
  const paths = []
  for (const [path, render] of Object.entries(PAGES)) {
    const written = await readFile(new URL(path, ROOT), 'utf8').catch(() => undefined)
    if (written !== render()) paths.push(path)
  }
  return paths
}

function envExample () {
  const lines = startHere().flatMap(({ name, setting, sentence }) => [
    `# ${plain(sentence)}`, `#${name}=${setting.secret ? '' : (setting.default ?? '')}`
  ])
  return [
    '# Start here: what production needs, besides NODE_ENV=production in the environment (docs/deployment.md).',
    '# Copy it to .env, or to a file for --config. All settings: docs/configuration.md, and "inkcast config" prints them.',
    '# Generated from src/config/blocks.js by "npm run docs": do not edit.',
    ...lines
  ].join('\n') + '\n'
}

function errors () {
  const entries = /** @type {[string, ErrorEntry][]} */ (Object.entries(ERRORS))
  return page('Errors', 'src/base/common/errors.js', [
    'The error codes for clients, callers of the api and dead letters. Programs should use the code: the message may be more specific ' +
    'than in this table.',
    markdownTable(
      ['Where', 'Form'],
      [
        ['answer to an event of a client', '`{ code, message, retryable, retryInMs? }` in `error`'],
        ['refused handshake', '`{ code, retryable, retryInMs? }` in `err.data`; the message is `err.message`'],
        ['answer of the api', '`{ "ok": false, "error": { "code", "message", "retryable" } }` with the HTTP status; `retryInMs` if it ' +
        'is known'],
        ['dead letter of a Kafka record', 'the code in the header `x-reason`']
      ]
    ),
    '`retryInMs` is the time after which to retry, ms. inkcast-client waits for this time before it connects again, and at least this ' +
    'long before it repeats a join or a queued edit ([pauses](client.md#guarantees)). Its errors have the field as `error.retryInMs`.',
    markdownTable(
      ['Code', 'Message', 'Try again', 'HTTP status', 'When, and what to do'],
      entries.map(([code, { message, retryable, status, when }]) => [
        `\`${code}\``,
        message,
        retryable ? 'yes' : 'no',
        String(status),
        when
      ])
    )
  ])
}

function metrics () {
  const entries = /** @type {[string, MetricEntry][]} */ (Object.entries(METRICS))
  return page('Metrics', 'src/observe/metrics/table', [
    '`/metrics` on `ADMIN_PORT` has these metrics in the Prometheus format, merged over the processes of a machine. ' +
    'Counters and histograms include the counts of processes that have ended, so they do not fall with a reload. ' +
    'They begin at 0 when the launcher (with PM2: the api process) starts. ' +
    'Every series also has the label `role`. The [glossary](glossary.md) has the terms. ' +
    'Durations are in seconds. Histograms have the same buckets everywhere, so they can be added up over machines: ' +
    '`histogram_quantile(0.99, sum by (le) (rate(…_bucket[5m])))`. ' +
    'Counters that the [alerts](monitoring.md#alerts) read have a series with the value 0 for each known combination of label values, ' +
    'so that `increase` and `rate` see the first event.',
    markdownTable(
      ['Name', 'Type', 'Labels', 'Meaning', 'Alert on'],
      entries.map(([name, { type, labels = [], help, worry }]) => [
        `\`inkcast_${name}${type === 'counter' ? '_total' : ''}\``,
        type,
        labels.map((label) => `\`${label}\``).join(' '),
        help,
        worry
      ])
    ),
    '## Node and the process\n\n' +
    '`process_…` and `nodejs_…` have the names of prom-client, which dashboards for Node know: `process_cpu_seconds_total`, ' +
    '`process_resident_memory_bytes`, `process_open_fds`, ' +
    '`nodejs_eventloop_lag_p99_seconds`, `nodejs_heap_size_used_bytes`, `nodejs_gc_duration_seconds`, `nodejs_version_info`. The ' +
    'processes of a role are merged: ' +
    'values are added up, except the lag of the event loop (of the slowest process) and `process_start_time_seconds` (of the newest ' +
    'process). ' +
    '`nodejs_eventloop_lag_…_seconds` cover the last 10 s. inkcast subtracts the interval of the samples, which prom-client would count ' +
    'as lag.'
  ])
}

function hooks () {
  const packages = new Map(HOOKS.map(({ package: name, version }) => [name, version]))
  return page('Private parts', 'src/base/common/hooks.js', [
    'This page lists every private part of a library or of Node that inkcast uses. Each start compares the installed versions of these ' +
    'packages with the versions below. With another version inkcast refuses to start and says what to install. ' +
    '`LIBRARY_VERSIONS=any` ([configuration](../configuration.md)) starts with other versions too, and logs a warning: inkcast was not ' +
    'tested with them, so try it before it serves clients. ' +
    'Parts of Node are checked where they are used, in every version of Node. The version of socket.io-client is up to the application.',
    ...[...packages].map(([name, version]) =>
      [
        `## ${name} ${version}`,
        markdownTable(
          ['Part', 'File', 'Without it'],
          HOOKS.filter((hook) => hook.package === name).map(({ part, files, without }) => [
            part,
            files.map((file) => `\`${file}\``).join(', '),
            without
          ])
        )
      ].join('\n\n')
    )
  ])
}

/** @param {string} title @param {string} source @param {string[]} parts */
const page = (title, source, parts) =>
  [`# ${title}`, `<!-- Generated from ${source} by "npm run docs": do not edit. -->`, ...parts].join('\n\n') + '\n'

/** @param {string} text without Markdown */
const plain = (text) => text.replaceAll('`', '')

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const paths = await outdated()
  if (process.argv.includes('--check')) {
    for (const path of paths) console.error(`${path} is outdated: run "npm run docs"`)
    process.exitCode = paths.length > 0 ? 1 : 0
  } else {
    for (const [path, render] of Object.entries(PAGES)) await writeFile(new URL(path, ROOT), render())
    console.log(paths.length > 0 ? `written: ${paths.join(', ')}` : 'all pages are up to date')
  }
}
