// @ts-expect-error: it has no types
import luaparse from 'luaparse'

/** @typedef {any} Node of luaparse's syntax tree */

const OPTIONS = { luaVersion: '5.1', encodingMode: 'pseudo-latin1', comments: false, locations: true, ranges: true }
/** Types of luaparse's tokens. */
const END_OF_FILE = 1
const PUNCTUATOR = 32

/** @param {string} source @returns {Node} @throws {Error} with its line */
export const parse = (source) => luaparse.parse(source, OPTIONS)

/**
 * Tells whether parentheses around an expression leave it one value, which luaparse does not tell.
 * @param {string} source
 * @returns {(node: Node, alone: boolean) => boolean} alone: the node is the only argument of a call
 */
export function parenthesesOf (source) {
  /** @type {string[]} */
  const tokens = []
  const starts = new Map()
  const ends = new Map()
  const lexer = luaparse.parse({ ...OPTIONS, wait: true })
  lexer.write(source)
  for (let token = lexer.lex(); token.type !== END_OF_FILE; token = lexer.lex()) {
    starts.set(token.range[0], tokens.length)
    ends.set(token.range[1], tokens.length)
    tokens.push(token.type === PUNCTUATOR ? token.value : '')
  }
  return ({ range }, alone) => {
    const before = starts.get(range[0]) - 1
    return tokens[before] === '(' && tokens[ends.get(range[1]) + 1] === ')' && (!alone || tokens[before - 1] === '(')
  }
}
