import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

/**
 * Where settings are written: the environment, and one file of `NAME=value` lines.
 *
 * @typedef {object} Source
 * @property {string} name for people: `environment`, or the path of the file
 * @property {Readonly<Record<string, string | undefined>>} values
 */

/**
 * @param {object} options
 * @param {Record<string, string | undefined>} options.env
 * @param {string} [options.file] must exist, and hold nothing but settings
 * @param {string} [options.envFile] read if it exists and there is no `file`; may hold variables of other programs
 * @returns {{ sources: Source[], problems: string[] }} the first source that has a value counts
 */
export function readSources ({ env, file, envFile }) {
  const environment = { name: 'environment', values: env }
  const path = file ?? (envFile && existsSync(envFile) ? envFile : undefined)
  if (path === undefined) return { sources: [environment], problems: [] }
  try {
    return { sources: [environment, { name: path, values: parseEnv(readFileSync(path, 'utf8')) }], problems: [] }
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    return { sources: [environment], problems: [`${file === undefined ? path : `--config ${path}`}: ${reason}`] }
  }
}

/**
 * @param {readonly Source[]} sources
 * @param {string} variable
 * @returns {{ value: string, source: string } | undefined} an empty value counts as none
 */
export function findIn (sources, variable) {
  for (const { name, values } of sources) {
    const value = values[variable]
    if (value) return { value, source: name }
  }
  return undefined
}
