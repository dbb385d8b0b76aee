#!/usr/bin/env node
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lacksHelm, renderChart } from './render.js'

/**
 * Writes deploy/kubernetes/inkcast.yaml: the chart with its defaults, for clusters without Helm.
 *
 *   node scripts/chart/manifests.js
 */

export const MANIFESTS = fileURLToPath(new URL('../../deploy/kubernetes/inkcast.yaml', import.meta.url))

/** @param {Record<string, string>} files rendered */
export function manifestsOf (files) {
  const documents = Object.entries(files)
    .filter(([path]) => path.endsWith('.yaml'))
    .sort(([a], [b]) => a.localeCompare(b))
    .flatMap(([, text]) => text.split(/^---$/m).map((document) => document.trim()))
    .filter((document) => document.replaceAll(/^#.*$/gm, '').trim() !== '')
  const text = documents.join('\n---\n')
    // as if written by hand
    .replaceAll(/^\s+(?:helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, '')
  return `# Generated from deploy/helm/inkcast with its default values by "node scripts/chart/manifests.js": do not edit.\n${text}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reason = await lacksHelm()
  if (reason !== false) throw new Error(reason)
  const { cases } = await renderChart({ defaults: {} }, [])
  writeFileSync(MANIFESTS, manifestsOf(cases.defaults.files))
}
