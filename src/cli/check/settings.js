import { BLOCKS } from '../../config/blocks.js'
import { checkFiles } from '../../config/files.js'
import { settingWarnings } from '../../workers/setting-warnings.js'
import { findingsOf } from './finding.js'

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../../config/load.js').Config} Config */

const { ok, warning, error } = findingsOf('settings')
const NAMES = Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings))

/**
 * @param {ReturnType<typeof import('../../config/load.js').readSettings>} settings
 * @returns {Finding[]}
 */
export function checkSettings ({ config, problems, written, unknown }) {
  const findings = [
    ...problems.map((problem) => error(problem, todoFor(problem, written))),
    ...checkFilesOf(config),
    ...settingWarnings(config).map(({ text, todo }) => warning(text, todo)),
    ...unknown.flatMap(({ name, source }) => {
      const meant = NAMES.find((known) => isSimilar(name, known))
      return meant === undefined ? [] : [warning(`${name} is no setting`, `did you mean ${meant}? Correct it (${source})`)]
    })
  ]
  if (findings.length > 0) return findings
  const set = Object.values(written).filter(({ source }) => source !== 'default')
  const sources = [...new Set(set.map(({ source }) => source))]
  return [ok(
    `mode ${config.mode}${config.production ? ', production' : ''}; ${set.length} set${set.length > 0 ? ` (${sources.join(', ')})` : ''}`
  )]
}

/** @param {string} problem @param {Record<string, import('../../config/load.js').Written>} written */
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

/**
 * @param {string} a
 * @param {string} b
 * @returns {boolean} whether two letters at most are missing, too many or different. Short names are never similar
 */
function isSimilar (a, b) {
  if (a.length < 6 || Math.abs(a.length - b.length) > 2) return false
  let before = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = before[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1)
      now.push(Math.min(change, before[column] + 1, now[column - 1] + 1))
    }
    before = now
  }
  return before[b.length] <= 2
}
