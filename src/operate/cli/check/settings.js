import { uncheckedLibraries } from '../../../config/library-versions.js'
import { checkFiles } from '../../../config/files.js'
import { DEFAULT_SOCKET_PATH } from '../../../config/socket-path.js'
import { settingWarnings } from '../../../people/workers/setting-warnings.js'
import { findingsOf } from './finding.js'

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../../../config/load.js').Config} Config */

const { ok, warning, error } = findingsOf('settings')

/**
 * @param {ReturnType<typeof import('../../../config/load.js').readSettings>} settings
 * @param {(name: string) => string} [versionOf] installed version of a package
 * @returns {Finding[]}
 */
export function checkSettings ({ config, problems, written }, versionOf) {
  const findings = [
    ...problems.map((problem) => error(problem, todoFor(problem, written))),
    ...checkFilesOf(config),
    ...checkLibrariesOf(config, versionOf),
    ...settingWarnings(config, versionOf).map(({ text, todo }) => warning(text, todo))
  ]
  if (findings.length > 0) return findings
  const set = Object.values(written).filter(({ source }) => source !== 'default')
  const sources = [...new Set(set.map(({ source }) => source))]
  return [ok(
    `mode ${config.mode}${config.production ? ', production' : ''}; ${set.length} set${set.length > 0 ? ` (${sources.join(', ')})` : ''}` +
    (config.gateway.socketPath === DEFAULT_SOCKET_PATH ? '' : `; clients and proxies use the path ${config.gateway.socketPath}`)
  )]
}

/** @param {string} problem @param {Record<string, import('../../../config/load.js').Written>} written */
function todoFor (problem, written) {
  const names = (problem.match(/\b[A-Z][A-Z0-9_]{3,}\b/g) ?? []).filter((name) => name in written)
  const name = names[0]
  if (name === undefined) return 'correct it; docs/configuration.md lists all settings'
  const { source } = written[name]
  return `${source === 'default' ? `set ${name}` : `correct ${name} (${source})`}; inkcast config ${name} shows it`
}

/** @param {Config} config @returns {Finding[]} */
function checkFilesOf (config) {
  try {
    checkFiles(config)
  } catch (wrong) {
    const { problems = [String(wrong)] } = /** @type {{ problems?: string[] }} */ (wrong)
    return problems.map((problem) => error(problem, 'correct the path, or its permissions for the user that runs inkcast'))
  }
  return []
}

/** @param {Config} config @param {(name: string) => string} [versionOf] @returns {Finding[]} */
function checkLibrariesOf ({ admin }, versionOf) {
  const unchecked = admin.libraryVersions === 'any' ? null : uncheckedLibraries(versionOf)
  return unchecked === null ? [] : [error(unchecked.problem, `${unchecked.remedy}, or set LIBRARY_VERSIONS=any`)]
}
