/**
 * Settings of inkcast that a benchmark is given with `--set NAME=VALUE`: for the measured processes, which get nothing
 * else of the environment.
 */
import { parseArgs } from 'node:util'
import { BLOCKS } from '../../src/config/blocks.js'

/** For the options of a benchmark. @satisfies {import('node:util').ParseArgsOptionsConfig} */
export const SET = { set: { type: 'string', multiple: true } }
export const SET_USAGE = '  --set NAME=VALUE    a setting of inkcast, in the measured processes; may be repeated'

const NAMES = new Set(Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings)))

/**
 * @param {string[]} [args] of the command line
 * @returns {Record<string, string>}
 * @throws {Error} for what is no setting: it would have no effect, unseen
 */
export function givenSettings (args = process.argv.slice(2)) {
  const { set = [] } = parseArgs({ args, options: SET, strict: false }).values
  return Object.fromEntries(/** @type {string[]} */ (set).map((text) => {
    const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/s.exec(text) ?? []
    if (name === undefined || !NAMES.has(name)) throw new Error(`--set ${text}: must be NAME=VALUE with the name of a setting`)
    return [name, value]
  }))
}
