import { BLOCKS } from '../../config/blocks.js'
import { isSimilar } from '../../base/common/similar.js'
import { readSettings } from '../../config/load.js'
import { shownSetting } from '../../config/shown.js'
import { action, paint, print, printError, table } from './common/terminal.js'
import { settingsSource } from './common/settings.js'

/** @param {import('commander').Command} program */
export function addConfig (program) {
  program
    .command('config')
    .description('print the settings, and where each value is from; secrets are masked')
    .argument('[name...]', 'only these settings, or all whose name begins with this text, such as KAFKA_')
    .option('--set', 'only settings that are set somewhere')
    .option('--json', 'as JSON')
    .addHelpText('after', `
Examples:
  inkcast config
  inkcast config --set
  inkcast config KAFKA_ REDIS_URL
  inkcast config --json --config production.env`)
    .action(action(async (names, options, command) =>
      showConfig(names, { ...options, ...command.optsWithGlobals() })))
}

/**
 * @param {string[]} names
 * @param {{ set?: boolean, json?: boolean } & import('./common/settings.js').GlobalOptions} options
 */
function showConfig (names, options) {
  const { config, problems, written } = readSettings(settingsSource(options))
  const rows = Object.entries(written)
    .filter(([name, { source }]) =>
      (names.length === 0 || names.some((prefix) => name.startsWith(prefix))) &&
      (!options.set || source !== 'default'))
    .map(([name, { text, source }]) => ({ name, value: shown(name, text), source }))
  if (rows.length === 0 && names.length > 0 && !options.set) {
    const meant = Object.keys(written).filter((name) => names.some((given) => isSimilar(given, name)))
    console.error('inkcast: no setting begins with ' +
      `${names.join(' or ')}${meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`}`)
    return 1
  }
  if (options.json) print(JSON.stringify({ mode: config.mode, settings: rows, problems }, null, 2))
  else {
    const head = ['NAME', 'VALUE', 'FROM']
    for (const line of table([head, ...rows.map(({ name, value, source }) => [name, value ?? '', source])], {
      styles: ['cyan', undefined, 'dim']
    })) print(line)
    print(paint('dim', `mode: ${config.mode}`))
    for (const problem of problems) printError(`inkcast: ${problem}`)
  }
  return problems.length > 0 ? 1 : 0
}

const SETTINGS = Object.assign({}, ...Object.values(BLOCKS).map(({ settings }) => settings))

/** @param {string} name of a setting @param {string | undefined} text as it is written */
const shown = (name, text) =>
  shownSetting(text, /** @type {import('../../config/setting.js').Setting} */ (SETTINGS[name]).secret === true)
