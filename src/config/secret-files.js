import { readFileSync } from 'node:fs'

const MAX_BYTES = 65_536

/**
 * The variable with the path of a file that has the value of a secret setting, as orchestrators mount secrets.
 * @param {string} variable
 */
export const secretFileOf = (variable) => `${variable}_FILE`

/**
 * @param {object} options
 * @param {string} options.variable name of a secret setting
 * @param {readonly import('./sources.js').Source[]} options.sources the first one that has the value or its file counts
 * @param {string[]} options.problems gets one that names setting and file, and never shows the content
 * @returns {{ value: string, source: string } | undefined} the setting's value
 */
export function readSecret ({ variable, sources, problems }) {
  const named = secretFileOf(variable)
  for (const { name, values } of sources) {
    const { [variable]: value, [named]: path } = values
    if (value && path) problems.push(`${variable}, ${named}: set one of them`)
    if (value) return { value, source: name }
    if (!path) continue
    const content = read(named, path, problems)
    return content === undefined ? undefined : { value: content, source: path }
  }
  return undefined
}

/**
 * @param {string} named
 * @param {string} path
 * @param {string[]} problems
 * @returns {string | undefined}
 */
function read (named, path, problems) {
  try {
    const bytes = readFileSync(path)
    // editors and `echo` end a file with a line break
    const value = bytes.toString().replace(/\r?\n$/, '')
    if (value === '') problems.push(`${named}=${path}: is empty`)
    else if (bytes.length > MAX_BYTES) problems.push(`${named}=${path}: has more than ${MAX_BYTES} bytes`)
    else return value
  } catch (error) {
    problems.push(`${named}=${path}: ${error instanceof Error ? error.message : error}`)
  }
  return undefined
}
