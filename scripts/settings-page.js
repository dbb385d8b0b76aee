/** Writes docs/configuration.md from the schemas of the settings. */
import { BLOCKS } from '../src/config/blocks.js'
import { EXAMPLES } from '../src/config/examples.js'
import { allowedOf } from '../src/config/setting.js'
import { markdownTable } from './markdown-table.js'

/** @typedef {import('../src/config/setting.js').Setting} Setting */

/** Settings that production needs, in the order of docs/deployment.md. */
const FIRST = [
  'REDIS_URL', 'KAFKA_BROKERS', 'AUTH_JWT_SECRET', 'AUTH_JWKS_URL', 'AUTH_ALLOW_ANONYMOUS', 'AUTH_ACCESS_URL',
  'API_TOKENS', 'API_CALLERS_FILE', 'UPLINK_URL', 'UPLINK_SECRETS', 'HOST', 'API_HOST', 'ADMIN_HOST', 'ADMIN_TOKEN', 'ALLOWED_ORIGINS',
  'PEER_HOST', 'TRUSTED_PROXIES', 'MAX_CONNECTIONS'
]

/** @returns {{ name: string, setting: Setting, sentence: string }[]} sentence: the first of its description */
export function startHere () {
  const all = new Map(Object.values(BLOCKS).flatMap(({ settings }) =>
    /** @type {[string, Setting][]} */ (Object.entries(settings))))
  return FIRST.map((name) => {
    const setting = /** @type {Setting} */ (all.get(name))
    return { name, setting, sentence: /^.*?[^.]\.(?= [A-Z]|$)/s.exec(setting.describe)?.[0] ?? setting.describe }
  })
}

/** @returns {string} the page */
export function settingsPage () {
  return [
    '# Configuration',
    '<!-- Generated from src/config/blocks.js by "npm run docs": do not edit. -->',
    'Settings come from the environment, or from a file of `NAME=value` lines: the one of `--config FILE`, otherwise `.env` in the ' +
    'current folder. The environment wins; `inkcast config` shows where each value is from ([command](command.md)). ' +
    'A wrong value stops the start, and all problems are listed at once. An unknown name stops it only in a file of `--config`, because ' +
    'the environment and `.env` may have variables of other programs. ' +
    '`NODE_ENV=production` makes defaults stricter: [required settings](deployment.md#required-settings) says which settings production ' +
    'needs, and what happens without them. ' +
    'A setting `NAME` that is marked *Secret* can also be read from a file, as orchestrators mount secrets: `NAME_FILE` is the path of ' +
    'the file.',
    '## Start here',
    'Production needs these, besides `NODE_ENV=production`. All others have defaults that serve most teams.',
    markdownTable(['Name', 'Meaning'], startHere().map(({ name, sentence }) => [`\`${name}\``, sentence])),
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

/** @param {Setting} setting @returns {string} bounds or choices, in words */
export function allowedValues (setting) {
  const { allowed = '', min, max, choices } = allowedOf(setting)
  if (isFlag(choices)) return '`true` or `false`'
  if (choices !== undefined) return choices.map((value) => `\`${value}\``).join(', ')
  return min === undefined || max === undefined ? allowed : `${shown(min)} to ${shown(max)}`
}

/** @param {string} name @param {Setting} setting @returns {string} an example that is not the default */
export function exampleOf (name, setting) {
  if (EXAMPLES[name] !== undefined) return EXAMPLES[name]
  const { max, choices } = allowedOf(setting)
  const { default: text = '' } = setting
  const other = choices?.find((value) => value !== text)
  if (other !== undefined) return other
  if (max === undefined || Number(text) === 0) throw new Error(`src/config/examples.js: ${name} needs an example`)
  return String(Number(text) * 2 <= max ? Number(text) * 2 : Math.ceil(Number(text) / 2))
}

/** @param {readonly string[] | undefined} choices */
const isFlag = (choices) => choices?.includes('true') ?? false

/** @param {number} bound */
const shown = (bound) => bound.toLocaleString('en-US')
