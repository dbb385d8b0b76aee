/**
 * Command-line options of the benchmarks.
 */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

/** Exits with an error before the benchmark starts. @param {string} message @returns {never} */
export function fail (message) {
  console.error(message)
  process.exit(2)
}

/**
 * @template {import('node:util').ParseArgsOptionsConfig} O
 * @param {O} options in the format of parseArgs; `--help` is added
 * @param {string} usage output of `--help`
 * @returns {ReturnType<typeof import('node:util').parseArgs<{ options: O }>>['values']}
 */
export function readOptions (options, usage) {
  try {
    const { help, ...values } = /** @type {any} */ (
      parseArgs({ allowNegative: true, options: { ...options, help: { type: 'boolean' } } }).values
    )
    if (!help) return values
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n\n${usage}`)
  }
  console.log(usage)
  process.exit()
}

/** For the options of a benchmark. @satisfies {import('node:util').ParseArgsOptionsConfig} */
export const PROFILE = { profile: { type: 'string' } }
export const PROFILE_USAGE =
  '  --profile DIR       write CPU profiles of all server processes there; this raises the figures'

/**
 * @param {string | undefined} directory
 * @returns {string[]} arguments of Node, with which a process writes its profile there
 */
export function profileArgs (directory) {
  if (directory === undefined) return []
  mkdirSync(directory, { recursive: true })
  return ['--cpu-prof', `--cpu-prof-dir=${path.resolve(directory)}`]
}
