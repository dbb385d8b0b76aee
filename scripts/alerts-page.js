import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { markdownTable } from './markdown-table.js'

const RULES = 'deploy/helm/inkcast/monitoring/rules.yml'

/** @returns {string} docs/alerts.md, from the rules of Prometheus */
export function alertsPage () {
  const { groups } = parse(readFileSync(new URL(`../${RULES}`, import.meta.url), 'utf8'))
  /** @type {any[]} */
  const alerts = groups.flatMap((/** @type {any} */ { rules }) => rules)
  return [
    '# Alerts',
    `<!-- Generated from ${RULES} by "npm run docs": do not edit. -->`,
    'Severity `page`: users or services notice the problem now. Severity `ticket`: look at the problem today. *For 5 min* means that ' +
    'the condition has to last this long. [Monitoring](monitoring.md#alerts) says with which of them to start.',
    markdownTable(
      ['Alert', 'Severity', 'Fires when', 'What to do'],
      alerts.map(({ alert, labels, annotations: { when, runbook } }) =>
        [`\`${alert}\``, labels.severity, when, runbook.replaceAll(/docs\/([\w/]+)\.md/g, '[$1]($1.md)')])
    )
  ].join('\n\n') + '\n'
}
