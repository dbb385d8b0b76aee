/** Writes docs/configuration.md from the schemas of the settings. */
import { z } from 'zod'
import { BLOCKS } from '../src/config/blocks.js'
import { EXAMPLES } from '../src/config/examples.js'
import { markdownTable } from './markdown-table.js'

/** @typedef {import('../src/config/setting.js').Setting} Setting */

/** @returns {string} the page */
export function settingsPage () {
  return [
    '# Configuration',
    '<!-- Generated from src/config/blocks.js by "npm run docs": do not edit. -->',
    'Settings come from the environment, or from a file of `NAME=value` lines: the one of `--config FILE`, otherwise `.env` in the current folder. The environment wins; `inkcast config` shows where each value is from ([command](command.md)). ' +
    'A wrong value stops the start, and all problems are listed at once. An unknown name stops it only in a file of `--config`, because the environment and `.env` may have variables of other programs. ' +
    '`NODE_ENV=production` makes defaults stricter: [required settings](deployment.md#required-settings) says which settings production needs, and what happens without them. ' +
    'A setting `NAME` that is marked *Secret* can also be read from a file, as orchestrators mount secrets: `NAME_FILE` is the path of the file.',
    ...Object.values(BLOCKS).map(({ title, settings }) => [
      `## ${title}`,
      markdownTable(
        ['Name', 'Default', 'Values', 'Meaning'],
        /** @type {[string, Setting][]} */ (Object.entries(settings)).map(([name, setting]) => [
          `\`${name}\``,
          shownDefault(setting),
          valuesOf(name, setting),
          setting.describe + (setting.secret ? ' Secret.' : '')
        ])
      )
    ].join('\n\n'))
  ].join('\n\n') + '\n'
}

/** @param {string} name @param {Setting} setting @returns {string} what it may be, and an example if that is no list */
function valuesOf (name, setting) {
  const allowed = allowedValues(setting)
  return allowed.startsWith('`') ? allowed : `${allowed}, such as \`${exampleOf(name, setting)}\``
}

/** @param {Setting} setting */
function shownDefault (setting) {
  if (setting.secret || (setting.default ?? setting.defaultText ?? '') === '') return ''
  return setting.default === undefined ? String(setting.defaultText) : `\`${setting.default}\``
}

/** @param {Setting} setting @returns {{ input: any, output: any }} JSON Schemas of its text, and of its value */
const schemasOf = ({ type }) => ({
  input: z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }),
  output: z.toJSONSchema(type, { io: 'output', unrepresentable: 'any' })
})

/** @param {Setting} setting @returns {string} bounds or choices, in words */
export function allowedValues (setting) {
  const { input, output } = schemasOf(setting)
  if (isFlag(input)) return '`true` or `false`'
  if (input.enum !== undefined) return input.enum.map((/** @type {string} */ value) => `\`${value}\``).join(', ')
  if (output.type === 'number') return `${shown(output.minimum)} to ${shown(output.maximum)}`
  const allowed = input.allowed ?? output.allowed
  if (allowed !== undefined) return allowed
  return input.minLength > 1 ? `text, at least ${input.minLength} characters` : 'text'
}

/** @param {string} name @param {Setting} setting @returns {string} an example that is not the default */
export function exampleOf (name, setting) {
  if (EXAMPLES[name] !== undefined) return EXAMPLES[name]
  const { input, output } = schemasOf(setting)
  const { default: text = '' } = setting
  if (isFlag(input)) return text === 'true' ? 'false' : 'true'
  if (input.enum !== undefined) return input.enum.find((/** @type {string} */ value) => value !== text)
  if (output.type !== 'number' || Number(text) === 0) throw new Error(`src/config/examples.js: ${name} needs an example`)
  return String(Number(text) * 2 <= output.maximum ? Number(text) * 2 : Math.ceil(Number(text) / 2))
}

/** @param {{ enum?: string[] }} input */
const isFlag = (input) => input.enum?.includes('true') ?? false

/** @param {number} bound */
const shown = (bound) => bound.toLocaleString('en-US')
