import { styleText } from 'node:util'
import { printable } from '../../../base/common/printable.js'

/**
 * The output of commands: colors on a terminal only (also NO_COLOR and FORCE_COLOR), errors as one line on stderr. The
 * output has names and values of clients, so everything but the colors is made printable here.
 *
 * @typedef {'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'} Style
 */

/** A problem that a sentence says, for the person at the terminal. */
export class CommandError extends Error {}

/** The colors of `paint`. */
// eslint-disable-next-line no-control-regex
const COLOR = /(\u001b\[(?:[12]|22|3[1-9])m)/

/** @param {Style} style @param {string} text */
export const paint = (style, text) => styleText(style, printable(text), { stream: process.stdout })

/** @param {string} text that may have colors */
const safe = (text) => text.split(COLOR).map((part, i) => i % 2 === 1 ? part : printable(part)).join('')

/** @param {string} [line] */
export const print = (line = '') => { process.stdout.write(`${safe(line)}\n`) }

/** @param {string} line for stderr */
export const printError = (line) => { process.stderr.write(`${safe(line)}\n`) }

/**
 * Runs a command's work. An expected error is one line, and exit code 1.
 * @template {any[]} A
 * @param {(...args: A) => Promise<number | void>} work resolves to the exit code, default 0
 * @returns {(...args: A) => Promise<void>}
 */
export const action = (work) => async (...args) => {
  try {
    process.exitCode = await work(...args) ?? 0
  } catch (error) {
    if (!isSentence(error)) throw error
    printError(`inkcast: ${/** @type {Error} */ (error).message}`)
    process.exitCode = 1
  }
}

/** @param {unknown} error */
const isSentence = (error) =>
  error instanceof CommandError || (error instanceof Error && ['ConfigError', 'InkcastError'].includes(error.name))

/**
 * @param {string[][]} rows the first one is the head
 * @param {{ styles?: (Style | undefined)[] }} [options] by column
 * @returns {string[]} lines with aligned columns
 */
export function table (rows, { styles = [] } = {}) {
  rows = rows.map((row) => row.map(safe))
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row, index) =>
    row
      .map((cell, column) => {
        const text = column === row.length - 1 ? cell : cell.padEnd(widths[column])
        const style = index === 0 ? 'bold' : styles[column]
        return style === undefined ? text : paint(style, text)
      })
      .join('  ')
      .trimEnd())
}

// a reader that has gone (inkcast config | head) is no error
process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code === 'EPIPE') process.exit(0)
})
